"""The builtin agent: one loop of model turns and tool calls over a sandbox."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from harness.errors import ContextOverflow
from harness.protocols import ChatModel, Completion, Sandbox, ToolCall
from harness.skill import Skill
from harness.task import Task
from harness.tools.registry import run_tool, schemas, tools_of
from harness.trajectory import Event, EventKind, StopReason, Trajectory, Usage

SYSTEM = """You are an agent that works on one task with tools, in a sandbox without network.
The work folder is {workdir}; paths and commands are relative to it. Work step by step and look at what is
there before you change it. When the task is done, answer in one or two sentences without calling a tool."""
SKILL = """
You have a skill for this kind of work. Read it and follow it.
<skill name="{name}">
{body}
</skill>"""
SKILL_FILES = "\nThe other files of the skill are in ~/skills/{name}."


def system_prompt(skill: Skill | None, workdir: str) -> str:
    """The instructions that the model gets, with the skill's body in them."""
    text = SYSTEM.format(workdir=workdir)
    if skill is not None:
        text += SKILL.format(name=skill.name, body=skill.body.strip())
        if skill.files:
            text += SKILL_FILES.format(name=skill.name)
    return text


def sendable(call: ToolCall) -> str:
    """A call's arguments for the next request: servers that parse them must not choke on broken ones.

    What the model really wrote stands in the record of the call.
    """
    try:
        json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        return "{}"
    return call.arguments or "{}"


class Conversation:
    """The state of one rollout's loop; each method adds to the record what it adds to the messages."""

    def __init__(self, task: Task, skill: Skill | None, sandbox: Sandbox) -> None:
        self.messages: list[dict[str, Any]] = [
            {"role": "system", "content": system_prompt(skill, sandbox.workdir)},
            {"role": "user", "content": task.prompt},
        ]
        self.events: list[Event] = []
        self.usage = Usage()
        self.seconds = 0.0
        self.turn = 0
        self.note("message", self.messages[0])
        self.note("message", self.messages[1])

    def note(self, kind: EventKind, data: Mapping[str, Any]) -> None:
        self.events.append(Event(kind=kind, turn=self.turn, data=dict(data)))

    def add_answer(self, completion: Completion) -> list[ToolCall]:
        """Record a completion; returns its tool calls with ids that are unique in the conversation."""
        self.turn += 1
        self.usage = self.usage.plus(completion.usage)
        self.seconds += completion.seconds
        calls = [
            call.model_copy(update={"id": f"{call.id}-{self.turn}-{number}"})
            for number, call in enumerate(completion.tool_calls)
        ]
        message: dict[str, Any] = {"role": "assistant", "content": completion.content}
        if calls:
            message["tool_calls"] = [
                {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": sendable(c)}}
                for c in calls
            ]
        self.messages.append(message)
        self.note(
            "message", {**message, "reasoning": completion.reasoning, "finish": completion.finish_reason}
        )
        return calls

    async def run_call(self, call: ToolCall, tools: Mapping[str, type[BaseModel]], sandbox: Sandbox) -> None:
        """Run one call, whatever the model wrote, and give the model a useful result."""
        try:
            arguments = json.loads(call.arguments or "{}")
        except (ValueError, RecursionError) as error:
            arguments, text, sound = None, f"error: the arguments are not valid JSON: {error}", False
        started = time.monotonic()
        if arguments is not None:
            text, sound = await run_tool(tools, call.name, arguments, sandbox)
        self.seconds += time.monotonic() - started
        shown = arguments if isinstance(arguments, dict) else {"raw": call.arguments}
        self.note("tool_call", {"name": call.name, "arguments": shown, "well_formed": sound})
        self.note("tool_result", {"name": call.name, "content": text})
        self.messages.append({"role": "tool", "tool_call_id": call.id, "content": text})

    def over_budget(self, task: Task) -> StopReason | None:
        if self.seconds >= task.timeout_sec:
            return "timeout"
        if self.usage.tokens >= task.budget.max_tokens:
            return "max_tokens"
        return "max_turns" if self.turn >= task.budget.max_turns else None


class BuiltinAgent:
    """Model turns and tool calls until the model answers without a call, or a limit ends it.

    The time limit counts the tools and the model's successful requests. Waiting for an endpoint that
    fails is not the agent's time: it must never become a score.
    """

    name = "builtin"

    async def run(
        self, task: Task, skill: Skill | None, sandbox: Sandbox, model: ChatModel, *, seed: int
    ) -> Trajectory:
        """Work on the task. Raises SandboxError, ModelUnavailable, RunStopped: faults that are not scores."""
        if skill is not None and skill.files:
            folder = f"{sandbox.home}/skills/{skill.name}"
            await sandbox.write({f"{folder}/{path}": data for path, data in skill.files.items()})
        tools = tools_of(task.toolsets)
        offered = schemas(tools)
        talk = Conversation(task, skill, sandbox)
        answer, stop = "", talk.over_budget(task)
        while stop is None:
            try:
                completion = await model.complete(talk.messages, tools=offered, seed=seed)
            except ContextOverflow as error:
                talk.note("model_error", {"error": error.message})
                stop = "context_overflow"
                break
            calls = talk.add_answer(completion)
            if not calls:
                answer = completion.content
                stop = "finished" if answer.strip() else "gave_up"
                break
            for call in calls:
                await talk.run_call(call, tools, sandbox)
            stop = talk.over_budget(task)
        return Trajectory(events=talk.events, final_answer=answer, stop_reason=stop, usage=talk.usage)
