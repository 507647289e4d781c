"""What an optimizer could learn about one habit: sentences for it, sentences against it, and its traces."""

from __future__ import annotations

from dataclasses import dataclass

from harness.models.apprentice.mind import Habit


@dataclass(frozen=True)
class Lesson:
    """`good` sentences tell the habit, `bad` ones tell its opposite; `evidence` are patterns (case ignored)
    that show in the record of a run that lacked the habit."""

    habit: Habit
    good: tuple[str, ...]
    bad: tuple[str, ...]
    evidence: tuple[str, ...]
