"""Run (skill, tasks, rounds): concurrency, interleaved arms, budget. All rollouts of skillopt start here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from harness.errors import RunStopped
from harness.rollout import World, rollout, rollout_key
from harness.skill import Skill
from harness.task import Task
from harness.trajectory import RunResult


class BudgetSpent(RunStopped):
    """The run's budget of rollouts, tokens or money is used up."""


class RunBudget(BaseModel):
    """Limits of one run; None is no limit. Recorded rollouts that are read again cost nothing."""

    model_config = ConfigDict(frozen=True)

    rollouts: int | None = None
    tokens: int | None = None
    money: float | None = None


@dataclass(frozen=True)
class Arm:
    """A skill version that is run, and the independent series its attempts belong to."""

    skill: Skill
    version: str
    stream: str


@dataclass(frozen=True)
class Job:
    arm: Arm
    task: Task
    attempt: int


@dataclass
class Evaluator:
    """Runs jobs side by side and keeps count. `progress` is told how many of how many are done."""

    world: World
    concurrency: int
    budget: RunBudget
    progress: Callable[[str, int, int], None] = lambda _what, _done, _all: None
    paid: int = 0
    missing: int = 0

    def is_recorded(self, job: Job) -> bool:
        world = self.world
        key = rollout_key(world, job.task, job.arm.skill, job.arm.stream, job.attempt)
        return world.store.rollout(key) is not None

    def check_budget(self, new: int) -> None:
        """Raises BudgetSpent when `new` more rollouts would go over a limit."""
        spent = self.world.store.spent(self.world.run_id)
        over = [
            name
            for name, used, limit in (
                ("rollouts", spent["rollouts"] + new, self.budget.rollouts),
                ("tokens", spent["tokens"], self.budget.tokens),
                ("money", spent["cost"], self.budget.money),
            )
            if limit is not None and used > limit
        ]
        if over:
            state = f"does not cover the next {new}" if over[0] == "rollouts" and new else "is spent"
            raise BudgetSpent(
                f"The budget of {over[0]} {state} ({int(spent['rollouts'])} rollouts, "
                f"{int(spent['tokens'])} tokens, ${spent['cost']:.2f} so far).",
                f"Everything is kept: run the same command with a higher --max-{over[0]} to go on.",
            )

    async def run(self, what: str, jobs: Sequence[Job]) -> list[RunResult]:
        """The results of the jobs, in their order. Raises RunStopped as soon as one rollout does."""
        new = sum(not self.is_recorded(job) for job in jobs)
        if new:
            self.check_budget(new)
        gate = asyncio.Semaphore(self.concurrency)
        done = 0

        async def one(job: Job) -> RunResult:
            nonlocal done
            async with gate:
                if self.budget.tokens is not None or self.budget.money is not None:
                    self.check_budget(0)
                result = await rollout(
                    self.world,
                    job.task,
                    job.arm.skill,
                    stream=job.arm.stream,
                    attempt=job.attempt,
                    version=job.arm.version,
                )
            done += 1
            self.progress(what, done, len(jobs))
            return result

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(one(job)) for job in jobs]
        except BaseExceptionGroup as failed:
            raise first_cause(failed) from failed
        results = [task.result() for task in tasks]
        self.paid += new
        self.missing += sum(result.score is None for result in results)
        return results


def first_cause(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first error of a group that is no group itself."""
    first = group.exceptions[0]
    return first_cause(first) if isinstance(first, BaseExceptionGroup) else first


def jobs_of(arms: Sequence[Arm], tasks: Sequence[Task], attempts: Sequence[int]) -> list[Job]:
    """All (task, attempt, arm), arms next to each other so that drift of an endpoint hits both alike."""
    return [Job(arm, task, attempt) for attempt in attempts for task in tasks for arm in arms]


def scores_by_task(results: Sequence[RunResult], tasks: Sequence[Task]) -> list[list[float]]:
    """The known scores of each task, in the order of `tasks`; missing data is left out."""
    found: dict[str, list[float]] = {task.id: [] for task in tasks}
    for result in results:
        if result.score is not None:
            found[result.task_id].append(result.score)
    return [found[task.id] for task in tasks]
