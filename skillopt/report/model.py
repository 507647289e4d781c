"""The report of a run, as data."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel

from harness.task import Task
from harness.trajectory import RunResult
from skillopt.evaluate import Arm, scores_by_task
from skillopt.gates.decision import Decision
from skillopt.gates.stats import mean_interval, task_differences, task_interval, task_t_p


class Score(BaseModel):
    """A mean score and its 95 % interval over tasks."""

    version: str
    mean: float
    low: float
    high: float
    tasks: int


class TestReading(BaseModel):
    """The sealed test split, read at the end. `reads` counts readings so far: only the first is sealed."""

    __test__ = False

    seed: Score
    best: Score | None
    delta: float | None
    low: float | None
    high: float | None
    p: float | None
    reads: int
    rounds: int


class Report(BaseModel):
    """What a run of improve found, spent and left."""

    run_id: str
    skill: str
    agent: str
    optimizer: str
    sandbox: str
    seed_version: str
    best_version: str
    seed_text: str
    best_text: str
    decisions: list[Decision]
    test: TestReading | None
    alpha: float
    alpha_spent: float
    rollouts: int
    rollouts_paid_now: int
    tokens: int
    cost: float
    missing: int

    @property
    def accepted(self) -> list[Decision]:
        return [decision for decision in self.decisions if decision.accepted]

    @property
    def measured(self) -> bool:
        """Whether anything was measured at all; a run that measured nothing must not exit 0."""
        return any(d.selection and d.selection.looks for d in self.decisions) or self.test is not None


def score_of(arm: Arm, tasks: Sequence[Task], results: Sequence[RunResult]) -> Score:
    scores = scores_by_task([r for r in results if r.stream == arm.stream], tasks)
    mean, low, high = mean_interval(scores)
    return Score(version=arm.version, mean=mean, low=low, high=high, tasks=sum(map(bool, scores)))


def read_test(
    tasks: Sequence[Task], arms: Sequence[Arm], results: Sequence[RunResult], reads: int
) -> TestReading | None:
    """Seed against best, paired by task; None when no rollout gave data."""
    if all(result.score is None for result in results):
        return None
    rounds = 1 + max(result.attempt for result in results)
    seed = score_of(arms[0], tasks, results)
    if len(arms) == 1:
        return TestReading(
            seed=seed, best=None, delta=None, low=None, high=None, p=None, reads=reads, rounds=rounds
        )
    old, new = (scores_by_task([r for r in results if r.stream == arm.stream], tasks) for arm in arms)
    differences = task_differences(new, old)
    low, high = task_interval(differences)
    return TestReading(
        seed=seed,
        best=score_of(arms[1], tasks, results),
        delta=float(differences.mean()) if len(differences) else None,
        low=low,
        high=high,
        p=task_t_p(differences),
        reads=reads,
        rounds=rounds,
    )
