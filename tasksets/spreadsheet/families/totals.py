"""Tasks that ask for one figure from a list: a total, a total of some rows, an average, a share."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

from openpyxl.styles import Font
from openpyxl.worksheet.worksheet import Worksheet

from families.draft import Draft, Target, output_path, pick, words
from families.tables import (
    MONEY,
    TARGET_CELL,
    Row,
    Theme,
    make_rows,
    new_book,
    opening,
    put_label,
    put_line,
    put_table,
    theme_of,
)  # fmt: skip

TOTAL = (
    'Add up the column "{column}" on the sheet "{sheet}" and write the total into cell {cell}.',
    'What does the column "{column}" on the sheet "{sheet}" come to? Put the sum into {cell} of that sheet.',
    'I need the total of "{column}" (sheet "{sheet}") in cell {cell}.',
    'Please enter the grand total of "{column}" from the sheet "{sheet}" into cell {cell}.',
)
TOTAL_WHERE = (
    'Add up "{column}" for the rows whose "{group}" is "{value}" on the sheet "{sheet}"; it goes into {cell}.',
    'On the sheet "{sheet}", how much "{column}" belongs to the "{group}" "{value}"? Write it into cell {cell}.',
    'I need the sum of "{column}" for the "{group}" "{value}" (sheet "{sheet}") in cell {cell}.',
    'Please total "{column}" over all lines of "{group}" "{value}" on the sheet "{sheet}", in cell {cell}.',
)
TOTAL_MONTH = (
    'How much "{column}" on the sheet "{sheet}" falls in {month}, going by "{date}"? Write it into cell {cell}.',
    'Add up "{column}" for {month} (the column "{date}" of the sheet "{sheet}" tells when) into cell {cell}.',
    'I need the sum of "{column}" of {month} by "{date}" from the sheet "{sheet}" in cell {cell}.',
)
AVERAGE = (
    'Work out the average of "{column}" on the sheet "{sheet}" and write it into cell {cell}.',
    'What is the mean "{column}" on the sheet "{sheet}"? Put it into {cell}.',
    'I need the average "{column}" per entry (sheet "{sheet}") in cell {cell}.',
)
SHARE = (
    'Which share of all "{column}" on the sheet "{sheet}" goes to the "{group}" "{value}"? Put it into cell {cell}.',
    'Write the share of "{column}" that falls to "{group}" "{value}" (sheet "{sheet}") into cell {cell}.',
    'In {cell} of the sheet "{sheet}" I need the share of "{column}" for the "{group}" "{value}".',
)
SHOWN = (
    "Only the rows that are shown at present count.",
    "The list is filtered; I want the figure for what the filter leaves visible.",
    "Go by the rows I can see on the screen, the others are filtered out on purpose.",
)
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September")


def setting(rng: Random, theme: Theme, count: int, label: str) -> tuple[Any, Worksheet, list[Row]]:
    book, sheet = new_book(rng, theme.sheet, extras=rng.choice((0, 1, 2, 2)))
    rows = make_rows(rng, theme, count)
    put_label(sheet, label)
    return book, sheet, rows


def finish(
    rng: Random, number: int, theme: Theme, book: Any, job: str, value: float, *extra: str,
    cell_format: str = MONEY, tolerance: float = 0.005, folder: bool = False,
) -> Draft:  # fmt: skip
    """The draft of a task with one target cell beside the list."""
    output = output_path(rng, number, folder)
    book[theme.sheet][TARGET_CELL].number_format = cell_format
    prompt = words(rng, number, opening(theme, number), job, output, *extra)
    target = Target(theme.sheet, TARGET_CELL, value, tolerance=tolerance)
    return Draft(prompt, theme.file, output, book, [target])


def job(wordings: tuple[str, ...], number: int, theme: Theme, **more: str) -> str:
    return pick(wordings, number).format(
        column=theme.amount_name, group=theme.group_name, date=theme.date_name, sheet=theme.sheet,
        cell=TARGET_CELL, **more,
    )  # fmt: skip


def total_of(rows: list[Row]) -> float:
    return round(sum(round(row.amount * 100) for row in rows) / 100, 2)


def text_numbers(rng: Random, number: int) -> Draft:
    """Some amounts were typed or pasted as text."""
    theme = theme_of(number, 0)
    book, sheet, rows = setting(rng, theme, rng.randint(14, 26), "Total")
    rows = [replace(row, amount=round(row.amount * 2.5, 2)) for row in rows]
    put_table(sheet, theme.headers, [row.cells() for row in rows])
    shapes = ("{:.2f}", "{:,.2f}", " {:.2f}", "{:,.2f} ")
    for place in rng.sample(range(len(rows)), rng.randint(4, 8)):
        cell = sheet.cell(place + 2, 5)
        cell.value, cell.number_format = rng.choice(shapes).format(rows[place].amount), "@"
    return finish(rng, number, theme, book, job(TOTAL, number, theme), total_of(rows))


def date_order(rng: Random, number: int) -> Draft:
    """Dates are text; the prompt or a note says whether the day or the month comes first."""
    theme = theme_of(number, 1)
    book, sheet, rows = setting(rng, theme, rng.randint(22, 34), "Month total")
    day_first = number % 4 != 3
    pattern = "%d/%m/%Y" if day_first else "%m/%d/%Y"
    lines = [row.cells() for row in rows]
    for line, row in zip(lines, rows, strict=True):
        line[1] = row.day.strftime(pattern)
    put_table(sheet, theme.headers, lines)
    low = [month for month in range(1, 6) if gap(rows, month) > 1]
    month = rng.choice(low)
    order = "day/month/year" if day_first else "month/day/year"
    told = "" if number % 2 else f"The dates are written {order}."
    if not told:
        sheet["G4"] = f"Dates on this sheet: {order}"
    text = job(TOTAL_MONTH, number, theme, month=f"{MONTHS[month - 1]} 2024")
    value = total_of([row for row in rows if row.day.month == month])
    return finish(rng, number, theme, book, text, value, told)


def gap(rows: list[Row], month: int) -> float:
    """How far a month's total is off when day and month are confused."""
    right = sum(row.amount for row in rows if row.day.month == month)
    confused = sum(
        row.amount for row in rows if month == (row.day.day if row.day.day <= 12 else row.day.month)
    )
    return abs(right - confused) if right else 0.0


