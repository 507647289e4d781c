"""The selection gate: group-sequential looks at fresh paired rollouts, under a run-wide error budget."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict
from scipy.stats import norm

from skillopt.gates.decision import Claim, Look, Selection
from skillopt.gates.stats import (
    Arm,
    fixed_interval,
    pairs_to_settle,
    task_differences,
    task_interval,
    task_t_p,
    within_task_p,
)

FEWEST_TASKS_FOR_POPULATION = 5
NORMAL_95 = 1.96


class GateRule(BaseModel):
    """How the selection gate decides. The defaults bound the whole run.

    `alpha` bounds the probability that the run accepts any edit that is not better; it is split evenly
    over `tests` planned gate tests, and within a test over its looks (a union bound: no assumption on how
    the looks depend on each other). Futility stops only reject, so they never raise the error rate;
    they go by the mid-p value, which is less coarse with few tasks.
    """

    model_config = ConfigDict(frozen=True)

    alpha: float = 0.10
    tests: int = 8
    futility: tuple[float, ...] = (0.40, 0.30, 0.20, 0.20)
    coverage: float = 0.8

    @property
    def level(self) -> float:
        """The level of one gate test."""
        return self.alpha / self.tests

    def looks(self, tasks: int) -> tuple[int, ...]:
        """Runs per task at each look: few tasks need more runs to show anything."""
        if tasks >= 40:
            return (1, 2, 4)
        return (1, 2, 4, 8) if tasks >= 10 else (2, 4, 8, 16)

    def pool_rounds(self, tasks: int) -> int:
        """Runs per task of the incumbent's pool at the first look. All candidates are measured against it,

        so a lucky or unlucky pool of one run would decide them all.
        """
        return 3 if tasks >= 40 else 4 if tasks >= 10 else 8

    def look_level(self, tasks: int) -> float:
        """The level of one look: an equal share of the test's."""
        return self.level / len(self.looks(tasks))


def claim_of(tasks: int) -> Claim:
    return "tasks like these" if tasks >= FEWEST_TASKS_FOR_POPULATION else "these tasks only"


def take_look(new: Arm, old: Arm, rounds: int, level: float) -> Look:
    """The figures of one look; `new` and `old` hold the scores per task, missing ones left out."""
    differences = task_differences(new, old)
    kept = [(a, b) for a, b in zip(new, old, strict=True) if a and b]
    population = claim_of(len(kept)) == "tasks like these"
    low, high = task_interval(differences) if population else fixed_interval(new, old)
    return Look(
        rounds=rounds,
        pairs=sum(min(len(a), len(b)) for a, b in kept),
        tasks=len(kept),
        candidate_mean=sum(sum(a) / len(a) for a, _ in kept) / len(kept),
        incumbent_mean=sum(sum(b) / len(b) for _, b in kept) / len(kept),
        delta=float(differences.mean()),
        low=low,
        high=high,
        p_within=within_task_p(new, old),
        p_mid=within_task_p(new, old, mid=True),
        p_tasks=task_t_p(differences) if population else None,
        level=level,
    )


def covered(new: Arm, old: Arm, rounds: int, share: float) -> bool:
    """Whether both arms have enough of the runs they should have."""
    wanted = rounds * len(new)
    return min(sum(map(len, new)), sum(map(len, old))) >= share * wanted


def decide(rule: GateRule, looks: Sequence[Look], new: Arm, old: Arm, complete: bool) -> Selection | None:
    """The verdict after the last of `looks`, or None when another look should be taken.

    `complete` says that the arms hold the data of the last look in full (enough coverage).
    """
    claim = claim_of(len(new))
    look, index = looks[-1], len(looks) - 1

    def verdict(word: str, reason: str, settle: int | None = None) -> Selection:
        return Selection.model_validate(
            {"verdict": word, "claim": claim, "looks": looks, "reason": reason, "rollouts_to_settle": settle}
        )

    if not complete:
        return verdict("undecided", "too many rollouts are missing on one side to compare the two")
    if look.delta > 0 and look.p <= look.level:
        return verdict("accepted", f"better on {claim}: p = {look.p:.2g}, needed {look.level:.2g}")
    if look.delta <= 0 or max(look.p_mid, look.p_tasks or 0.0) > rule.futility[index]:
        return verdict("rejected", f"no sign of a gain after {look.rounds} runs per task (p = {look.p:.2g})")
    last = rule.looks(len(new))[-1]
    if look.rounds < last and within_reach(look, last):
        return None
    differences = task_differences(new, old)
    needed = pairs_to_settle(differences, look.level) or 0
    more = max(0, needed * look.rounds - look.pairs)
    why = "not shown" if look.rounds == last else f"too small to be shown in {last} runs per task"
    return verdict("undecided", f"a gain is possible but {why} (p = {look.p:.2g})", more or None)


def within_reach(look: Look, last: int) -> bool:
    """Whether the last look could still accept, were the gain one standard error above what is seen.

    A normal approximation that only ever stops: it cannot accept, so it costs no error probability.
    """
    error = (look.high - look.low) / (2 * NORMAL_95)
    final_error = error * (look.rounds / last) ** 0.5
    return bool(look.delta + error >= float(norm.ppf(1 - look.level)) * final_error)


class ErrorBudget(BaseModel):
    """What is left of the run's error probability. An accept gives its level back (the fallback rule):

    the bound is on the first false accept, and a true accept opens a new incumbent with a fresh pool.
    """

    alpha: float
    level: float
    spent: float = 0.0

    @property
    def left(self) -> float:
        return max(0.0, self.alpha - self.spent)

    @property
    def open(self) -> bool:
        """Whether another test can still be paid for."""
        return self.left >= self.level - 1e-12

    def after(self, accepted: bool) -> ErrorBudget:
        return self.model_copy(update={"spent": self.spent + (0.0 if accepted else self.level)})
