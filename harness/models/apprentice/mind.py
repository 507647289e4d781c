"""Which good habits the apprentice remembers in one rollout, given what the skill's text tells it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from harness.models.apprentice.view import View

SENTENCE = re.compile(r"(?<=[.!?;:])\s+|\n+")
BLOAT_WORDS = 900
FORGETS_PER_1000_WORDS = 0.25


@dataclass(frozen=True)
class Habit:
    """A thing a careful worker does. `untold` and `told` are the chances that it is done.

    `right` and `wrong` are patterns, tried on each sentence of the skill text (case ignored). A skill that
    says both is contradictory, and the habit becomes a coin flip.
    """

    name: str
    untold: float
    right: tuple[str, ...]
    wrong: tuple[str, ...] = ()
    told: float = 0.96
    misled: float = 0.03


@dataclass
class Mind:
    """One rollout's memory. Draws are made once per habit and do not depend on the order of questions."""

    view: View
    drawn: dict[str, bool] = field(default_factory=dict)

    def remembers(self, habit: Habit) -> bool:
        """Whether the apprentice acts on this habit in this rollout."""
        if habit.name not in self.drawn:
            chance = chance_of(habit, self.view.skill)
            self.drawn[habit.name] = self.view.random(habit.name).random() < chance
        return self.drawn[habit.name]


def says(skill: str, patterns: Sequence[str]) -> bool:
    """Whether any sentence of the skill matches any of the patterns."""
    return any(
        re.search(pattern, sentence, re.IGNORECASE)
        for sentence in SENTENCE.split(skill)
        for pattern in patterns
    )


def chance_of(habit: Habit, skill: str) -> float:
    """The chance that the habit is followed; long skills are read with less attention."""
    right, wrong = says(skill, habit.right), says(skill, habit.wrong)
    if right and wrong:
        chance = 0.5
    elif wrong:
        chance = habit.misled
    else:
        chance = habit.told if right else habit.untold
    excess = max(0, len(skill.split()) - BLOAT_WORDS)
    return chance * max(0.2, 1 - FORGETS_PER_1000_WORDS * excess / 1000)