def visible_rows(rng: Random, number: int) -> Draft:
    """A filter hides some rows, and the prompt asks for what is shown."""
    theme = theme_of(number, 2)
    book, sheet, rows = setting(rng, theme, rng.randint(16, 28), "Shown total")
    put_table(sheet, theme.headers, [row.cells() for row in rows])
    hidden = set(rng.sample(theme.groups, 2))
    if not {row.group for row in rows} - hidden:
        hidden.pop()
    sheet.auto_filter.ref = f"A1:E{len(rows) + 1}"
    sheet.auto_filter.add_filter_column(2, [group for group in theme.groups if group not in hidden])
    for place, row in enumerate(rows, start=2):
        sheet.row_dimensions[place].hidden = row.group in hidden
    value = total_of([row for row in rows if row.group not in hidden])
    return finish(rng, number, theme, book, job(TOTAL, number, theme), value, pick(SHOWN, number))


def skip_subtotals(rng: Random, number: int) -> Draft:
    """The list has a subtotal below each group."""
    theme = theme_of(number, 3)
    book, sheet, rows = setting(rng, theme, rng.randint(14, 24), "Grand total")
    word = pick(("Subtotal {}", "Total {}", "{} subtotal"), number)
    lines: list[list[Any]] = []
    for group in theme.groups:
        members = [row for row in rows if row.group == group]
        lines += [row.cells() for row in members]
        if members:
            lines.append([word.format(group), None, None, None, total_of(members)])
    put_table(sheet, theme.headers, lines)
    for place, line in enumerate(lines, start=2):
        if line[1] is None:
            sheet.cell(place, 1).font = sheet.cell(place, 5).font = Font(bold=True)
    return finish(rng, number, theme, book, job(TOTAL, number, theme), total_of(rows))


def find_header(rng: Random, number: int) -> Draft:
    """A title block with figures of its own stands above the list."""
    theme = theme_of(number, 4)
    book, sheet, rows = setting(rng, theme, rng.randint(12, 24), "Total")
    top = rng.randint(4, 7)
    put_table(sheet, theme.headers, [row.cells() for row in rows], top)
    sheet["A1"] = f"{theme.sheet} 2024"
    sheet["A1"].font = Font(bold=True, size=14)
    put_line(
        sheet, 2, ["Printed on", rows[-1].day, None, "Plan for the year", float(rng.randint(8, 30) * 500)]
    )
    put_line(sheet, 3, [None, None, None, "Last year", round(rng.uniform(4000, 9000), 2)])
    return finish(rng, number, theme, book, job(TOTAL, number, theme), total_of(rows))


