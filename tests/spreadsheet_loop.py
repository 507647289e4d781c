"""Runs the apprentice on spreadsheet tasks as a rollout does: builtin agent, sandbox, verifiers, no store."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.adapters.builtin import BuiltinAgent
from harness.models.apprentice.respond import respond
from harness.protocols import Completion, ToolCall
from harness.sandboxes.pool import SandboxPool
from harness.skill import Skill
from harness.task import Task
from harness.trajectory import Event
from harness.verifiers import verify
from harness.verifiers.checkers import checker_pool
from harness.verifiers.collect import collect


class InProcess:
    """The apprentice without a transport."""

    name = label = "apprentice"

    async def complete(
        self, messages: Sequence[Mapping[str, Any]], *, tools: Sequence[Mapping[str, Any]] = (), seed: int = 0
    ) -> Completion:
        message = respond({"messages": messages, "tools": tools, "seed": seed})["choices"][0]["message"]
        calls = [ToolCall(id=call["id"], **call["function"]) for call in message.get("tool_calls", [])]
        return Completion(content=message["content"], tool_calls=calls)


@dataclass(frozen=True)
class Run:
    """One run: its task, whether every verifier passed, what they said, what the agent did."""

    task: Task
    passed: bool
    feedback: tuple[str, ...]
    log: str


def text_of(event: Event) -> str:
    """What an event shows to a reader: the message, the code of a call, or its output."""
    arguments = event.data.get("arguments") or {}
    return f"{event.data.get('content') or ''}{arguments.get('code', '')}"


async def run_one(task: Task, skill: Skill, seed: int, agents: SandboxPool, checkers: SandboxPool) -> Run:
    fixture = {name: path.read_bytes() for name, path in task.fixture_files().items()}
    async with agents.slot() as sandbox:
        await sandbox.write({f"{sandbox.workdir}/{name}": data for name, data in fixture.items()})
        done = await BuiltinAgent().run(task, skill, sandbox, InProcess(), seed=seed)
        artifacts, files = await collect(sandbox, fixture)
    results = await verify(task, done.model_copy(update={"artifacts": artifacts}), files, checkers)
    feedback = tuple(line for result in results for line in result.feedback)
    log = "\n".join(text_of(event) for event in done.events if event.data.get("role") != "system")
    return Run(task, all(result.passed for result in results), feedback, log)


def run_all(jobs: Iterable[tuple[Task, Skill, int]], size: int = 2) -> list[Run]:
    """Every (task, skill, seed), in order."""

    async def go() -> list[Run]:
        agents = SandboxPool("local", size, packages=["openpyxl", "et_xmlfile"], preload=["openpyxl"])
        async with agents, checker_pool("local", size) as checkers:
            return await asyncio.gather(*(run_one(*job, agents, checkers) for job in jobs))

    return asyncio.run(go())
