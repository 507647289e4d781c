"""What a prompt asks for, read from its words: the job, the files, sheets, columns and cells in it."""

from __future__ import annotations

import re
from dataclasses import dataclass

WORKBOOK = re.compile(r"[\w][\w./-]*\.xlsx\b")
QUOTED = re.compile(r'(\b(?:sheet|tab) (?:called |named )?)?"([^"]+)"', re.IGNORECASE)
CELL = re.compile(r"(?<![\w!$:.])([A-Z]{1,2}[1-9]\d{0,2})(?![\w:.]*\w)")
AREA = re.compile(r"\b[A-Z]{1,2}\d+:[A-Z]{1,2}\d+\b")
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July",
    "August", "September", "October", "November", "December",
)  # fmt: skip
MONTH = re.compile(rf"\b({'|'.join(MONTHS)}) (20\d\d)\b")
PERCENT = re.compile(r"(\d+(?:\.\d+)?) ?%")
CHANGE = re.compile(r"\b(?:to|should be) (-?\d+(?:\.\d+)?)(?=[.,]?(?:\s|$))")

CLUES: tuple[tuple[str, str], ...] = (
    ("rename", r"\brename the sheet\b"),
    ("new_sheet", r'\b(add|make|create|need)\b[^."]*\bsheet "'),
    ("sum_range", r"\bsum of [A-Z]+\d+:[A-Z]+\d+"),
    ("correct", r"\b(change|correct|set)\b.*\bto -?\d"),
    ("share", r"\bshare of\b"),
    ("average", r"\b(average|mean)\b"),
    ("month", MONTH.pattern),
    ("lookup", r'\bby "'),
    ("cents", r"\d ?%.*\b(cents?|round)"),
    ("rate", r'" times the rate'),
    ("product", r'" times "'),
    ("plus", r'" plus \d'),
    ("write", r'\b(write|enter|put) "[^"]+" (in|into) (cell )?[A-Z]+\d'),
    ("total", r"\b(total|sum|add up|how much|come to)\b"),
)
"""Tried in order: the first that is found names the job."""

NEEDS = {
    "rename": 1, "new_sheet": 1, "lookup": 2, "share": 3, "average": 1, "month": 2, "cents": 2, "rate": 2,
    "product": 3, "plus": 2, "write": 1, "total": 1,
}  # fmt: skip
"""How many quoted names, other than sheets, a job needs."""


@dataclass(frozen=True)
class Job:
    """A job as understood. `names` are the quoted words that are not sheets, in order."""

    kind: str
    prompt: str
    source: str
    output: str
    sheets: tuple[str, ...]
    names: tuple[str, ...]
    cells: tuple[str, ...]

    @property
    def sheet(self) -> str:
        """The sheet to work on; a job that adds a sheet names the new one first."""
        return self.sheets[1 if self.kind == "new_sheet" else 0]

    @property
    def plain(self) -> bool:
        """Jobs so simple that even a hasty worker makes no slip."""
        return self.kind in {"rename", "sum_range", "correct", "write", "new_sheet"}

    def says(self, pattern: str) -> bool:
        return re.search(pattern, self.prompt, re.IGNORECASE) is not None


def distinct(items: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))


def kind_of(text: str) -> str | None:
    return next((kind for kind, clue in CLUES if re.search(clue, text, re.IGNORECASE)), None)


def read_job(prompt: str) -> Job | None:
    """The job of a prompt, or None when it is not a spreadsheet job of a known kind."""
    paths = distinct(WORKBOOK.findall(prompt))
    quoted = QUOTED.findall(prompt)
    sheets = distinct([text for before, text in quoted if before])
    kind = kind_of(WORKBOOK.sub("", prompt))
    if not paths or not sheets or kind is None or len(paths) > 2:
        return None
    job = Job(
        kind=kind,
        prompt=prompt,
        source=paths[0],
        output=paths[-1],
        sheets=sheets,
        names=distinct([text for before, text in quoted if not before]),
        cells=distinct(CELL.findall(WORKBOOK.sub("", prompt))),
    )
    return job if complete(job) else None


def complete(job: Job) -> bool:
    """Whether everything that the job needs was found in the prompt."""
    needs_cell = job.kind in {"total", "average", "share", "month", "write", "correct", "rate", "sum_range"}
    needs_second = job.kind in {"new_sheet", "lookup"}
    return (
        len(job.names) >= NEEDS.get(job.kind, 0)
        and (bool(job.cells) or not needs_cell)
        and (len(job.sheets) > 1 or not needs_second)
        and (job.kind != "correct" or CHANGE.search(job.prompt) is not None)
    )
