"""One step of reflection: minibatches of train trajectories to ranked edits."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from harness.errors import ContextOverflow, ModelUnavailable
from harness.protocols import ChatModel
from harness.skill import Skill
from harness.store import TrajectoryStore
from harness.task import Task
from harness.trajectory import RunResult
from skillopt.patch import Edit
from skillopt.reflect.evidence import one_use_mark, render_run
from skillopt.reflect.merge import merge
from skillopt.reflect.prompt import read_edits, reflection_messages

SUCCESSES_PER_BATCH = 1


def minibatches(results: Sequence[RunResult], size: int) -> list[list[RunResult]]:
    """Failures in groups of `size`, with a success beside each group where there is one.

    Without failures there is one batch of successes: what works may still be said better or shorter.
    """
    known = [result for result in results if result.score is not None]
    failures = [result for result in known if (result.score or 0) < 1]
    successes = [result for result in known if (result.score or 0) >= 1]
    if not failures:
        return [successes[:size]] if successes else []
    groups = [failures[start : start + size] for start in range(0, len(failures), size)]
    for number, group in enumerate(groups):
        start = number * SUCCESSES_PER_BATCH
        group.extend(successes[start : start + SUCCESSES_PER_BATCH])
    return groups


async def propose(
    optimizer: ChatModel,
    store: TrajectoryStore,
    skill: Skill,
    tasks: Mapping[str, Task],
    results: Sequence[RunResult],
    refused: Sequence[str],
    *,
    minibatch: int,
    limit: int,
    seed: int,
) -> list[Edit]:
    """Ranked, merged edits. A reflection that the endpoint did not answer is left out."""

    async def reflect(number: int, group: Sequence[RunResult]) -> list[Edit]:
        trajectories = [store.trajectory(result) for result in group]
        mark = one_use_mark(seed, [skill.body, *(t.model_dump_json() for t in trajectories)])
        runs = [
            render_run(tasks[result.task_id], result, trajectory, mark)
            for result, trajectory in zip(group, trajectories, strict=True)
        ]
        messages = reflection_messages(skill, runs, refused, limit, mark)
        try:
            completion = await optimizer.complete(messages, seed=seed * 1000 + number)
        except (ModelUnavailable, ContextOverflow):
            return []
        failed = [result.task_id for result in group if (result.score or 0) < 1]
        return read_edits(completion.content, limit, failed)

    groups = minibatches(results, minibatch)
    found = await asyncio.gather(*(reflect(number, group) for number, group in enumerate(groups)))
    return merge([edit for edits in found for edit in edits])
