"""Tasks that fill a column from other columns: formulas, a rate in one cell, formats, cents."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from random import Random
from typing import Any

from families.draft import Draft, Target, output_path, pick, words
from families.tables import GOODS, MONEY, new_book, put_label, put_table

PRODUCT = (
    'Fill the column "Total" on the sheet "{sheet}" with "Quantity" times "Price". {live}',
    'On the sheet "{sheet}", complete the column "Total": it is "Quantity" times "Price". {live}',
    'The column "Total" of the sheet "{sheet}" is empty; it should be "Quantity" times "Price". {live}',
)
LIVE = (
    "The prices still change, and the totals have to follow.",
    "When somebody corrects a quantity later, the total must change with it.",
    "It should keep up with later changes of the figures.",
)
RATE = (
    'Fill the column "{fill}" on the sheet "{sheet}" with a formula in each row: "Net" times the rate in cell {rate}.',
    'On the sheet "{sheet}", complete the column "{fill}" with formulas; each is "Net" times the rate in cell {rate}.',
    'The column "{fill}" (sheet "{sheet}") needs formulas: "Net" times the rate that stands in cell {rate}.',
)
LOOK = (
    'Fill the column "Gross" on the sheet "{sheet}" with "Net" plus {rate} %; it should look like the column "Net".',
    'Complete the column "Gross" of the sheet "{sheet}": "Net" plus {rate} %, shown in the same way as "Net".',
    'The column "Gross" (sheet "{sheet}") is "Net" plus {rate} %. Keep to the look of the other amounts.',
)
CENTS = (
    'Fill the column "VAT" on the sheet "{sheet}" with {rate} % of "Net", rounded to whole cents; half a cent goes up.',
    'Complete the column "VAT" of the sheet "{sheet}": {rate} % of "Net" in whole cents, half a cent counts as one.',
    'On the sheet "{sheet}" the column "VAT" is {rate} % of "Net". Round each to the cent as on an invoice, halves up.',
)
FILES = (
    ("quotes.xlsx", "a quote", "Quote"),
    ("purchases.xlsx", "the purchases of this month", "Purchases"),
    ("rentals.xlsx", "what we rent out", "Rentals"),
    ("bills.xlsx", "the bills of the workshop", "Bills"),
)
FORMATS = ("#,##0.00 €", '"$"#,##0.00', "#,##0.00 [$CHF]", '"£"#,##0.00')


def file_of(number: int, shift: int) -> tuple[str, str, str]:
    return FILES[(number + shift) % len(FILES)]


def finish(
    rng: Random, number: int, place: tuple[str, str, str], book: Any, text: str, targets: list[Target]
) -> Draft:
    output = output_path(rng, number)
    prompt = words(rng, number, f"In {place[0]} you find {place[1]}.", text, output)
    return Draft(prompt, place[0], output, book, targets)


def write_formulas(rng: Random, number: int) -> Draft:
    """The totals must be formulas; the sheet has others already."""
    place = file_of(number, 0)
    book, sheet = new_book(rng, place[2], extras=rng.choice((0, 1, 2)))
    lines: list[list[Any]] = []
    for row in range(2, rng.randint(13, 22)):
        amount = round(rng.uniform(3, 240), 2)
        lines.append([row - 1, rng.choice(GOODS), rng.randint(1, 30), amount, None, f"=D{row}*0.9"])
    put_table(sheet, ["Pos", "Article", "Quantity", "Price", "Total", "Members pay"], lines)
    targets = [
        Target(place[2], f"E{row}", round(line[2] * line[3], 2), f"=C{row}*D{row}", formula=True)
        for row, line in enumerate(lines, start=2)
    ]
    text = pick(PRODUCT, number).format(sheet=place[2], live=rng.choice(LIVE))
    return finish(rng, number, place, book, text, targets)


def absolute_refs(rng: Random, number: int) -> Draft:
    """One cell holds the rate for all rows, on the same sheet or on another."""
    place, fill = file_of(number, 1), pick(("Tax", "Discount", "Commission"), number)
    book, sheet = new_book(rng, place[2], extras=rng.choice((0, 1)))
    lines = [
        [row, rng.choice(GOODS), round(rng.uniform(20, 900), 2), None]
        for row in range(1, rng.randint(12, 22))
    ]
    put_table(sheet, ["Pos", "Article", "Net", fill], lines)
    rate = rng.choice((0.05, 0.07, 0.125, 0.19, 0.2))
    elsewhere = number % 2 == 1
    holder = book.create_sheet("Settings") if elsewhere else sheet
    put_label(holder, "Rate")
    holder["H2"], holder["H2"].number_format = rate, "0.0%"
    name = 'H2 of the sheet "Settings"' if elsewhere else "H2"
    reference = "Settings!$H$2" if elsewhere else "$H$2"
    targets = [
        Target(place[2], f"D{row}", round(line[2] * rate, 6), f"=C{row}*{reference}", formula=True)
        for row, line in enumerate(lines, start=2)
    ]
    text = pick(RATE, number).format(fill=fill, sheet=place[2], rate=name)
    return finish(rng, number, place, book, text, targets)


def number_formats(rng: Random, number: int) -> Draft:
    """The new amounts must look like the old ones."""
    place, style = file_of(number, 2), FORMATS[number % len(FORMATS)]
    book, sheet = new_book(rng, place[2], extras=rng.choice((0, 1, 2)))
    lines = [
        [row, rng.choice(GOODS), rng.randint(1, 9) * 25.0 + rng.randint(0, 3) * 12.5, None]
        for row in range(1, rng.randint(12, 22))
    ]
    put_table(sheet, ["Pos", "Article", "Net", "Gross"], lines)
    for row in range(2, len(lines) + 2):
        sheet.cell(row, 3).number_format = style
    rate = rng.choice((8, 10, 20))
    targets = [
        Target(place[2], f"D{row}", round(line[2] * (100 + rate) / 100, 4), number_format=style)
        for row, line in enumerate(lines, start=2)
    ]
    return finish(rng, number, place, book, pick(LOOK, number).format(sheet=place[2], rate=rate), targets)


def half_cent(rng: Random, rate: int) -> Decimal:
    """A net amount whose tax ends in half a cent and is cut down by a float's round()."""
    while True:
        net = Decimal(rng.randint(200, 60_000)) / 100
        exact = net * rate / 100
        up = exact.quantize(Decimal("0.01"), ROUND_HALF_UP)
        if exact * 1000 % 10 == 5 and Decimal(str(round(float(net) * rate / 100, 2))) != up:
            return net


def round_half_up(rng: Random, number: int) -> Draft:
    """Several amounts end in exactly half a cent."""
    place, rate = file_of(number, 3), rng.choice((5, 15, 25))
    book, sheet = new_book(rng, place[2], extras=rng.choice((0, 1, 2)))
    nets = [Decimal(rng.randint(500, 60_000)) / 100 for _ in range(rng.randint(8, 14))]
    nets += [half_cent(rng, rate) for _ in range(5)]
    rng.shuffle(nets)
    lines: list[list[Any]] = [
        [row, rng.choice(GOODS), float(net), None] for row, net in enumerate(nets, start=1)
    ]
    put_table(sheet, ["Pos", "Article", "Net", "VAT"], lines)
    targets = []
    for row, net in enumerate(nets, start=2):
        sheet.cell(row, 4).number_format = MONEY
        vat = (net * rate / 100).quantize(Decimal("0.01"), ROUND_HALF_UP)
        targets.append(Target(place[2], f"D{row}", float(vat), tolerance=0.0005))
    return finish(rng, number, place, book, pick(CENTS, number).format(sheet=place[2], rate=rate), targets)
