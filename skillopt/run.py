"""What the command line does, as library calls: find or resume a run, estimate it, run it, write it down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.errors import HarnessError, RunStopped
from harness.task import require_split
from skillopt.evaluate import Arm, jobs_of, scores_by_task
from skillopt.gates.decision import Decision
from skillopt.gates.stats import mean_interval
from skillopt.improve import Plan, accept, improve
from skillopt.patch import Patch
from skillopt.report.model import Report, Score
from skillopt.session import Options, Project, Tell, locked, open_session, run_key
from skillopt.trial import incumbent_of, try_patch
from skillopt.versions import Version

ASSUMED_TOKENS = 15_000
TRY_ALPHA = 0.05


@dataclass(frozen=True)
class Found:
    """Which run a command means: a new one, one to go on with, or one that is finished."""

    run_id: str
    base: Version
    finished: Report | None = None
    resumed: bool = False


def config_hash(project: Project, options: Options, plan: Plan) -> str:
    """What makes two runs the same question, apart from where they start."""
    return run_key(
        project.taskset.hash,
        {name: taskset.hash for name, taskset in sorted(project.suites.items())},
        options.model_dump(include={"agent", "optimizer", "sandbox", "seed"}),
        plan,
    )


def find_run(project: Project, options: Options, plan: Plan) -> Found:
    """The run that the same command made before, else a new one from the head (or the edited text)."""
    config = config_hash(project, options, plan)
    base = project.base()
    same = [run for run in project.store.runs(project.name) if run["config_hash"] == config]
    if same:
        last = same[-1]
        if last["status"] != "finished":
            start = project.history.get(f"v{last['config']['base']}")
            return Found(last["id"], start, resumed=True)
        report = Report.model_validate(last["result"])
        if report.best_version == base.label:
            return Found(last["id"], base, finished=report)
    return Found(run_key(config, base.skill.hash, base.number), base)


async def run_improve(
    project: Project, options: Options, plan: Plan, found: Found, environ: Mapping[str, str], tell: Tell
) -> Report:
    """Make or go on with a run. Raises RunStopped with everything recorded so far kept."""
    config = {
        "base": found.base.number,
        "plan": plan.model_dump(),
        "options": options.model_dump(exclude={"budget", "concurrency"}),
    }
    with locked(project.place, project.name):
        project.store.start_run(found.run_id, project.name, config_hash(project, options, plan), config)
        async with open_session(project, options, found.run_id, environ, tell) as session:
            try:
                report = await improve(session, plan, found.base)
            except RunStopped as stopped:
                project.store.finish_run(found.run_id, "stopped", {"why": str(stopped)})
                raise
            project.store.finish_run(found.run_id, "finished", report.model_dump(mode="json"))
    return report


async def run_try(
    project: Project,
    options: Options,
    plan: Plan,
    patch: Patch,
    environ: Mapping[str, str],
    tell: Tell,
    *,
    take: bool,
) -> tuple[Decision, Version | None]:
    """Evaluate one hand-made patch against the head, through the same gates; commit it with `take`.

    Such a test is one claim of its own: the bound on a false accept is 0.05.
    """
    base = project.head()
    run_id = run_key("try", config_hash(project, options, plan), base.skill.hash, base.number, patch.id)
    rule = plan.rule.model_copy(update={"tests": 1, "alpha": TRY_ALPHA})
    config = {"base": base.number, "patch": patch.id}
    with locked(project.place, project.name):
        project.store.start_run(run_id, project.name, f"try {run_id}", config)
        async with open_session(project, options, run_id, environ, tell) as session:
            decision, candidate = await try_patch(
                session, incumbent_of(base, run_id), patch, rule, secrets=project.secrets()
            )
            project.store.put_decision(run_id, 0, patch.id, decision.model_dump(mode="json"))
            version = accept(session, decision, base, candidate.text) if candidate and take else None
        project.store.finish_run(run_id, "finished", {"verdict": decision.verdict})
    return decision, version


async def run_eval(
    project: Project,
    options: Options,
    version: Version | None,
    split: str,
    rounds: int,
    environ: Mapping[str, str],
    tell: Tell,
) -> tuple[Score, int]:
    """Mean score of a version (None: the work tree's text) on one split; how many rollouts are missing."""
    skill = version.skill if version else project.skill
    label = version.label if version else f"{project.name} (work tree)"
    run_id = run_key("eval", skill.hash, project.taskset.hash, options, split)
    tasks = require_split(project.taskset, split)  # type: ignore[arg-type]
    if split == "test":
        project.store.log_test_read(run_id, project.name, label)
    async with open_session(project, options, run_id, environ, tell) as session:
        arm = Arm(skill, label, f"eval {split}")
        results = await session.evaluator.run(split, jobs_of([arm], tasks, range(rounds)))
    scores = scores_by_task(results, tasks)
    if not any(scores):
        raise HarnessError("No rollout gave a result.", f"The first fault: {results[0].error}")
    mean, low, high = mean_interval(scores)
    missing = sum(result.score is None for result in results)
    return Score(version=label, mean=mean, low=low, high=high, tasks=sum(map(bool, scores))), missing


def estimate(project: Project, options: Options, plan: Plan) -> dict[str, Any]:
    """How many rollouts a run makes at least and at most, and what they may cost where prices are known."""
    taskset, rule = project.taskset, plan.rule
    train = sum(len(batch) for batch in plan.batches(require_split(taskset, "train")))
    selection, test = len(require_split(taskset, "selection")), len(taskset.split("test"))
    suites = sum(len(suite.tasks) for suite in project.suites.values())
    least = train + selection * 2 * rule.looks(selection)[0] + test * plan.test_rounds
    most = (
        train
        + rule.tests * 2 * (selection * rule.looks(selection)[-1] + suites)
        + 2 * test * plan.test_rounds
    )
    prices = options.agent.prices
    per_rollout = ASSUMED_TOKENS * prices.prompt / 1e6 if prices else None
    return {
        "train_tasks": len(taskset.split("train")),
        "selection_tasks": selection,
        "test_tasks": test,
        "regression_tasks": {name: len(suite.tasks) for name, suite in project.suites.items()},
        "rollouts_at_least": least,
        "rollouts_at_most": most,
        "assumed_prompt_tokens_per_rollout": ASSUMED_TOKENS,
        "cost_at_least": round(least * per_rollout, 2) if per_rollout is not None else None,
        "cost_at_most": round(most * per_rollout, 2) if per_rollout is not None else None,
    }
