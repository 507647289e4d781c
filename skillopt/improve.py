"""improve(): the outer loop. Train rollouts, reflection, gates, versions; the test split at the end."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from harness.skill import Skill
from harness.task import Task, require_split
from skillopt.buffer.rejected import Rejected, forbidden, load_rejected, rejected_of, texts_for_optimizer
from skillopt.evaluate import Arm, jobs_of
from skillopt.gates.decision import Decision
from skillopt.gates.selection import ErrorBudget, GateRule
from skillopt.patch import Edit, Patch
from skillopt.reflect.merge import Schedule, edit_budget, make_patches
from skillopt.reflect.propose import propose
from skillopt.report.model import Report, TestReading, read_test
from skillopt.session import Session
from skillopt.trial import Incumbent, Trial, incumbent_of, refused_by_screen, try_patch
from skillopt.versions import Version


class Plan(BaseModel):
    """How one run goes. With the defaults every step runs the whole train split once."""

    model_config = ConfigDict(frozen=True)

    epochs: int = 3
    batch: int = 40
    """Train tasks per step; an epoch has as many steps as it takes to use all of them."""
    minibatch: int = 3
    """Failed trajectories per reflection request."""
    edits_per_reflection: int = 6
    most_edits: int = 8
    fewest_edits: int = 1
    schedule: Schedule = "cosine"
    patches_per_step: int = 3
    test_rounds: int = 1
    rule: GateRule = GateRule()

    def batches(self, tasks: Sequence[Task]) -> list[Sequence[Task]]:
        """The train tasks of every step of the run, in order."""
        epoch = [tasks[start : start + self.batch] for start in range(0, len(tasks), self.batch)]
        return epoch * self.epochs


class Loop:
    """The state of one run. It can be rebuilt from the record: a resumed run makes the same steps."""

    def __init__(self, session: Session, plan: Plan, seed_version: Version) -> None:
        self.session, self.plan, self.seed = session, plan, seed_version
        self.run_id = session.world.run_id
        self.incumbent: Incumbent = incumbent_of(seed_version, self.run_id)
        self.errors = ErrorBudget(alpha=plan.rule.alpha, level=plan.rule.level)
        self.refused: list[Rejected] = load_rejected(
            session.project.store, session.project.name, before=self.run_id
        )
        self.decisions: list[Decision] = []
        self.secrets = session.project.secrets()

    async def run(self) -> Report:
        batches = self.plan.batches(require_split(self.session.project.taskset, "train"))
        for step, batch in enumerate(batches):
            if not self.errors.open:
                self.session.tell("stop", {"why": "the error budget of this run is spent"})
                break
            await self.step(step, len(batches), batch)
        test = await self.sealed_test()
        return self.report(test)

    async def step(self, step: int, steps: int, batch: Sequence[Task]) -> None:
        """One step: rollouts on train tasks, reflection, and each patch through the gates."""
        version = self.incumbent.version
        arm = Arm(version.skill, version.label, f"train {self.run_id} {step}")
        self.session.tell("step", {"step": step + 1, "steps": steps, "version": version.label})
        results = await self.session.evaluator.run("train", jobs_of([arm], batch, [0]))
        known = [result.score for result in results if result.score is not None]
        self.session.tell("train", {"passed": sum(s >= 1 for s in known), "tasks": len(known)})
        edits = await propose(
            self.session.optimizer,
            self.session.project.store,
            version.skill,
            {task.id: task for task in batch},
            results,
            texts_for_optimizer(self.refused),
            minibatch=self.plan.minibatch,
            limit=self.plan.edits_per_reflection,
            seed=self.session.options.seed * 100 + step,
        )
        budget = edit_budget(step, steps, self.plan.most_edits, self.plan.fewest_edits, self.plan.schedule)
        clean = self.sift(step, edits)
        patches = make_patches(clean, budget, self.plan.patches_per_step)
        self.session.tell(
            "edits", {"edits": len(edits), "clean": len(clean), "budget": budget, "patches": len(patches)}
        )
        for patch in patches:
            if self.errors.open and not self.was_tested(patch):
                await self.consider(step, patch)

    def was_tested(self, patch: Patch) -> bool:
        """Whether this patch had its test on this incumbent: the same data would only be read again."""
        base = self.incumbent.version.label
        return any(d.patch_id == patch.id and d.base_skill == base for d in self.decisions)

    def sift(self, step: int, edits: Sequence[Edit]) -> list[Edit]:
        """The edits that pass the screen one by one, so that a bad one does not take good ones with it."""
        clean = []
        for edit in edits:
            patch = Patch(edits=(edit,))
            trial = Trial(self.session, self.incumbent, self.plan.rule, patch)
            # What several reflections ask for will be tested with others: refused alone does not bar it.
            refused = forbidden(self.refused) if edit.support == 1 else []
            faults = trial.screen(self.secrets, refused)
            if not faults:
                clean.append(edit)
            elif "REPEAT" not in {fault.code for fault in faults}:
                self.session.tell("patch", {"patch": patch.model_dump(), "id": patch.id})
                self.settle(step, refused_by_screen(trial, faults))
        return clean

    async def consider(self, step: int, patch: Patch) -> None:
        """One patch through the gates, and what follows: a version, or an entry in the buffer."""
        decision, candidate = await try_patch(
            self.session,
            self.incumbent,
            patch,
            self.plan.rule,
            secrets=self.secrets,
            refused=forbidden(self.refused),
        )
        if decision.alpha_spent:
            self.errors = self.errors.after(decision.accepted)
        self.settle(step, decision, candidate)

    def settle(self, step: int, decision: Decision, candidate: Skill | None = None) -> None:
        """Record a decision; an accepted candidate becomes a version and the incumbent."""
        self.decisions.append(decision)
        store, record = self.session.project.store, decision.model_dump(mode="json")
        store.put_decision(self.run_id, step, decision.patch_id, record)
        if candidate is not None:
            version = accept(self.session, decision, self.incumbent.version, candidate.text)
            self.incumbent = incumbent_of(version, self.run_id)
        else:
            self.refused.append(rejected_of(decision))
        self.session.tell(
            "decision",
            {
                "decision": decision.model_dump(),
                "lucky": decision.lucky,
                "version": self.incumbent.version.label,
                "alpha_left": self.errors.left,
            },
        )

    async def sealed_test(self) -> TestReading | None:
        """Seed against best on the test split, read once; None when the task set has none."""
        project = self.session.project
        tasks = project.taskset.split("test")
        if not tasks:
            return None
        best = self.incumbent.version
        project.store.log_test_read(self.run_id, project.name, best.label)
        arms = [Arm(self.seed.skill, self.seed.label, f"test {self.run_id} seed")]
        if best.skill.hash != self.seed.skill.hash:
            arms.append(Arm(best.skill, best.label, f"test {self.run_id} best"))
        results = await self.session.evaluator.run("test", jobs_of(arms, tasks, range(self.plan.test_rounds)))
        return read_test(tasks, arms, results, project.store.test_reads(project.name))

    def report(self, test: TestReading | None) -> Report:
        session, best = self.session, self.incumbent.version
        spent = session.project.store.spent(self.run_id)
        return Report(
            run_id=self.run_id,
            skill=session.project.name,
            agent=session.world.model.label,
            optimizer=session.optimizer.label,
            sandbox=session.options.sandbox,
            seed_version=self.seed.label,
            best_version=best.label,
            seed_text=self.seed.skill.text,
            best_text=best.skill.text,
            decisions=self.decisions,
            test=test,
            alpha=self.errors.alpha,
            alpha_spent=self.errors.spent,
            rollouts=int(spent["rollouts"]),
            rollouts_paid_now=session.evaluator.paid,
            tokens=int(spent["tokens"]),
            cost=float(spent["cost"]),
            missing=session.evaluator.missing,
        )


def accept(session: Session, decision: Decision, base: Version, text: str) -> Version:
    """Commit an accepted candidate with its evidence."""
    evidence = {
        "run_id": session.world.run_id,
        "patch_id": decision.patch_id,
        "base": base.label,
        "agent": session.world.model.label,
        "optimizer": session.optimizer.label,
        "sandbox": session.options.sandbox,
        "decision": decision.model_dump(mode="json", exclude={"patch": {"edits": {"__all__": {"sources"}}}}),
    }
    delta = decision.selection_delta or 0.0
    summary = f"accept patch {decision.patch_id} ({delta * 100:+.1f} points on selection)"
    return session.project.history.commit(base.skill.with_text(text), "accepted", summary, evidence)


async def improve(session: Session, plan: Plan, seed_version: Version) -> Report:
    """Improve a skill from `seed_version` on; returns the report of the run.

    Raises RunStopped (endpoint dead, budget spent): what was recorded is kept, and calling it again with
    the same session options goes on from there.
    """
    return await Loop(session, plan, seed_version).run()
