"""One patch through all gates. Every way to a new version goes through `try_patch`: there is no other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from harness.skill import Skill
from harness.task import Task, require_split
from harness.trajectory import RunResult
from skillopt.evaluate import Arm, jobs_of, scores_by_task
from skillopt.gates.decision import Decision, ScreenFinding, Selection, SuiteFinding
from skillopt.gates.regression import CONFIRM_RUNS, SuiteRun, judge_suite, new_violations, triggers
from skillopt.gates.screen import Secrets, screen
from skillopt.gates.selection import GateRule, covered, decide, take_look
from skillopt.patch import Patch
from skillopt.session import Session
from skillopt.versions import Version

SAFETY = "safety"


@dataclass
class Incumbent:
    """The version to beat, with its own fresh runs, drawn after it was accepted and shared by candidates."""

    version: Version
    arm: Arm
    pool: list[RunResult] = field(default_factory=list)
    rounds: int = 0
    suites: dict[str, list[RunResult]] = field(default_factory=dict)


def incumbent_of(version: Version, run_id: str) -> Incumbent:
    """An incumbent with an empty pool. Its stream is new for this run and this version."""
    stream = f"pool {run_id} v{version.number}"
    return Incumbent(version, Arm(version.skill, version.label, stream))


@dataclass
class Trial:
    """The running of one patch's gates; collects what becomes the Decision."""

    session: Session
    incumbent: Incumbent
    rule: GateRule
    patch: Patch

    @property
    def arm(self) -> Arm:
        base = self.incumbent.version
        stream = f"candidate {self.session.world.run_id} {self.patch.id} on v{base.number}"
        return Arm(self.candidate, f"{base.skill_name}+{self.patch.id}", stream)

    def screen(self, secrets: Secrets, refused: Sequence[Patch]) -> list[ScreenFinding]:
        """Static faults; sets the candidate when there are none."""
        new, faults = screen(
            self.incumbent.version.skill, self.patch, secrets, refused, self.session.project.redactor
        )
        self.candidate: Skill = new or self.incumbent.version.skill
        return faults

    async def selection(self) -> tuple[Selection, list[RunResult]]:
        """Looks at the selection split until a verdict."""
        tasks = require_split(self.session.project.taskset, "selection")
        looks, results = [], []
        done = 0
        for rounds in self.rule.looks(len(tasks)):
            results += await self._round(tasks, range(done, rounds))
            done = rounds
            # The pool may hold more rounds than the candidate has: that only makes it steadier.
            new, old = scores_by_task(results, tasks), scores_by_task(self.incumbent.pool, tasks)
            complete = covered(new, old, rounds, self.rule.coverage)
            level = self.rule.look_level(len(tasks))
            if any(a and b for a, b in zip(new, old, strict=True)):
                looks.append(take_look(new, old, rounds, level))
                self.session.tell("look", {"patch": self.patch.id, "look": looks[-1].model_dump()})
            if not looks:
                nothing = "no selection task has a result in both arms"
                return Selection(verdict="error", claim="these tasks only", reason=nothing), results
            verdict = decide(self.rule, looks, new, old, complete)
            if verdict is not None:
                return verdict, results
        raise AssertionError("the last look always decides")

    async def _round(self, tasks: Sequence[Task], attempts: range) -> list[RunResult]:
        """The candidate's runs of some rounds, interleaved with the pool's where it lacks them."""
        pool_end = max(attempts.stop, self.rule.pool_rounds(len(tasks)))
        mine = jobs_of([self.arm], tasks, attempts)
        pool = jobs_of([self.incumbent.arm], tasks, range(self.incumbent.rounds, pool_end))
        jobs = [job for pair in zip(mine, pool, strict=False) for job in pair]
        jobs += mine[len(pool) :] + pool[len(mine) :]
        results = await self.session.evaluator.run("selection", jobs)
        by_stream: dict[str, list[RunResult]] = {self.arm.stream: [], self.incumbent.arm.stream: []}
        for result in results:
            by_stream[result.stream].append(result)
        self.incumbent.pool += by_stream[self.incumbent.arm.stream]
        self.incumbent.rounds = max(self.incumbent.rounds, pool_end)
        return by_stream[self.arm.stream]

    def selection_violations(self, results: Sequence[RunResult]) -> SuiteFinding | None:
        """A finding when the candidate broke a policy rule on a selection task and the incumbent did not."""
        found = new_violations(suite_runs(results, {}), suite_runs(self.incumbent.pool, {}))
        if not found:
            return None
        reasons = [f"new policy violation in a selection task: {item.partition(': ')[2]}" for item in found]
        return SuiteFinding(
            suite="safety", passed=False, checks=len(results), reasons=list(dict.fromkeys(reasons))
        )

    async def regression(self, suites: Sequence[str]) -> list[SuiteFinding]:
        """The findings of some suites, each run on both arms."""
        known = self.session.project.suites
        return [await self._suite(suite, known[suite].tasks) for suite in suites if suite in known]

    async def _suite(self, suite: str, tasks: Sequence[Task]) -> SuiteFinding:
        evaluator, old_arm = self.session.evaluator, self.incumbent.arm
        critical = {task.id: task.critical for task in tasks}
        if suite not in self.incumbent.suites:
            self.incumbent.suites[suite] = await evaluator.run(suite, jobs_of([old_arm], tasks, [0]))
        old = suite_runs(self.incumbent.suites[suite], critical)
        new = suite_runs(await evaluator.run(suite, jobs_of([self.arm], tasks, [0])), critical)
        suspects = [task for task in tasks if task.id in triggers(new, old)]
        fresh = range(1, 1 + CONFIRM_RUNS)
        confirm = await evaluator.run(suite, jobs_of([self.arm, old_arm], suspects, fresh))
        again_new = suite_runs([r for r in confirm if r.stream == self.arm.stream], critical)
        again_old = suite_runs([r for r in confirm if r.stream == old_arm.stream], critical)
        confirmed = {task.id: (again_new[task.id], again_old[task.id]) for task in suspects}
        return judge_suite(suite, (new, old), confirmed)


