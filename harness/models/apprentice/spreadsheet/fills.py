"""Scripts that fill a column."""

from __future__ import annotations

import re

from harness.models.apprentice.spreadsheet.jobs import PERCENT
from harness.models.apprentice.spreadsheet.parts import Worker

LETTERS = "from openpyxl.utils import get_column_letter\n\n"
INSTEAD = re.compile(r'\b(?:gets?|write|say|show|put) "([^"]+)"', re.IGNORECASE)


def lookup(worker: Worker) -> str:
    """A column from a second sheet, by a key."""
    fill, key = worker.job.names[:2]
    return (
        worker.finds(fill, key)
        + worker.values()
        + read_list(worker, fill, key)
        + f"for row in rows:\n    key = text(at(row, {key!r}))\n"
        + f"    sheet.cell(row, columns[{fill!r}]).value = {found(worker)}\n"
    )


def read_list(worker: Worker, fill: str, key: str) -> str:
    """Lines that read the price list; which entry of several counts depends on the rule, if it is minded."""
    rule = entry_rule(worker) if worker.careful("duplicate_keys") else "first"
    body = {
        "first": "    prices.setdefault(key, value)\n",
        "last": "    prices[key] = value\n",
        "newest": (
            "    day = next(cell for cell in line if hasattr(cell, \"year\"))\n"
            "    if key not in since or day > since[key]:\n        since[key], prices[key] = day, value\n"
        ),
    }[rule]  # fmt: skip
    return (
        f"source = book[{worker.job.sheets[1]!r}]\n"
        "lines = list(source.iter_rows(values_only=True))\n"
        f"head = next(n for n, line in enumerate(lines) if {key!r} in line)\n"
        f"key_at, value_at = lines[head].index({key!r}), lines[head].index({fill!r})\n"
        "prices, since = {}, {}\n"
        "for line in lines[head + 1:]:\n"
        "    if line[key_at] is None:\n        continue\n"
        f"    key, value = text(line[key_at]), line[value_at]\n{body}"
    )


def entry_rule(worker: Worker) -> str:
    """first, last or newest, as the prompt or the sheet says."""
    text = f"{worker.job.prompt}\n{worker.seen}"
    if re.search(r"\b(latest|newest|most recent)\b", text):
        return "newest"
    return "last" if re.search(r"\blast (entry|one|line|price)\b", text) else "first"


def found(worker: Worker) -> str:
    """The expression for the value of a key, listed or not."""
    if not worker.careful("missing_keys"):
        return "prices.get(key, 0)"
    instead = INSTEAD.search(worker.job.prompt)
    return f"prices.get(key, {instead.group(1)!r})" if instead else "prices.get(key)"


def product(worker: Worker) -> str:
    """One column times another, as formulas or as figures."""
    fill, one, other = worker.job.names[:3]
    lines = worker.finds(fill, one, other)
    if worker.careful("write_formulas"):
        return (
            LETTERS
            + lines
            + f"a, b = (get_column_letter(columns[name]) for name in ({one!r}, {other!r}))\n"
            + "for row in rows:\n"
            + f'    sheet.cell(row, columns[{fill!r}]).value = f"={{a}}{{row}}*{{b}}{{row}}"\n'
        )
    return (
        lines
        + worker.values()
        + f"for row in rows:\n    value = number(at(row, {one!r})) * number(at(row, {other!r}))\n"
        f"    sheet.cell(row, columns[{fill!r}]).value = round(value, 2)\n"
    )


def rate(worker: Worker) -> str:
    """Formulas that all use one cell."""
    fill, net = worker.job.names[:2]
    letter, row = re.match(r"([A-Z]+)(\d+)", worker.job.cells[0]).groups()  # type: ignore[union-attr]
    other = f"'{worker.job.sheets[1]}'!" if len(worker.job.sheets) > 1 else ""
    if worker.careful("absolute_refs"):
        reference, start = f"{other}${letter}${row}", ""
    else:
        reference, start = f"{other}{letter}{{rate_row + row - rows[0]}}", f"rate_row = {row}\n"
    return (
        LETTERS + worker.finds(fill, net) + start + f"net = get_column_letter(columns[{net!r}])\n"
        f'for row in rows:\n    sheet.cell(row, columns[{fill!r}]).value = f"={{net}}{{row}}*{reference}"\n'
    )


def percent_of(worker: Worker) -> str:
    match = PERCENT.search(worker.job.prompt)
    assert match is not None
    return match.group(1)


def plus(worker: Worker) -> str:
    """A column and some percent, in the look of the column it comes from."""
    fill, net = worker.job.names[:2]
    lines = (
        f"for row in rows:\n    cell = sheet.cell(row, columns[{fill!r}])\n"
        f"    cell.value = round(number(at(row, {net!r})) * (100 + {percent_of(worker)}) / 100, 4)\n"
    )
    if worker.careful("number_formats"):
        lines += f"    cell.number_format = sheet.cell(row, columns[{net!r}]).number_format\n"
    return worker.finds(fill, net) + worker.values() + lines


def cents(worker: Worker) -> str:
    """A percentage of a column in whole cents."""
    fill, net = worker.job.names[:2]
    percent = percent_of(worker)
    if worker.careful("round_half_up"):
        start = "from decimal import ROUND_HALF_UP, Decimal\n\n"
        value = (
            f'float((Decimal(str(net)) * Decimal("{percent}") / 100)'
            '.quantize(Decimal("0.01"), ROUND_HALF_UP))'
        )
    else:
        start, value = "", f"round(net * {percent} / 100, 2)"
    return (
        start
        + worker.finds(fill, net)
        + worker.values()
        + f"for row in rows:\n    net = number(at(row, {net!r}))\n"
        f"    sheet.cell(row, columns[{fill!r}]).value = {value}\n"
    )