def merged_fill(rng: Random, number: int) -> Draft:
    """The group stands once, in a cell merged over its rows."""
    theme = theme_of(number, 5)
    book, sheet, rows = setting(rng, theme, rng.randint(15, 24), "Group total")
    rows = [row for group in theme.groups for row in rows if row.group == group]
    lines = [[row.group, row.key, row.day, row.who, row.amount] for row in rows]
    headers = [theme.group_name, theme.id_name, theme.date_name, theme.who_name, theme.amount_name]
    put_table(sheet, headers, lines)
    sizes = {group: sum(row.group == group for row in rows) for group in theme.groups}
    start = 2
    for size in filter(None, sizes.values()):
        if size > 1:
            sheet.merge_cells(start_row=start, end_row=start + size - 1, start_column=1, end_column=1)
        start += size
    value = rng.choice([group for group, size in sizes.items() if size > 1])
    total = total_of([row for row in rows if row.group == value])
    return finish(rng, number, theme, book, job(TOTAL_WHERE, number, theme, value=value), total)


def trim_keys(rng: Random, number: int) -> Draft:
    """The same group is typed with other spaces and capitals."""
    theme = theme_of(number, 6)
    book, sheet, rows = setting(rng, theme, rng.randint(16, 26), "Group total")
    put_table(sheet, theme.headers, [row.cells() for row in rows])
    shapes = (lambda t: t + " ", str.upper, lambda t: " " + t, str.lower, lambda t: t + "  ")
    counts = {group: [i for i, row in enumerate(rows) if row.group == group] for group in theme.groups}
    value = max(counts, key=lambda group: len(counts[group]))
    places = counts[value]
    for turn, place in enumerate(rng.sample(places, max(1, len(places) // 2))):
        sheet.cell(place + 2, 3).value = shapes[turn % len(shapes)](value)
    total = total_of([row for row in rows if row.group == value])
    return finish(rng, number, theme, book, job(TOTAL_WHERE, number, theme, value=value), total)


def blank_not_zero(rng: Random, number: int) -> Draft:
    """Some entries are blank, which is not the same as nought."""
    theme = theme_of(number, 7)
    book, sheet, rows = setting(rng, theme, rng.randint(14, 24), "Average")
    amounts: list[float | None] = [row.amount for row in rows]
    places = rng.sample(range(len(rows)), 6)
    for turn, place in enumerate(places):
        amounts[place] = None if turn < 4 else 0.0
    put_table(sheet, theme.headers, [[*row.cells()[:4], amounts[i]] for i, row in enumerate(rows)])
    known = [amount for amount in amounts if amount is not None]
    return finish(rng, number, theme, book, job(AVERAGE, number, theme), round(sum(known) / len(known), 6))


def percent_fraction(rng: Random, number: int) -> Draft:
    """The target cell shows percentages, so a share belongs there as a fraction."""
    theme = theme_of(number, 3)
    book, sheet, rows = setting(rng, theme, rng.randint(14, 24), "Share")
    put_table(sheet, theme.headers, [row.cells() for row in rows])
    value = rng.choice(sorted({row.group for row in rows}))
    part = total_of([row for row in rows if row.group == value])
    text = job(SHARE, number, theme, value=value)
    share = round(part / total_of(rows), 8)
    return finish(rng, number, theme, book, text, share, cell_format="0.0%", tolerance=0.00051)


def output_place(rng: Random, number: int) -> Draft:
    """A plain total; the result has a place of its own and the original must survive."""
    theme = theme_of(number, 0)
    book, sheet, rows = setting(rng, theme, rng.randint(12, 20), "Total")
    put_table(sheet, theme.headers, [row.cells() for row in rows])
    keep = pick(
        (
            "{file} itself must stay as it is.",
            "I still need {file} unchanged.",
            "Others work with {file} too.",
        ),
        number,
    ).format(file=theme.file)
    text = job(TOTAL, number, theme)
    return finish(rng, number, theme, book, text, total_of(rows), keep, folder=True)
