"""Themes and tables: small workbooks that look like those of an ordinary office."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from random import Random
from typing import Any

from openpyxl import Workbook
from openpyxl.styles import Border, Font, PatternFill, Side
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.worksheet import Worksheet

HEADER_FILL = PatternFill("solid", fgColor="DDE6F0")
THIN = Border(bottom=Side(style="thin", color="999999"))
MONEY = "#,##0.00"
DAY = "yyyy-mm-dd"
LABEL_CELL, TARGET_CELL = "G2", "H2"


@dataclass(frozen=True)
class Theme:
    """One kind of list: its file, its columns (id, date, group, name, amount) and what stands in them."""

    file: str
    topic: str
    sheet: str
    id_name: str
    prefix: str
    date_name: str
    group_name: str
    groups: tuple[str, ...]
    who_name: str
    names: tuple[str, ...]
    amount_name: str

    @property
    def headers(self) -> list[str]:
        return [self.id_name, self.date_name, self.group_name, self.who_name, self.amount_name]


PEOPLE = ("A. Weber", "J. Okafor", "M. Rossi", "L. Chen", "P. Novak", "S. Haddad", "T. Larsen", "R. Silva")
FIRMS = ("Acorn Ltd", "Birch & Co", "Cedar GmbH", "Dune SA", "Elm Bros", "Fjord AS", "Grove plc", "Heath Inc")
GOODS = ("Desk lamp", "Office chair", "Paper A4", "Toner", "Shelf", "Cable 2 m", "Keyboard", "Monitor")

THEMES = (
    Theme(
        "sales.xlsx", "our orders", "Orders", "Order", "SO-", "Date",
        "Region", ("North", "South", "East", "West"), "Customer", FIRMS, "Amount",
    ),
    Theme(
        "invoices.xlsx", "the invoices we sent", "Invoices", "Invoice", "R-", "Issued",
        "Country", ("France", "Italy", "Spain", "Poland"), "Client", FIRMS, "Net",
    ),
    Theme(
        "payroll.xlsx", "the payroll", "Payroll", "Staff no", "P", "Paid on",
        "Department", ("Assembly", "Office", "Transport", "Kitchen"), "Employee", PEOPLE, "Gross pay",
    ),
    Theme(
        "stock.xlsx", "the stock count", "Stock", "Lot", "L-", "Counted on",
        "Warehouse", ("Hall 1", "Hall 2", "Yard", "Cellar"), "Article", GOODS, "Value",
    ),
    Theme(
        "attendance.xlsx", "the course attendance", "Sessions", "Entry", "E", "Held on",
        "Course", ("Welding", "First aid", "English", "Safety"), "Trainer", PEOPLE, "Hours",
    ),
    Theme(
        "budget.xlsx", "the costs against the budget", "Costs", "Voucher", "V-", "Booked",
        "Cost centre", ("Marketing", "Research", "Services", "Plant"), "Supplier", FIRMS, "Cost",
    ),
    Theme(
        "travel.xlsx", "the travel claims", "Claims", "Claim", "T-", "Travelled",
        "Team", ("Alpha", "Bravo", "Delta", "Echo"), "Traveller", PEOPLE, "Fare",
    ),
    Theme(
        "donations.xlsx", "the donations of this year", "Gifts", "Receipt", "D-", "Received",
        "Campaign", ("Spring", "Summer", "Schools", "Water"), "Donor", PEOPLE, "Gift",
    ),
)  # fmt: skip

OPENINGS = (
    "The workbook {file} holds {topic}.",
    "{file} is a list of {topic}.",
    "You find {topic} in {file}.",
    "I have {topic} in the file {file}.",
)


@dataclass(frozen=True)
class Row:
    """One line of a list."""

    key: str
    day: date
    group: str
    who: str
    amount: float

    def cells(self) -> list[Any]:
        return [self.key, self.day, self.group, self.who, self.amount]


def theme_of(number: int, shift: int) -> Theme:
    """Each family starts at another theme, and goes through them in turn."""
    return THEMES[(number + shift) % len(THEMES)]


def opening(theme: Theme, number: int) -> str:
    return OPENINGS[(number * 3 + len(theme.file)) % len(OPENINGS)].format(file=theme.file, topic=theme.topic)


def make_rows(rng: Random, theme: Theme, count: int) -> list[Row]:
    """Lines in order of date, with amounts of two decimals."""
    start = date(2024, 1, 2) + timedelta(days=rng.randrange(20))
    rows = []
    for place in range(count):
        start += timedelta(days=rng.randint(1, 6))
        key = f"{theme.prefix}{1000 + place * 7 + rng.randrange(6)}"
        amount = round(rng.uniform(12, 960), 2)
        rows.append(Row(key, start, rng.choice(theme.groups), rng.choice(theme.names), amount))
    return rows


def put_header(sheet: Worksheet, row: int, headers: list[str]) -> None:
    for column, text in enumerate(headers, start=1):
        cell = sheet.cell(row, column, text)
        cell.font, cell.fill, cell.border = Font(bold=True), HEADER_FILL, THIN
        sheet.column_dimensions[get_column_letter(column)].width = max(11, len(text) + 3)


def put_line(sheet: Worksheet, row: int, values: list[Any]) -> None:
    for column, value in enumerate(values, start=1):
        cell = sheet.cell(row, column, value)
        if isinstance(value, float):
            cell.number_format = MONEY
        elif isinstance(value, date):
            cell.number_format = DAY


def put_table(sheet: Worksheet, headers: list[str], lines: list[list[Any]], top: int = 1) -> None:
    """A header at row `top` and the lines below it."""
    put_header(sheet, top, headers)
    for offset, line in enumerate(lines, start=1):
        put_line(sheet, top + offset, line)
    sheet.freeze_panes = sheet.cell(top + 1, 1)


def put_label(sheet: Worksheet, text: str, cell: str = LABEL_CELL) -> None:
    """A label beside the list; the cell to its right is the one to fill."""
    sheet[cell] = text
    sheet[cell].font = Font(italic=True)
    sheet.column_dimensions["G"].width = 16
    sheet.column_dimensions["H"].width = 14


def new_book(rng: Random, sheet: str, extras: int = 2) -> tuple[Workbook, Worksheet]:
    """A workbook with the sheet and up to two others: one of formulas, one of text."""
    book = Workbook()
    book.remove(book.active)
    names = [sheet, "Overview", "Contacts"][: 1 + extras]
    if rng.random() < 0.4:
        names = names[1:] + names[:1]
    for name in names:
        book.create_sheet(name)
    if "Overview" in names:
        put_overview(book["Overview"], sheet)
    if "Contacts" in names:
        put_contacts(rng, book["Contacts"])
    book.active = names.index(sheet)
    return book, book[sheet]


def put_overview(sheet: Worksheet, name: str) -> None:
    put_header(sheet, 1, ["Check", "Result"])
    for row, (text, formula) in enumerate(
        [("Filled cells in column A", f"=COUNTA('{name}'!A1:A60)"), ("Twice that", "=B2*2")], start=2
    ):
        sheet.cell(row, 1, text)
        sheet.cell(row, 2, formula).number_format = "0"
    sheet.column_dimensions["A"].width = 26


def put_contacts(rng: Random, sheet: Worksheet) -> None:
    put_header(sheet, 1, ["Name", "Phone", "Since"])
    for row, name in enumerate(rng.sample(PEOPLE, 4), start=2):
        put_line(
            sheet, row, [name, f"0{rng.randint(200, 999)} {rng.randint(1000, 9999)}", date(2021, row, 14)]
        )
