"""What a gate says: looks, gate results, and the decision on one patch."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

from skillopt.patch import Patch

Verdict = Literal["accepted", "rejected", "undecided", "error"]
Claim = Literal["tasks like these", "these tasks only"]


class Look(BaseModel):
    """One look at the selection split after `rounds` runs per task. Differences are candidate - incumbent."""

    rounds: int
    pairs: int
    tasks: int
    candidate_mean: float
    incumbent_mean: float
    delta: float
    low: float
    high: float
    """A 95 % interval of the difference; over tasks when the claim is about tasks like these."""
    p_within: float
    """Exact within-task permutation: not better on these selection tasks."""
    p_mid: float
    """The same as mid-p, for futility only."""
    p_tasks: float | None
    """t test over task means: not better on tasks like these; None with too few tasks."""
    level: float
    """What the p-value had to reach at this look."""

    @property
    def p(self) -> float:
        return max(self.p_within, self.p_tasks if self.p_tasks is not None else 0.0)


class Selection(BaseModel):
    """The selection gate's finding."""

    verdict: Verdict
    claim: Claim
    looks: list[Look] = []
    reason: str = ""
    rollouts_to_settle: int | None = None


class SuiteFinding(BaseModel):
    """One regression suite's finding. `checks` is how many task comparisons it made."""

    suite: str
    passed: bool
    checks: int
    reasons: list[str] = []
    notes: list[str] = []
    only_missing: bool = False
    """Not passed, but only for want of data: nothing was seen to be worse."""


class ScreenFinding(BaseModel):
    """One fault that the static screen found, with a code from `screen.CODES`."""

    code: str
    detail: str


class Decision(BaseModel):
    """The decision on one patch, with its evidence: what is stored, committed and shown to people."""

    patch_id: str
    base_skill: str
    candidate_skill: str
    patch: Patch
    verdict: Verdict
    accepted: bool
    stage: Literal["screen", "selection", "regression", "done"]
    reasons: list[str] = []
    screen: list[ScreenFinding] = []
    selection: Selection | None = None
    selection_delta: float | None = None
    regression: list[SuiteFinding] = []
    regression_passed: bool | None = None
    alpha_spent: float = 0.0
    rollouts_used: int = 0
    source_failures: list[str] = []

    @property
    def lucky(self) -> bool:
        """The first look was better and the gate refused: accept-if-higher would have kept it."""
        looks = self.selection.looks if self.selection else []
        return bool(looks) and looks[0].delta > 0 and self.stage == "selection" and self.verdict == "rejected"
