"""A lesson from its words: patterns for a rule and against it that never both match one sentence."""

from __future__ import annotations

from collections.abc import Sequence

from harness.models.apprentice.lesson import Lesson
from harness.models.apprentice.mind import Habit

NOT = r"(?:never|do not|don't|does not|no need to|need not|without|avoid|stop)\b"
"""How a sentence says that something is not to be done."""


def any_of(patterns: Sequence[str]) -> str:
    return "|".join(f"(?:{pattern})" for pattern in patterns)


def lesson(
    name: str,
    untold: float,
    right: Sequence[str],
    wrong: Sequence[str],
    good: tuple[str, ...],
    bad: tuple[str, ...],
    evidence: tuple[str, ...],
    told: float = 0.97,
) -> Lesson:
    """The Lesson; a sentence that matches `wrong` never counts as telling the habit."""
    rule = rf"^(?!.*(?:{any_of(wrong)})).*(?:{any_of(right)})"
    return Lesson(Habit(name, untold, (rule,), (any_of(wrong),), told), good, bad, evidence)
