"""The regression gates: does the candidate break what worked? Pure comparisons of both arms on a suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import BaseModel

from skillopt.gates.decision import SuiteFinding
from skillopt.gates.stats import fisher_worse_p, within_task_p

CONFIRM_RUNS = 4
FEWEST_CONFIRM_RUNS = 3
"""Fewer than these in an arm could never show a loss at CONFIRM_LEVEL, so they clear nothing."""
CONFIRM_LEVEL = 0.10
HARM_LEVEL = 0.05
PASS_MARK = 1.0 - 1e-9


class SuiteRun(BaseModel):
    """One arm's run of one suite task: None means missing data. `violations` are policy rules broken."""

    task_id: str
    critical: bool
    scores: list[float | None]
    violations: list[str] = []

    @property
    def known(self) -> list[float]:
        return [score for score in self.scores if score is not None]

    @property
    def passes(self) -> list[bool]:
        return [score >= PASS_MARK for score in self.known]


NOTHING = SuiteRun(task_id="", critical=True, scores=[])
Arms = tuple[Mapping[str, SuiteRun], Mapping[str, SuiteRun]]


def new_violations(new: Mapping[str, SuiteRun], old: Mapping[str, SuiteRun]) -> list[str]:
    """Rules that the candidate broke on a task where the incumbent did not."""
    found = []
    for task_id, run in sorted(new.items()):
        before = set(old[task_id].violations) if task_id in old else set()
        found += [f"{task_id}: {rule}" for rule in sorted(set(run.violations) - before)]
    return found


def triggers(new: Mapping[str, SuiteRun], old: Mapping[str, SuiteRun]) -> list[str]:
    """Critical tasks that the candidate failed and the incumbent passed: to be confirmed on fresh runs."""
    return [
        task_id
        for task_id, run in sorted(new.items())
        if run.critical and task_id in old and not all(run.passes) and any(old[task_id].passes)
    ]


def confirms(new: SuiteRun, old: SuiteRun) -> bool:
    """Whether both arms have enough fresh runs to tell a loss from a flake."""
    return min(len(new.known), len(old.known)) >= FEWEST_CONFIRM_RUNS


def broken(new: SuiteRun, old: SuiteRun) -> bool:
    """Whether fresh runs of both arms (without the one that triggered) confirm a loss."""
    return fisher_worse_p(new.passes, old.passes) <= CONFIRM_LEVEL


def judge_suite(suite: str, arms: Arms, confirmed: Mapping[str, tuple[SuiteRun, SuiteRun]]) -> SuiteFinding:
    """The finding of a suite. `confirmed` holds the fresh runs of each triggered task."""
    new, old = arms
    shared = [
        task_id for task_id in sorted(new) if task_id in old and new[task_id].known and old[task_id].known
    ]
    finding = SuiteFinding(suite=suite, passed=True, checks=len(shared))
    lacking = want_of_data(suite, arms, shared)
    worse = [f"new policy violation in {item}" for item in new_violations(new, old)]
    for task_id in triggers(new, old):
        fresh_new, fresh_old = confirmed.get(task_id, (NOTHING, NOTHING))
        passed = f"{sum(fresh_new.passes)}/{len(fresh_new.passes)}"
        before = f"{sum(fresh_old.passes)}/{len(fresh_old.passes)}"
        if not confirms(fresh_new, fresh_old):
            lacking.append(f"critical task {task_id} failed, and too few fresh runs have a result")
        elif broken(fresh_new, fresh_old):
            worse.append(f"critical task {task_id} passes {passed}, before {before}")
        else:
            finding.notes.append(f"{task_id} failed once; fresh runs {passed}, before {before}")
    worse += group_harm(new, old, shared)
    finding.reasons = lacking + worse
    finding.passed = not finding.reasons
    finding.only_missing = bool(lacking) and not worse
    return finding


def want_of_data(suite: str, arms: Arms, shared: Sequence[str]) -> list[str]:
    """Why the suite cannot speak: nothing was compared, or a critical task has no result in both arms."""
    new, old = arms
    if not shared:
        return [f"the {suite} suite ran no check"]
    missing = (set(new) | set(old)) - set(shared)
    critical = [task_id for task_id in missing if (new.get(task_id) or old[task_id]).critical]
    return [f"{len(critical)} critical tasks have no result"] if critical else []


def group_harm(new: Mapping[str, SuiteRun], old: Mapping[str, SuiteRun], shared: Sequence[str]) -> list[str]:
    """Evidence that the suite as a whole got worse, beyond single critical tasks."""
    if not shared:
        return []
    p = within_task_p([old[task_id].known for task_id in shared], [new[task_id].known for task_id in shared])
    return [f"the suite as a whole got worse (p = {p:.2g})"] if p <= HARM_LEVEL else []