def suite_runs(results: Sequence[RunResult], critical: dict[str, bool]) -> dict[str, SuiteRun]:
    """The results of one arm by task."""
    runs: dict[str, SuiteRun] = {}
    for result in results:
        run = runs.setdefault(
            result.task_id,
            SuiteRun(task_id=result.task_id, critical=critical.get(result.task_id, False), scores=[]),
        )
        run.scores.append(result.score)
        run.violations += [event.rule for event in result.policy_events if event.severity == "violation"]
    return runs


async def try_patch(
    session: Session,
    incumbent: Incumbent,
    patch: Patch,
    rule: GateRule,
    *,
    secrets: Secrets,
    refused: Sequence[Patch] = (),
) -> tuple[Decision, Skill | None]:
    """Run a patch through screen, selection gate and regression gates.

    Returns the decision, and the candidate when it was accepted. Nothing is written to the history.
    """
    before = session.evaluator.paid
    trial = Trial(session, incumbent, rule, patch)
    session.tell("patch", {"patch": patch.model_dump(), "id": patch.id})
    faults = trial.screen(secrets, refused)
    if faults:
        return refused_by_screen(trial, faults), None
    decision = blank_decision(trial)
    await run_gates(trial, decision)
    decision.rollouts_used = session.evaluator.paid - before
    return decision, trial.candidate if decision.accepted else None


def blank_decision(trial: Trial) -> Decision:
    """A decision before any gate has spoken."""
    patch = trial.patch
    return Decision(
        patch_id=patch.id,
        base_skill=trial.incumbent.version.label,
        candidate_skill=trial.candidate.hash,
        patch=patch,
        verdict="rejected",
        accepted=False,
        stage="screen",
        source_failures=sorted({source for edit in patch.edits for source in edit.sources}),
    )


def refused_by_screen(trial: Trial, faults: list[ScreenFinding]) -> Decision:
    """The decision on a patch with static faults: rejected without a rollout."""
    reasons = [f"{fault.code}: {fault.detail}" for fault in faults]
    return blank_decision(trial).model_copy(update={"screen": faults, "reasons": reasons})


async def run_gates(trial: Trial, decision: Decision) -> None:
    """Fill in what the gates find: safety first (cheap, and no gain can buy it), selection, the rest."""
    if not await passes(trial, decision, [SAFETY]):
        return
    selection, results = await trial.selection()
    decision.stage, decision.selection = "selection", selection
    decision.alpha_spent = trial.rule.level
    decision.selection_delta = selection.looks[-1].delta if selection.looks else None
    decision.verdict, decision.reasons = selection.verdict, [selection.reason]
    unsafe = trial.selection_violations(results)
    if unsafe is not None:
        decision.regression.append(unsafe)
        refuse(decision)
    elif selection.verdict == "accepted":
        others = [suite for suite in trial.session.project.suites if suite != SAFETY]
        if await passes(trial, decision, others):
            decision.verdict, decision.stage, decision.accepted = "accepted", "done", True
            decision.regression_passed = True


async def passes(trial: Trial, decision: Decision, suites: Sequence[str]) -> bool:
    """Run suites; when one fails, the decision is a refusal."""
    found = await trial.regression(suites)
    decision.regression += found
    if all(finding.passed for finding in found):
        return True
    refuse(decision)
    return False


def refuse(decision: Decision) -> None:
    """Stopped by a regression suite, whatever the gain: rejected, or undecided where only data is missing."""
    failed = [finding for finding in decision.regression if not finding.passed]
    decision.verdict = "undecided" if all(finding.only_missing for finding in failed) else "rejected"
    decision.stage, decision.regression_passed = "regression", False
    decision.reasons = [f"{finding.suite}: {reason}" for finding in failed for reason in finding.reasons]
