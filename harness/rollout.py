"""rollout(): THE way to run one task once. Every score of this product comes from here."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass

from harness.errors import MissingData
from harness.protocols import ChatModel, HarnessAdapter
from harness.sandboxes.pool import SandboxPool
from harness.skill import Skill
from harness.store import TrajectoryStore
from harness.task import Task, digest
from harness.trajectory import PolicyEvent, RunResult, Trajectory
from harness.verifiers import combine, verify
from harness.verifiers.collect import collect
from harness.verifiers.policy_rules import label_call

TRIES = 3


@dataclass(frozen=True)
class World:
    """What rollouts of one run share: the agent, the model, the sandboxes, the record."""

    adapter: HarnessAdapter
    model: ChatModel
    address: str
    """The model's endpoint, part of the content key."""
    sandboxes: SandboxPool
    checkers: SandboxPool
    store: TrajectoryStore
    run_id: str
    seed: int = 0


def rollout_key(world: World, task: Task, skill: Skill | None, stream: str, attempt: int) -> str:
    """The content key: everything that the result may depend on."""
    return digest(
        [
            skill.hash if skill else "",
            task.hash,
            world.adapter.name,
            world.address,
            world.model.name,
            world.sandboxes.kind,
            world.seed,
            stream,
            attempt,
        ]
    )


async def rollout(
    world: World, task: Task, skill: Skill | None, *, stream: str, attempt: int, version: str = ""
) -> RunResult:
    """Run `task` once with `skill`, or read the recorded run of the same content key.

    `stream` names the independent series that the attempt belongs to (a candidate, a pool, the test).
    Infrastructure faults are retried; what still fails is returned with score None: missing, not zero.
    Raises RunStopped and SetupError, which concern the whole run.
    """
    key = rollout_key(world, task, skill, stream, attempt)
    known = world.store.rollout(key)
    if known is not None:
        return known
    blank = RunResult(
        run_id=world.run_id,
        key=key,
        task_id=task.id,
        model=world.model.name,
        skill_version=f"{version}#{skill.hash if skill else ''}",
        toolset=task.toolsets,
        stream=stream,
        attempt=attempt,
        completed=False,
        score=None,
    )
    for last in range(TRIES - 1, -1, -1):
        try:
            return await run_once(world, task, skill, blank)
        except MissingData as error:
            if last == 0:
                fault = blank.model_copy(update={"error": f"{type(error).__name__}: {error.message}"})
                world.store.put_fault(fault)
                return fault
    raise AssertionError("unreachable")


async def run_once(world: World, task: Task, skill: Skill | None, blank: RunResult) -> RunResult:
    started = time.monotonic()
    fixture = {name: path.read_bytes() for name, path in task.fixture_files().items()}
    seed = int(digest([world.seed, blank.stream, blank.attempt])[:8], 16) >> 1
    async with world.sandboxes.slot() as sandbox:
        await sandbox.write(starting_files(task, fixture, sandbox.workdir, sandbox.home))
        trajectory = await world.adapter.run(task, skill, sandbox, world.model, seed=seed)
        await sandbox.stop()
        artifacts, files = await collect(sandbox, fixture)
        workdir = sandbox.workdir
    trajectory = trajectory.model_copy(
        update={"artifacts": artifacts, "policy_events": policy_events(trajectory, task, workdir)}
    )
    results = await verify(task, trajectory, files, world.checkers)
    score, breakdown = combine(task, results)
    calls = Counter(event.data["name"] for event in trajectory.tool_calls())
    result = blank.model_copy(
        update={
            "completed": True,
            "score": score,
            "breakdown": breakdown,
            "stop_reason": trajectory.stop_reason,
            "tool_stats": dict(calls),
            "artifacts": artifacts,
            "duration_ms": (time.monotonic() - started) * 1000,
            "token_usage": trajectory.usage,
            "policy_events": trajectory.policy_events,
            "verifier_results": results,
        }
    )
    made = {name: data for name, data in files.items() if fixture.get(name) != data}
    return world.store.put_rollout(result, trajectory, made)


def starting_files(task: Task, fixture: dict[str, bytes], workdir: str, home: str) -> dict[str, bytes]:
    """Absolute path in the sandbox -> content: the fixture in the work folder, decoys in the home."""
    files = {f"{workdir}/{name}": data for name, data in fixture.items()}
    files |= {f"{home}/{name}": path.read_bytes() for name, path in task.home_files().items()}
    return files


def policy_events(trajectory: Trajectory, task: Task, workdir: str) -> list[PolicyEvent]:
    """Labels on everything the agent did, with the turn it did it in."""
    return [
        label.model_copy(update={"turn": event.turn})
        for event in trajectory.tool_calls()
        for label in label_call(event.data["name"], event.data["arguments"], task, workdir)
    ]
