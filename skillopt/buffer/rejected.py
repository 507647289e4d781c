"""Rejected patches, read from the recorded decisions. Only the optimizer sees it, and of it only the text."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel

from harness.store import TrajectoryStore
from skillopt.gates.decision import Decision
from skillopt.patch import Edit, Patch


class Rejected(BaseModel):
    """One refused patch, for people."""

    candidate_patch: Patch
    source_failures: list[str]
    selection_score_delta: float | None
    regression_failures: list[str]
    rejection_reason: str
    verdict: str
    stage: str
    lucky: bool
    review_notes: str = ""


def rejected_of(decision: Decision, notes: str = "") -> Rejected:
    failures = [reason for suite in decision.regression if not suite.passed for reason in suite.reasons]
    return Rejected(
        candidate_patch=decision.patch,
        source_failures=decision.source_failures,
        selection_score_delta=decision.selection_delta,
        regression_failures=failures,
        rejection_reason="; ".join(decision.reasons),
        verdict=decision.verdict,
        stage=decision.stage,
        lucky=decision.lucky,
        review_notes=notes,
    )


def load_rejected(store: TrajectoryStore, skill: str, before: str = "") -> list[Rejected]:
    """All refused patches of a skill, oldest first, each patch once (the latest word counts).

    With `before`, those of the runs that started before that one: a resumed run must see what it saw.
    """
    run_ids = [run["id"] for run in store.runs(skill)]
    if before in run_ids:
        run_ids = run_ids[: run_ids.index(before)]
    found: dict[str, Rejected] = {}
    for record in store.decisions(run_ids):
        notes = record.pop("review_notes")
        decision = Decision.model_validate(record)
        found.pop(decision.patch_id, None)
        if decision.verdict in ("rejected", "undecided"):
            found[decision.patch_id] = rejected_of(decision, notes)
    return list(found.values())


def forbidden(rejected: Sequence[Rejected]) -> list[Patch]:
    """The patches that must not be tried again. Undecided ones may be, when there is more evidence."""
    return [item.candidate_patch for item in rejected if item.verdict == "rejected"]


def texts_for_optimizer(refused: Sequence[Rejected], most: int = 40) -> list[str]:
    """What reflection may see: the text of a patch and that it was refused. No scores, stage or reason.

    Rejected and undecided look alike here: which of the two it was comes from selection runs.
    """
    return [
        " TOGETHER WITH ".join(describe(edit) for edit in item.candidate_patch.edits)
        for item in refused[-most:]
    ]


def describe(edit: Edit) -> str:
    text = " ".join((edit.text or edit.anchor).split())[:300]
    return f"{edit.op}: {text}"
