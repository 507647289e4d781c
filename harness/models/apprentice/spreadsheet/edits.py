"""Scripts for the plain jobs, and how a script begins and ends."""

from __future__ import annotations

import posixpath

from harness.models.apprentice.spreadsheet.figures import add_up
from harness.models.apprentice.spreadsheet.jobs import AREA, CHANGE
from harness.models.apprentice.spreadsheet.parts import Worker


def opening(worker: Worker) -> str:
    option = "" if worker.careful("keep_formulas") else ", data_only=True"
    return (
        "from pathlib import Path\n\nfrom openpyxl import load_workbook\n\n"
        f"book = load_workbook({worker.job.source!r}{option})\nsheet = book[{worker.job.sheet!r}]\n"
    )


def ending(worker: Worker) -> str:
    """Save: where it was asked for, or, by a careless worker, elsewhere."""
    lines = ""
    if not worker.careful("keep_rows"):
        lines += (
            "hidden = [row for row, size in sheet.row_dimensions.items() if size.hidden]\n"
            "for row in sorted(hidden, reverse=True):\n    sheet.delete_rows(row)\n"
        )
    if not worker.careful("keep_sheets"):
        lines += stray_sheets(worker)
    place = worker.job.output if worker.careful("output_place") else wrong_place(worker)
    if posixpath.dirname(place):
        lines += f"Path({posixpath.dirname(place)!r}).mkdir(parents=True, exist_ok=True)\n"
    return lines + f'book.save({place!r})\nprint("saved", {place!r})\n'


def stray_sheets(worker: Worker) -> str:
    """What a careless worker does to the other sheets."""
    if worker.job.kind == "new_sheet" and worker.chance("sheets").random() < 0.5:
        return "book.move_sheet(new, -len(book.sheetnames))\n"
    kept = "new.title" if worker.job.kind == "new_sheet" else "sheet.title"
    return f"for name in book.sheetnames:\n    if name != {kept}:\n        book.remove(book[name])\n"


def wrong_place(worker: Worker) -> str:
    name = posixpath.basename(worker.job.output)
    moved = name != worker.job.output and worker.chance("place").random() < 0.5
    return name if moved else worker.job.source


def rename(worker: Worker) -> str:
    return f"sheet.title = {worker.job.names[0]!r}\n"


def correct(worker: Worker) -> str:
    match = CHANGE.search(worker.job.prompt)
    assert match is not None
    return f'sheet["{worker.job.cells[0]}"] = {match.group(1)}\n'


def write(worker: Worker) -> str:
    return f'sheet["{worker.job.cells[0]}"] = {worker.job.names[0]!r}\n'


def sum_range(worker: Worker) -> str:
    match = AREA.search(worker.job.prompt)
    assert match is not None
    return f'sheet["{worker.job.cells[0]}"] = "=SUM({match.group(0)})"\n'


def new_sheet(worker: Worker) -> str:
    """A new last sheet with a label and a total."""
    new = worker.job.sheets[0]
    label, column = worker.job.names[:2] if len(worker.job.names) > 1 else ("Total", worker.job.names[0])
    return (
        f"new = book.create_sheet({new!r})\n"
        + worker.finds(column)
        + worker.counts(column)
        + worker.values()
        + f'new["A1"] = {label!r}\nnew["B1"] = round({add_up(column)}, 2)\n'
    )
