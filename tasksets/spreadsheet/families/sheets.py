"""Tasks about sheets, and the plain ones that a careful worker never fails."""

from __future__ import annotations

from random import Random

from openpyxl import Workbook
from openpyxl.worksheet.worksheet import Worksheet

from families.draft import Draft, Target, output_path, pick, words
from families.tables import Theme, make_rows, new_book, opening, put_table, theme_of

NEW_SHEET = (
    'Add a sheet "{new}" behind all others; write "Total" into A1 and the sum of "{column}" of the sheet "{sheet}" into B1.',
    'Please make a new sheet "{new}" as the last one, with "Total" in A1 and the sum of "{column}" of the sheet "{sheet}" in B1.',
    'I need a further sheet "{new}" at the end: A1 says "Total", B1 holds the sum of "{column}" of the sheet "{sheet}".',
)
SUM = (
    'Put the sum of {range} of the sheet "{sheet}" into cell {cell}.',
    'Write the sum of {range} into cell {cell} of the sheet "{sheet}".',
    'Cell {cell} of the sheet "{sheet}" should hold the sum of {range}.',
)
RENAME = (
    'Rename the sheet "{sheet}" to "{new}".',
    'Please rename the sheet "{sheet}" to "{new}", nothing else.',
)
WRITE = (
    'Write "{text}" into cell {cell} of the sheet "{sheet}".',
    'Please enter "{text}" into cell {cell} of the sheet "{sheet}".',
)
CORRECT = (
    'The value in cell {cell} of the sheet "{sheet}" is wrong; change it to {value}.',
    'Please correct cell {cell} of the sheet "{sheet}" to {value}.',
    'Set cell {cell} of the sheet "{sheet}" to {value}.',
)


def plain_list(rng: Random, number: int) -> tuple[Theme, Workbook, Worksheet, int]:
    """A list with formulas in a sixth column, a hidden row and two other sheets; returns its last row too."""
    theme = theme_of(number, 1)
    book, sheet = new_book(rng, theme.sheet, extras=2)
    rows = make_rows(rng, theme, rng.randint(12, 20))
    lines = [[*row.cells(), f"=E{place}*2"] for place, row in enumerate(rows, start=2)]
    put_table(sheet, [*theme.headers, "Doubled"], lines)
    sheet.row_dimensions[rng.randint(4, 9)].hidden = True
    return theme, book, sheet, len(rows) + 1


def draft(rng: Random, number: int, theme: Theme, book: Workbook, text: str, targets: list[Target]) -> Draft:
    output = output_path(rng, number)
    return Draft(words(rng, number, opening(theme, number), text, output), theme.file, output, book, targets)


def amounts(sheet: Worksheet, first: int, last: int) -> float:
    return round(sum(round(sheet.cell(row, 5).value * 100) for row in range(first, last + 1)) / 100, 2)


def keep_sheets(rng: Random, number: int) -> Draft:
    """A new sheet comes last; all others stay, in their order."""
    theme, book, sheet, last = plain_list(rng, number)
    new = rng.choice(("Summary", "Result", "Figures"))
    text = pick(NEW_SHEET, number).format(new=new, column=theme.amount_name, sheet=theme.sheet)
    targets = [Target(new, "A1", "Total"), Target(new, "B1", amounts(sheet, 2, last))]
    made = draft(rng, number, theme, book, text, targets)
    made.sheets = [*book.sheetnames, new]
    made.edit = lambda solution: solution.create_sheet(new)
    return made


def sum_range(rng: Random, number: int) -> Draft:
    """A sum over a range that the prompt names."""
    theme, book, sheet, last = plain_list(rng, number)
    area, cell = f"E2:E{last}", f"E{last + 2}"
    text = pick(SUM, number).format(range=area, sheet=theme.sheet, cell=cell)
    target = Target(theme.sheet, cell, amounts(sheet, 2, last), f"=SUM({area})")
    return draft(rng, number, theme, book, text, [target])


def rename_sheet(rng: Random, number: int) -> Draft:
    """A sheet gets another name; the other sheets keep theirs."""
    theme, book, sheet, last = plain_list(rng, number)
    new = rng.choice(("Archive 2024", "Final", "List"))
    book.remove(book["Overview"])
    text = pick(RENAME, number).format(sheet=theme.sheet, new=new)
    targets = [
        Target(new, f"{column}{row}", sheet[f"{column}{row}"].value) for row in (2, last) for column in "ACE"
    ]
    targets.append(Target(new, "F3", round(sheet["E3"].value * 2, 2), sheet["F3"].value, formula=True))
    made = draft(rng, number, theme, book, text, targets)
    made.sheets = [new if name == theme.sheet else name for name in book.sheetnames]
    made.untouched = False

    def rename(solution: Workbook) -> None:
        solution[theme.sheet].title = new

    made.edit = rename
    return made


def write_text(rng: Random, number: int) -> Draft:
    """A remark in one cell."""
    theme, book, _, _ = plain_list(rng, number)
    remark = rng.choice(("Checked", "Approved", "Draft only"))
    text = pick(WRITE, number).format(text=remark, cell="H1", sheet=theme.sheet)
    return draft(rng, number, theme, book, text, [Target(theme.sheet, "H1", remark)])


def correct_value(rng: Random, number: int) -> Draft:
    """One wrong figure is set right."""
    theme, book, _, last = plain_list(rng, number)
    cell, value = f"E{rng.randint(3, last)}", rng.randint(100, 900)
    text = pick(CORRECT, number).format(cell=cell, value=value, sheet=theme.sheet)
    return draft(rng, number, theme, book, text, [Target(theme.sheet, cell, value)])
