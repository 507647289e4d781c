"""Runs the general worker on a task: the builtin agent's loop, real tools, a real sandbox, the verifiers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.adapters.builtin import BuiltinAgent
from harness.models.apprentice.general import next_move
from harness.models.apprentice.mind import Mind
from harness.models.apprentice.view import read_view
from harness.protocols import Completion, ToolCall
from harness.rollout import policy_events, starting_files
from harness.sandboxes.base import GuestSandbox
from harness.sandboxes.pool import SandboxPool
from harness.skill import Skill, parse_skill
from harness.task import Task
from harness.trajectory import Trajectory, VerifierResult
from harness.verifiers import verify
from harness.verifiers.collect import collect


class GeneralWorker:
    """A chat model that is the general worker alone."""

    name = label = "general worker"

    async def complete(
        self, messages: Sequence[Mapping[str, Any]], *, tools: Sequence[Mapping[str, Any]] = (), seed: int = 0
    ) -> Completion:
        view = read_view({"messages": messages, "tools": tools, "seed": seed})
        move = next_move(view, Mind(view))
        assert move is not None, f"not understood: {view.prompt}"
        calls = [ToolCall(id="c", name=c.name, arguments=json.dumps(c.arguments)) for c in move.calls]
        return Completion(content=move.text, tool_calls=calls)


@dataclass
class Outcome:
    """What one run left: the trajectory, the files, the verifiers' results."""

    trajectory: Trajectory
    files: dict[str, bytes]
    results: list[VerifierResult] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return all(result.passed for result in self.results)

    @property
    def why(self) -> str:
        return "; ".join(line for result in self.results for line in result.feedback)

    def result(self, name: str) -> bool:
        """Whether every verifier of that name passed."""
        return all(result.passed for result in self.results if result.name == name)

    def calls(self) -> list[str]:
        """The arguments of all tool calls, as text."""
        return [json.dumps(event.data["arguments"]) for event in self.trajectory.tool_calls()]


def skill_of(*sentences: str) -> Skill:
    """A small skill that says these sentences."""
    body = "\n".join(f"- {sentence}" for sentence in sentences)
    return parse_skill(f"---\nname: sample\ndescription: A sample.\n---\n# Sample\n\n{body}\n")


async def work(task: Task, skill: Skill | None, sandbox: GuestSandbox, seed: int = 0) -> Outcome:
    """One run of the task, without verifying it."""
    fixture = {name: path.read_bytes() for name, path in task.fixture_files().items()}
    await sandbox.write(starting_files(task, fixture, sandbox.workdir, sandbox.home))
    done = await BuiltinAgent().run(task, skill, sandbox, GeneralWorker(), seed=seed)
    await sandbox.stop()
    artifacts, files = await collect(sandbox, fixture)
    events = policy_events(done, task, sandbox.workdir)
    return Outcome(done.model_copy(update={"artifacts": artifacts, "policy_events": events}), files)


async def solve(
    task: Task, skill: Skill | None, agents: SandboxPool, checkers: SandboxPool, seed: int = 0
) -> Outcome:
    """One run of the task, verified."""
    async with agents.slot() as sandbox:
        outcome = await work(task, skill, sandbox, seed)
    outcome.results = await verify(task, outcome.trajectory, outcome.files, checkers)
    return outcome
