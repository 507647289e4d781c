"""Pieces of scripts that most jobs share: how the list is found, which rows count, what a value is."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from harness.models.apprentice.habits import LESSONS
from harness.models.apprentice.mind import Mind
from harness.models.apprentice.spreadsheet.jobs import Job

SLIP = 0.04
"""How often the last row is lost by a range that ends too early."""

NUMBER_CAREFUL = """
def number(value):
    if isinstance(value, str):
        text = value.replace(",", "").replace("\\u00a0", "").strip()
        try:
            return float(text)
        except ValueError:
            return None
    return value
"""
NUMBER_CARELESS = """
def number(value):
    return value if isinstance(value, (int, float)) else None
"""
TEXT_CAREFUL = """
def text(value):
    return str(value or "").strip().casefold()
"""
TEXT_CARELESS = """
def text(value):
    return value
"""
MERGED = """
covered = {}
for area in sheet.merged_cells.ranges:
    for row in range(area.min_row, area.max_row + 1):
        for column in range(area.min_col, area.max_col + 1):
            covered[row, column] = sheet.cell(area.min_row, area.min_col).value

def at(row, name):
    return covered.get((row, columns[name]), sheet.cell(row, columns[name]).value)
"""
PLAIN = """
def at(row, name):
    return sheet.cell(row, columns[name]).value
"""
COLUMNS = """columns = {}
for row in sheet.iter_rows(max_row=min(15, sheet.max_row)):
    for cell in row:
        if isinstance(cell.value, str):
            columns.setdefault(cell.value.strip(), cell.column)
"""
SUBTOTALS = """
def is_subtotal(row):
    cells = [sheet.cell(row, column).value for column in range(1, columns[{name!r}])]
    return any("total" in value.casefold() for value in cells if isinstance(value, str))

rows = [row for row in rows if not is_subtotal(row)]
"""
HIDDEN = "rows = [row for row in rows if not sheet.row_dimensions[row].hidden]\n"


@dataclass(frozen=True)
class Worker:
    """One rollout's worker: what is asked, what it remembers, what it saw when it looked."""

    job: Job
    mind: Mind
    seen: str = ""
    again: bool = False

    def careful(self, habit: str) -> bool:
        """Whether it acts on the habit of this name."""
        return self.mind.remembers(LESSONS[habit].habit)

    def chance(self, purpose: str) -> Random:
        return self.mind.view.random(purpose)

    @property
    def slips(self) -> bool:
        return not self.job.plain and self.chance("slip").random() < SLIP

    def finds(self, *names: str) -> str:
        """Lines that find the header, the columns and the rows of the list on `sheet`."""
        head = COLUMNS
        if self.again or self.careful("find_header"):
            wanted = "{" + ", ".join(map(repr, names)) + "}"
            head += (
                f"wanted = {wanted}\n"
                "lines = enumerate(sheet.iter_rows(values_only=True), 1)\n"
                "top = next(number for number, line in lines if wanted <= set(line))\n"
            )
        else:
            head += "top = 1\n"
        end = "sheet.max_row" if self.slips else "sheet.max_row + 1"
        return head + f"rows = range(top + 1, {end})\n"

    def counts(self, name: str) -> str:
        """Lines that leave out rows that do not count for a figure of the column `name`."""
        lines = ""
        if self.job.says(r"\b(visible|shown|filter\w*|on the screen|displayed)\b") and self.careful(
            "visible_rows"
        ):
            lines += HIDDEN
        if self.careful("skip_subtotals"):
            lines += SUBTOTALS.format(name=name)
        return lines

    def values(self) -> str:
        """The functions `number`, `text` and `at`."""
        return (
            (NUMBER_CAREFUL if self.careful("text_numbers") else NUMBER_CARELESS)
            + (TEXT_CAREFUL if self.careful("trim_keys") else TEXT_CARELESS)
            + (MERGED if self.careful("merged_fill") else PLAIN)
            + "\n"
        )
