"""What the apprentice can see of a request: the conversation, parsed back into steps."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SKILL_BLOCK = re.compile(r"<skill\b[^>]*>\n?(.*?)</skill>", re.DOTALL)


@dataclass(frozen=True)
class Step:
    """One tool call of the apprentice and what came back."""

    name: str
    arguments: dict[str, Any]
    result: str


@dataclass(frozen=True)
class Call:
    """A tool call that it wants to make."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Move:
    """The next turn: tool calls, or an answer when there are none."""

    text: str = ""
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True)
class View:
    """One conversation. `seed` is the request's sampling seed."""

    system: str
    skill: str
    prompt: str
    steps: tuple[Step, ...]
    tools: frozenset[str]
    seed: int

    def random(self, purpose: str) -> random.Random:
        """A generator that depends on seed, skill, task text and purpose: not on tool output, so that a
        conversation is the same on every machine."""
        text = "\x1f".join([str(self.seed), self.skill, self.prompt, purpose])
        return random.Random(hashlib.sha256(text.encode()).hexdigest())  # noqa: S311

    @property
    def last(self) -> str:
        """The result of the last tool call, empty at the start."""
        return self.steps[-1].result if self.steps else ""


def text_of(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def read_steps(messages: Sequence[Mapping[str, Any]]) -> tuple[Step, ...]:
    results = {m.get("tool_call_id"): text_of(m.get("content")) for m in messages if m.get("role") == "tool"}
    steps = []
    for message in messages:
        for call in message.get("tool_calls") or []:
            function = call["function"]
            try:
                arguments = json.loads(function["arguments"])
            except ValueError:
                arguments = {}
            steps.append(Step(function["name"], arguments, results.get(call["id"], "")))
    return tuple(steps)


def read_view(body: Mapping[str, Any]) -> View:
    """Parse a chat-completions request body."""
    messages = body.get("messages") or []
    system = "\n".join(text_of(m.get("content")) for m in messages if m.get("role") == "system")
    users = [text_of(m.get("content")) for m in messages if m.get("role") == "user"]
    skill = "\n".join(SKILL_BLOCK.findall(system))
    tools = frozenset(tool["function"]["name"] for tool in body.get("tools") or [])
    return View(
        system=system,
        skill=skill,
        prompt=users[0] if users else "",
        steps=read_steps(messages),
        tools=tools,
        seed=int(body.get("seed") or 0),
    )
