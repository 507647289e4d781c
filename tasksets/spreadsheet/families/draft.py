"""A task before it is written to disk, and the answer file that follows from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from openpyxl import Workbook

SAVES = (
    "Save the result as {out}.",
    "Write the finished workbook to {out}.",
    "The result belongs in {out}.",
    "Please hand it back as {out}.",
)
FOLDERS = ("out", "results", "done", "out/final")
NAMES = ("report", "checked", "summary", "result", "monthly", "reviewed")


@dataclass(frozen=True)
class Target:
    """A cell that the task asks for. `write` is what the solution puts there, by default the value."""

    sheet: str
    cell: str
    value: Any
    write: Any = None
    number_format: str | None = None
    formula: bool | None = None
    tolerance: float = 0.005

    @property
    def content(self) -> Any:
        return self.value if self.write is None else self.write

    def check(self) -> dict[str, Any]:
        """The entry of this cell in answer.json."""
        entry: dict[str, Any] = {"sheet": self.sheet, "cell": self.cell, "value": self.value}
        if isinstance(self.value, int | float):
            entry["tolerance"] = self.tolerance
        if self.formula is not None:
            entry["formula"] = self.formula
        if self.number_format is not None:
            entry["number_format"] = self.number_format
        return entry


@dataclass
class Draft:
    """A task: its words, its workbook, the cells to fill. `edit` makes the solution's sheet-level changes."""

    prompt: str
    fixture: str
    output: str
    book: Workbook
    targets: list[Target]
    edit: Callable[[Workbook], None] | None = None
    untouched: bool = True
    sheets: list[str] = field(default_factory=list)

    def answer(self) -> dict[str, Any]:
        """The content of answer.json."""
        answer: dict[str, Any] = {
            "cells": [target.check() for target in self.targets],
            "sheets": self.sheets or self.book.sheetnames,
            "unchanged_files": [self.fixture],
        }
        if self.untouched:
            known = set(self.book.sheetnames)
            spared = [{"sheet": t.sheet, "range": t.cell} for t in self.targets if t.sheet in known]
            answer["untouched"] = {"fixture": self.fixture, "except": spared}
        return answer


def pick(wordings: Sequence[str], number: int) -> str:
    """Wordings in turn, so that every split gets several of them."""
    return wordings[number % len(wordings)]


def output_path(rng: Random, number: int, folder: bool = False) -> str:
    """Where the result shall go: mostly into a folder that does not exist yet."""
    name = f"{rng.choice(NAMES)}.xlsx"
    return f"{rng.choice(FOLDERS)}/{name}" if folder or number % 4 else name


def words(rng: Random, number: int, opening: str, job: str, output: str, *extra: str) -> str:
    """The prompt: what there is, what to do, where to save."""
    return " ".join([opening, job, *filter(None, extra), rng.choice(SAVES).format(out=output)])
