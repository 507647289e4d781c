"""How a run looks in a terminal: plain lines that also read well in a log, progress where there is a tty."""

from __future__ import annotations

import re
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from skillopt.gates.decision import Decision, Look
from skillopt.patch import Patch, diff
from skillopt.report.model import Report, Score

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]|\x1b\[[0-9;]*[A-Za-z]")
MARKS = {
    "accepted": ("+", "green"),
    "rejected": ("-", "red"),
    "undecided": ("?", "yellow"),
    "error": ("!", "red"),
}


def clean(text: str) -> str:
    """Untrusted text without control characters: nothing in it can move the cursor or colour the screen."""
    return CONTROL.sub("", text)


def points(value: float) -> str:
    return f"{value * 100:+.1f}"


def score_text(score: Score) -> str:
    return f"{score.mean:.1%} [{score.low:.1%}, {score.high:.1%}] on {score.tasks} tasks"


class Screen:
    """Shows the events of a run. Give its `tell` to a session."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._progress: Progress | None = None
        self._bar: Any = None

    def line(self, text: str, style: str = "") -> None:
        self.console.print(Text(clean(text), style=style), soft_wrap=True, highlight=False)

    def tell(self, kind: str, data: dict[str, Any]) -> None:
        handler = getattr(self, f"on_{kind}", None)
        if handler is not None:
            handler(data)

    def on_progress(self, data: dict[str, Any]) -> None:
        if not self.console.is_terminal:
            return
        if self._progress is None:
            columns = (TextColumn("  {task.description}"), BarColumn(), MofNCompleteColumn())
            self._progress = Progress(*columns, console=self.console, transient=True)
            self._progress.start()
            self._bar = self._progress.add_task(data["what"], total=data["total"])
        self._progress.update(
            self._bar, description=data["what"], completed=data["done"], total=data["total"]
        )
        if data["done"] == data["total"]:
            self.close()

    def close(self) -> None:
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    def on_step(self, data: dict[str, Any]) -> None:
        self.line(f"\nStep {data['step']} of {data['steps']}, incumbent {data['version']}", "bold")

    def on_train(self, data: dict[str, Any]) -> None:
        self.line(f"  train: {data['passed']} of {data['tasks']} tasks passed")

    def on_edits(self, data: dict[str, Any]) -> None:
        self.line(
            f"  reflection: {data['edits']} different edits, {data['clean']} pass the screen; "
            f"{data['patches']} patches of at most {data['budget']} edits"
        )

    def on_patch(self, data: dict[str, Any]) -> None:
        self.line(f"  patch {data['id']}")
        self.show_patch(Patch.model_validate(data["patch"]))

    def show_patch(self, patch: Patch) -> None:
        if patch.origin != "reflection":
            self.line(f"    {patch.origin}")
            return
        for edit in patch.edits:
            text = " ".join((edit.text or edit.anchor).split())
            self.line(f"    {edit.op}: {text[:150]}{'...' if len(text) > 150 else ''}", "cyan")

    def on_look(self, data: dict[str, Any]) -> None:
        look = Look.model_validate(data["look"])
        self.line(
            f"    look at {look.rounds} x {look.tasks}: "
            f"{look.incumbent_mean:.1%} -> {look.candidate_mean:.1%}, "
            f"{points(look.delta)} points [{points(look.low)}, {points(look.high)}], "
            f"p = {look.p:.2g} (needed {look.level:.2g})"
        )

    def on_decision(self, data: dict[str, Any]) -> None:
        decision = Decision.model_validate(data["decision"])
        mark, style = MARKS[decision.verdict]
        became = f", now {data['version']}" if decision.accepted and data["version"] else ""
        self.line(f"  {mark} {decision.verdict}{became}: {'; '.join(decision.reasons)}", f"bold {style}")
        for finding in decision.regression:
            state = "passed" if finding.passed else "FAILED"
            notes = f" ({'; '.join(finding.notes)})" if finding.notes else ""
            self.line(f"    {finding.suite}: {state}, {finding.checks} checks{notes}")
        if decision.lucky and decision.selection is not None:
            first = decision.selection.looks[0].delta
            self.line(f"    {points(first)} points at first sight: accept-if-higher would have kept it")
        more = decision.selection.rollouts_to_settle if decision.selection else None
        if more:
            self.line(f"    about {more} more rollouts per arm would settle it")
        if data.get("alpha_left") is not None:
            self.line(f"    error budget left: {data['alpha_left']:.3f}")

    def on_stop(self, data: dict[str, Any]) -> None:
        self.line(f"\nStopped: {data['why']}.", "yellow")


def show_diff(screen: Screen, old: str, new: str, old_name: str, new_name: str) -> None:
    for line in diff(old, new, old_name, new_name).splitlines():
        style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
        screen.line(line, style)


def show_report(screen: Screen, report: Report) -> None:
    """The end of a run: decisions in short, the sealed test, the diff, what it cost, what to do next."""
    screen.line("\nResult", "bold")
    screen.line(f"  agent {report.agent}; optimizer {report.optimizer}; sandbox {report.sandbox}")
    show_decisions(screen, report)
    show_test(screen, report)
    if report.seed_text != report.best_text:
        screen.line(f"\nThe diff of SKILL.md, {report.seed_version} to {report.best_version}", "bold")
        show_diff(screen, report.seed_text, report.best_text, report.seed_version, report.best_version)
    cost = f", ${report.cost:.2f}" if report.cost else ""
    screen.line(
        f"\n{report.rollouts} rollouts ({report.rollouts_paid_now} made now, others read from the record), "
        f"{report.tokens:,} tokens{cost}; {report.missing} missing. "
        f"Error budget {report.alpha:.2f}, spent {report.alpha_spent:.3f}."
    )
    name = report.skill
    screen.line(f"Next: skillopt log {name}, skillopt rejected {name}, skillopt adopt {name}")


def show_decisions(screen: Screen, report: Report) -> None:
    for decision in report.decisions:
        mark, style = MARKS[decision.verdict]
        reason = "; ".join(decision.reasons)
        screen.line(f"  {mark} {decision.patch_id} {decision.verdict}: {reason[:140]}", style)


def show_test(screen: Screen, report: Report) -> None:
    test = report.test
    if test is None:
        screen.line("  The task set has no test split: nothing is said about tasks that were not used.")
        return
    again = "" if test.reads <= 1 else f"; reading number {test.reads}, so no longer sealed"
    screen.line(f"  Test split ({report.agent}; {test.rounds} run per task{again}):", "bold")
    screen.line(f"    before {test.seed.version}: {score_text(test.seed)}")
    if test.best is None or test.delta is None:
        screen.line("    no edit was accepted, so there is nothing to compare")
        return
    screen.line(f"    after  {test.best.version}: {score_text(test.best)}")
    low, high = points(test.low or 0.0), points(test.high or 0.0)
    p = f", p = {test.p:.2g}" if test.p is not None else ""
    screen.line(
        f"    difference {points(test.delta)} points, 95 % interval [{low}, {high}] over tasks{p}", "bold"
    )
