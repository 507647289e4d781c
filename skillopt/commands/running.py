"""improve, try, eval: the commands that run agents."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skillopt.commands.common import (
    DEFAULT_CONCURRENCY,
    NO,
    OK,
    SETUP,
    BaseUrl,
    Concurrency,
    Json,
    MaxMoney,
    MaxRollouts,
    MaxTokens,
    Model,
    OptimizerModel,
    Price,
    Sandbox,
    Seed,
    SkillName,
    Tasks,
    make_options,
    make_screen,
    open_named,
    print_json,
)

if TYPE_CHECKING:
    from skillopt.report.terminal import Screen
    from skillopt.session import Options, Project


def improve(
    skill: SkillName,
    tasks: Tasks = "",
    model: Model = "apprentice",
    optimizer_model: OptimizerModel = "",
    base_url: BaseUrl = "",
    price: Price = "",
    sandbox: Sandbox = "local",
    concurrency: Concurrency = DEFAULT_CONCURRENCY,
    seed: Seed = 0,
    epochs: Annotated[int, typer.Option(min=1, max=100, help="Passes over the train tasks.")] = 3,
    batch: Annotated[int, typer.Option(min=1, help="Train tasks per step.")] = 40,
    edits: Annotated[int, typer.Option(min=1, max=20, help="Most edits in a patch, at the first step.")] = 8,
    alpha: Annotated[
        float,
        typer.Option(min=0.001, max=0.5, help="Bound on the chance that the run accepts any idle edit."),
    ] = 0.10,
    tests: Annotated[int, typer.Option(min=1, max=200, help="Gate tests the bound is planned for.")] = 8,
    test_rounds: Annotated[int, typer.Option(min=1, max=20, help="Runs per sealed test task.")] = 1,
    max_rollouts: MaxRollouts = None,
    max_tokens: MaxTokens = None,
    max_money: MaxMoney = None,
    estimate: Annotated[bool, typer.Option("--estimate", help="Say what would be run, and stop.")] = False,
    as_json: Json = False,
) -> None:
    """Improve a skill: reflect on failures, propose edits, keep those that the gates accept.

    The same command goes on where a stopped run was, and says so when the run is finished.
    """
    from skillopt.gates.selection import GateRule
    from skillopt.improve import Plan
    from skillopt.run import find_run, run_improve

    screen = make_screen(as_json)
    project = open_named(skill, tasks, screen)
    options = make_options(
        model=model, base_url=base_url, optimizer=optimizer_model, price=price, sandbox=sandbox,
        concurrency=concurrency, seed=seed, rollouts=max_rollouts, tokens=max_tokens, money=max_money,
    )  # fmt: skip
    rule = GateRule(alpha=alpha, tests=tests)
    plan = Plan(epochs=epochs, batch=batch, most_edits=edits, test_rounds=test_rounds, rule=rule)
    if estimate:
        announce(screen, project, options, plan, as_json)
        return
    found = find_run(project, options, plan)
    if found.finished is not None:
        finish_improve(
            screen, found.finished.model_copy(update={"rollouts_paid_now": 0}), as_json, again=True
        )
    if found.resumed:
        screen.line(f"Going on with run {found.run_id}: what is recorded is read, not run again.")
    else:
        announce(screen, project, options, plan, as_json=False)
    try:
        report = asyncio.run(run_improve(project, options, plan, found, os.environ, screen.tell))
    finally:
        screen.close()
    finish_improve(screen, report, as_json, again=False)


def announce(screen: Screen, project: Project, options: Options, plan: Any, as_json: bool) -> None:
    """What a run is about to do, and what it may cost where prices are known."""
    from skillopt.run import estimate

    figures = estimate(project, options, plan)
    if as_json:
        print_json(figures)
        return
    where = "" if options.agent.embedded else f" at {options.agent.address}"
    agent = "apprentice: scripted, offline" if options.agent.embedded else options.agent.model
    screen.line(f"Skill {project.name}, agent {agent}{where}, sandbox {options.sandbox}")
    suites = ", ".join(f"{name} {count}" for name, count in figures["regression_tasks"].items()) or "none"
    screen.line(
        f"Tasks: train {figures['train_tasks']}, selection {figures['selection_tasks']}, "
        f"sealed test {figures['test_tasks']}; regression suites: {suites}"
    )
    screen.line(
        f"Rollouts: {figures['rollouts_at_least']} to {figures['rollouts_at_most']} (usually near the lower)"
    )
    if options.agent.embedded:
        screen.line("Cost: none, nothing leaves this machine")
    elif figures["cost_at_least"] is None:
        screen.line("Cost: not known; give the model's price with --price PROMPT,COMPLETION")
    else:
        screen.line(
            f"Cost: ${figures['cost_at_least']} to ${figures['cost_at_most']}, at an assumed "
            f"{figures['assumed_prompt_tokens_per_rollout']:,} prompt tokens per rollout"
        )


def finish_improve(screen: Screen, report: Any, as_json: bool, again: bool) -> None:
    """Show a report and leave with its exit code."""
    from skillopt.report.terminal import show_report

    if again:
        screen.line("This run is finished: nothing was run and nothing was paid.")
    show_report(screen, report)
    if again:
        screen.line(f"To go on from {report.best_version}: the same command with another --seed")
    if as_json:
        print_json({**report.model_dump(mode="json"), "finished_before": again})
    code = (OK if report.accepted else NO) if report.measured else SETUP
    raise typer.Exit(code)


def try_(
    skill: SkillName,
    patch: Annotated[Path | None, typer.Option(help="A patch: unified diff, or JSON with edits.")] = None,
    candidate: Annotated[Path | None, typer.Option(help="A whole SKILL.md to try.")] = None,
    accept: Annotated[
        bool, typer.Option("--accept", help="Make it a version when the gates accept it.")
    ] = False,
    tasks: Tasks = "",
    model: Model = "apprentice",
    base_url: BaseUrl = "",
    price: Price = "",
    sandbox: Sandbox = "local",
    concurrency: Concurrency = DEFAULT_CONCURRENCY,
    seed: Seed = 0,
    max_rollouts: MaxRollouts = None,
    max_tokens: MaxTokens = None,
    max_money: MaxMoney = None,
    as_json: Json = False,
) -> None:
    """Evaluate a hand-written patch through the same gates. Exit code 0: accepted, 1: not."""
    from skillopt.improve import Plan
    from skillopt.run import run_try

    screen = make_screen(as_json)
    project = open_named(skill, tasks, screen)
    change = read_change(project, patch, candidate)
    options = make_options(
        model=model, base_url=base_url, optimizer="", price=price, sandbox=sandbox,
        concurrency=concurrency, seed=seed, rollouts=max_rollouts, tokens=max_tokens, money=max_money,
    )  # fmt: skip
    try:
        decision, version = asyncio.run(
            run_try(project, options, Plan(), change, os.environ, screen.tell, take=accept)
        )
    finally:
        screen.close()
    screen.on_decision({"decision": decision.model_dump(), "version": version.label if version else ""})
    if decision.accepted and version is None:
        screen.line("The gates accept it. To make it a version: the same command with --accept")
    if as_json:
        print_json({**decision.model_dump(mode="json"), "version": version.label if version else None})
    raise typer.Exit(OK if decision.accepted else SETUP if decision.verdict == "error" else NO)


def read_change(project: Project, patch: Path | None, candidate: Path | None) -> Any:
    """The patch to try. Raises PatchError."""
    from skillopt.patch import PatchError, read_patch, whole_text_patch

    base = project.head().skill
    if (patch is None) == (candidate is None):
        raise PatchError("Nothing to try was named.", "Give either --patch FILE or --candidate FILE.")
    if patch is not None:
        return read_patch(patch, base)
    assert candidate is not None
    try:
        text = candidate.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PatchError(f"{candidate} cannot be read: {error}.", "Check the path.") from error
    return whole_text_patch(base, text, f"file {candidate.name}")


def eval_(
    skill: SkillName,
    version: Annotated[
        str, typer.Option(help="A version such as v3; default: the text in the work tree.")
    ] = "",
    split: Annotated[str, typer.Option(help="train, selection, test or regression.")] = "selection",
    rounds: Annotated[int, typer.Option(min=1, max=100, help="Runs per task.")] = 1,
    tasks: Tasks = "",
    model: Model = "apprentice",
    base_url: BaseUrl = "",
    price: Price = "",
    sandbox: Sandbox = "local",
    concurrency: Concurrency = DEFAULT_CONCURRENCY,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Measure a version on one split: mean score with its interval."""
    from harness.errors import TaskError
    from skillopt.report.terminal import score_text
    from skillopt.run import run_eval

    if split not in ("train", "selection", "test", "regression"):
        raise TaskError(f"There is no split {split!r}.", "Choose train, selection, test or regression.")
    screen = make_screen(as_json)
    project = open_named(skill, tasks, screen)
    options = make_options(
        model=model, base_url=base_url, optimizer="", price=price, sandbox=sandbox,
        concurrency=concurrency, seed=seed,
    )  # fmt: skip
    chosen = project.history.get(version) if version else None
    try:
        score, missing = asyncio.run(
            run_eval(project, options, chosen, split, rounds, os.environ, screen.tell)
        )
    finally:
        screen.close()
    label = "apprentice: scripted, offline" if options.agent.embedded else options.agent.model
    screen.line(f"{score.version}, {split} ({label}): {score_text(score)}; {missing} rollouts missing")
    if as_json:
        print_json({**score.model_dump(mode="json"), "split": split, "agent": label, "missing": missing})
