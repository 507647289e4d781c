"""Merging and ranking the edits of many reflections, and the schedule of the edit budget."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Literal

from skillopt.patch import Edit, Patch

Schedule = Literal["constant", "cosine", "linear"]
SAME_RULE = 0.6
WORD = re.compile(r"[a-z0-9]+")


def words(text: str) -> frozenset[str]:
    return frozenset(WORD.findall(text.lower()))


def similarity(left: str, right: str) -> float:
    """Share of common words (Jaccard): 1 for the same words, whatever their order and punctuation."""
    a, b = words(left), words(right)
    return len(a & b) / len(a | b) if a | b else 1.0


def same_rule(left: Edit, right: Edit) -> bool:
    if "delete" in (left.op, right.op):
        return left.op == right.op and left.anchor == right.anchor
    return similarity(left.text, right.text) >= SAME_RULE


def merge(edits: Sequence[Edit]) -> list[Edit]:
    """One edit for each rule, with the support of all that said it, most support first.

    Of several wordings the shortest is kept. Ties keep the order in which they came.
    """
    groups: list[list[Edit]] = []
    for edit in edits:
        for group in groups:
            if same_rule(group[0], edit):
                group.append(edit)
                break
        else:
            groups.append([edit])
    merged = [combine(group) for group in groups]
    return sorted(merged, key=lambda edit: -edit.support)


def combine(group: Sequence[Edit]) -> Edit:
    shortest = min(group, key=lambda edit: len(edit.text))
    sources = dict.fromkeys(source for edit in group for source in edit.sources)
    return shortest.model_copy(
        update={"support": sum(edit.support for edit in group), "sources": tuple(sources)}
    )


def edit_budget(step: int, steps: int, most: int, fewest: int, schedule: Schedule) -> int:
    """How many edits a patch of this step may hold, from `most` at the first step to `fewest` at the last."""
    if schedule == "constant" or steps <= 1:
        return most
    place = step / (steps - 1)
    share = (1 + math.cos(math.pi * place)) / 2 if schedule == "cosine" else 1 - place
    return round(fewest + (most - fewest) * share)


def make_patches(edits: Sequence[Edit], budget: int, count: int) -> list[Patch]:
    """At most `count` patches: the best supported edits together, then the others, at most `budget` each.

    Edits that only one reflection asked for never ride along with well supported ones: each is a patch of
    its own, so that it has to stand the test alone.
    """
    supported = [edit for edit in edits if edit.support > 1]
    single = [edit for edit in edits if edit.support == 1]
    chunks = [supported[start : start + budget] for start in range(0, len(supported), budget)]
    chunks += [[edit] for edit in single]
    return [Patch(edits=tuple(chunk)) for chunk in chunks[:count]]
