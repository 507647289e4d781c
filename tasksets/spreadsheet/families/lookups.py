"""Tasks that fill a column from a second sheet: keys that are listed twice, keys that are not listed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from random import Random
from typing import Any

from openpyxl import Workbook

from families.draft import Draft, Target, output_path, pick, words
from families.tables import FIRMS, GOODS, new_book, put_table

FILL = (
    'Fill the column "Price" on the sheet "{sheet}" from the sheet "{source}"; the rows match by "Code".',
    'On the sheet "{sheet}" the column "Price" is empty. Look the prices up on the sheet "{source}" by "Code".',
    'Please complete the column "Price" of the sheet "{sheet}": take it from the sheet "{source}", by "Code".',
)
NEWEST = (
    "Where a code is listed more than once, the price with the latest date in it counts.",
    "Some codes have several prices over time; I need the newest one for each.",
    "If a code comes up several times on the list, the most recent price is the valid one.",
)
FIRST = ("Where a code is listed more than once, the first entry on the list counts.",)
MISSING = (
    ("Codes that are not on the list stay empty.", None),
    ('Codes that are not on the list get "n/a".', "n/a"),
    ('Where there is no price, write "unknown".', "unknown"),
    ("Leave the price blank for codes that the list does not have.", None),
)
FILES = (
    ("orders.xlsx", "order lines", "Lines", "Prices"),
    ("requests.xlsx", "purchase requests", "Requests", "Price list"),
    ("repairs.xlsx", "parts used in repairs", "Parts", "Catalogue"),
    ("deliveries.xlsx", "deliveries", "Deliveries", "Tariff"),
)
HEADERS = ["Line", "Code", "Customer", "Quantity", "Price"]


def codes(rng: Random, count: int) -> list[str]:
    return [f"{rng.choice('ABCDK')}{number}" for number in rng.sample(range(110, 990), count)]


def price(rng: Random) -> float:
    return round(rng.uniform(2, 180), 2)


def order_lines(rng: Random, keys: list[str], count: int) -> list[list[Any]]:
    chosen = keys + [rng.choice(keys) for _ in range(max(0, count - len(keys)))]
    rng.shuffle(chosen)
    return [[n, key, rng.choice(FIRMS), rng.randint(1, 40), None] for n, key in enumerate(chosen, start=1)]


def finish(
    rng: Random, number: int, book: Workbook, lines: list[list[Any]], prices: Mapping[str, Any], rule: str
) -> Draft:
    """The draft of a lookup: one target per line, blank where `prices` says None."""
    file, topic, sheet, source = pick_file(number)
    output = output_path(rng, number)
    text = pick(FILL, number).format(sheet=sheet, source=source)
    targets = [Target(sheet, f"E{row}", prices[line[1]]) for row, line in enumerate(lines, start=2)]
    prompt = words(rng, number, f"{file} lists {topic}.", text, output, rule)
    return Draft(prompt, file, output, book, targets)


def pick_file(number: int) -> tuple[str, str, str, str]:
    return FILES[number % len(FILES)]


def two_sheets(rng: Random, number: int, lines: list[list[Any]]) -> Workbook:
    _, _, sheet, source = pick_file(number)
    book, page = new_book(rng, sheet, extras=1)
    put_table(page, HEADERS, lines)
    for row in range(2, len(lines) + 2):
        page.cell(row, 5).number_format = "0.00"
    book.create_sheet(source)
    return book


def duplicate_keys(rng: Random, number: int) -> Draft:
    """Codes are listed several times with different prices; prompt or sheet says which one counts."""
    keys = codes(rng, 10)
    lines = order_lines(rng, keys, rng.randint(14, 24))
    book = two_sheets(rng, number, lines)
    first = number % 4 == 3
    entries = []
    for key in [*keys, *rng.sample(keys, 5), *rng.sample(keys, 3)]:
        entries.append(
            [key, rng.choice(GOODS), date(2023, 1, 1) + timedelta(days=rng.randrange(700)), price(rng)]
        )
    rng.shuffle(entries)
    doubled = next(key for key in keys if sum(entry[0] == key for entry in entries) > 1)
    if max((e for e in entries if e[0] == doubled), key=lambda e: e[2]) is next(
        e for e in entries if e[0] == doubled
    ):
        entries.reverse()
    source = book[pick_file(number)[3]]
    put_table(source, ["Code", "Article", "Valid from", "Price"], entries)
    rule = pick(FIRST if first else NEWEST, number)
    if number % 3 == 2:
        source["F1"], rule = rule, ""
    ordered = list(reversed(entries)) if first else sorted(entries, key=lambda entry: entry[2])
    return finish(rng, number, book, lines, {entry[0]: entry[3] for entry in ordered}, rule)


def missing_keys(rng: Random, number: int) -> Draft:
    """Some codes are not on the list; the prompt says what to do with them."""
    keys = codes(rng, 13)
    lines = order_lines(rng, keys, rng.randint(15, 24))
    book = two_sheets(rng, number, lines)
    rule, instead = MISSING[number % len(MISSING)]
    listed = rng.sample(keys, 9)
    entries = [[key, rng.choice(GOODS), date(2024, 1, 1), price(rng)] for key in sorted(listed)]
    put_table(book[pick_file(number)[3]], ["Code", "Article", "Valid from", "Price"], entries)
    prices: dict[str, Any] = dict.fromkeys(keys, instead)
    prices.update({entry[0]: entry[3] for entry in entries})
    return finish(rng, number, book, lines, prices, rule)
