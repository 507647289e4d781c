"""Checks a workbook against an answer; runs inside a checker's sandbox on bytes nobody trusts.

The answer's format is that of `harness.verifiers.workbook.WorkbookAnswer`.
"""

from __future__ import annotations

import base64
import datetime as dt
import gc
import io
import json
import math
import re
from typing import Any

import openpyxl
from openpyxl.styles.numbers import is_date_format
from openpyxl.utils.cell import range_boundaries
from openpyxl.utils.datetime import to_excel
from workbook_open import Book, Broken, Failed  # type: ignore[import-not-found]

TOLERANCE = 1e-6
STORED = 1e-9
MAX_NAMED = 5
VERBS = ("is ", "holds ", "should ")
CURRENCY = re.compile(r"[$€£¥₹]|\[\$|\b(?:USD|EUR|GBP|CHF|JPY)\b")
WHOLE_SHEET = (1, 1, 16384, 1048576)


def kind_of(number_format: str) -> str:
    """`percent`, `currency`, `date`, `number`, or `general` for a number format."""
    plain = re.sub(r"\\.|_.", "", number_format)
    if "%" in re.sub(r'"[^"]*"', "", plain):
        return "percent"
    if CURRENCY.search(plain):
        return "currency"
    if is_date_format(number_format):
        return "date"
    return "number" if re.search(r"[0#?]", plain) else "general"


def show(value: Any) -> str:
    """A value in a message, short and on one line."""
    if isinstance(value, float):
        return f"{value:.10g}"
    text = json.dumps(value if isinstance(value, int | str) else str(value), ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def sort_of(value: Any) -> str:
    if isinstance(value, bool):
        return "TRUE or FALSE"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, dt.datetime | dt.date | dict):
        return "a date"
    return "text" if isinstance(value, str) else "a duration"


def is_blank(value: Any) -> bool:
    return value is None or value == ""


def as_datetime(value: Any) -> dt.datetime:
    """A date, a datetime or an ISO text as a datetime: a date is its midnight."""
    if isinstance(value, str):
        return dt.datetime.fromisoformat(value)
    return value if isinstance(value, dt.datetime) else dt.datetime.combine(value, dt.time())


def as_number(got: Any, dated: bool) -> Any:
    """A date or duration that an undated cell shows as its serial number."""
    if isinstance(got, dt.timedelta):
        return got.total_seconds() / 86400
    if not dated and isinstance(got, dt.datetime | dt.date | dt.time):
        return to_excel(got)
    return got


def value_fault(got: Any, expected: Any, tolerance: float | None, number_format: str) -> str:
    """What is wrong with a value, or an empty text; never the expected value."""
    if isinstance(got, Failed):
        return f"is the error {got.error}" if got.error else "holds a formula that could not be evaluated"
    if is_blank(expected) or is_blank(got):
        if is_blank(expected) and is_blank(got):
            return ""
        return "is empty" if is_blank(got) else f"should be empty (got {show(got)})"
    if sort_of(expected) == "a number":
        got = as_number(got, is_date_format(number_format))
    if sort_of(got) != sort_of(expected):
        return f"holds {sort_of(got)} where {sort_of(expected)} belongs"
    if sort_of(expected) == "a number":
        relative, absolute = (TOLERANCE, TOLERANCE) if tolerance is None else (0.0, tolerance)
        same = math.isclose(got, expected, rel_tol=relative, abs_tol=absolute)
        return "" if same else f"the number is not the right one (got {show(got)})"
    if isinstance(expected, dict):
        near = abs(as_datetime(got) - as_datetime(expected["date"])) < dt.timedelta(milliseconds=500)
        return "" if near else f"the date is not the right one (got {show(got)})"
    return "" if got == expected else f"{sort_of(got)}: not the right value (got {show(got)})"


def cell_faults(book: Book, wanted: dict[str, Any]) -> list[str]:
    """One entry for each thing asked of one cell: "" or what is wrong."""
    sheet, name = wanted["sheet"], wanted["cell"]
    asked = [key for key in ("value", "formula", "number_format", "format_kind") if key in wanted]
    if sheet not in book.cells.sheetnames or not hasattr(book.cells[sheet], "_cells"):
        found = ", ".join(book.cells.sheetnames)[:200]
        return [f"the sheet {sheet} is missing (found: {found})"] * len(asked)
    cell, where = book.cells[sheet][name], f"{sheet}!{name}"
    faults = []
    for key in asked:
        if key == "value":
            got, tolerance = book.value(sheet, name), wanted.get("tolerance")
            fault = value_fault(got, wanted["value"], tolerance, cell.number_format)
            faults.append(fault and (f"{where} {fault}" if fault.startswith(VERBS) else f"{where}: {fault}"))
        elif key == "formula":
            faults.append(formula_fault(cell, wanted["formula"], where))
        else:
            faults.append(format_fault(cell, key, wanted[key], where))
    return faults


def formula_fault(cell: Any, expected: bool, where: str) -> str:
    if (cell.data_type == "f") == expected:
        return ""
    return f"{where} " + (
        "is not a formula but should be one" if expected else "is a formula but should not be"
    )


def format_fault(cell: Any, key: str, expected: str, where: str) -> str:
    if key == "number_format":
        same = cell.number_format == expected
        return "" if same else f"number format of {where} is {cell.number_format}, not the right one"
    if kind_of(cell.number_format) == expected:
        return ""
    return f"number format of {where} is {cell.number_format}, expected kind {expected}"


def stored(value: Any) -> Any:
    """A cell's own content in a form that survives a save by another program."""
    if hasattr(value, "ref"):
        return "array", str(value.ref), stored(getattr(value, "text", "") or "")
    if isinstance(value, str) and value.startswith("="):
        return re.sub(r"\s+|_xlfn\.|_xlws\.", "", value).upper()
    return None if value == "" else value


def same_stored(left: Any, right: Any) -> bool:
    if type(left) is type(right) and left == right:
        return True
    left, right = stored(left), stored(right)
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in (left, right))
    if numbers:
        return math.isclose(left, right, rel_tol=STORED, abs_tol=STORED)
    return type(left) is type(right) and bool(left == right)


def format_of(cell: Any, seen: dict[int, str]) -> str:
    """The number format, looked up once for each id: the property of openpyxl is slow."""
    number = cell._style.numFmtId if cell.has_style else 0
    if number not in seen:
        seen[number] = cell.number_format
    return seen[number]


def changed_cells(before: Any, after: Any, free: list[tuple[int, int, int, int]]) -> list[str]:
    """Coordinates of cells outside `free` whose content, or whose format with content, was changed."""
    changed = []
    seen_before: dict[int, str] = {}
    seen_after: dict[int, str] = {}
    for row, column in sorted(before._cells.keys() | after._cells.keys()):
        old, new = before._cells.get((row, column)), after._cells.get((row, column))
        old_value = old.value if old is not None else None
        new_value = new.value if new is not None else None
        if old_value is None and new_value is None:
            continue
        if same_stored(old_value, new_value) and (
            old is None or new is None or format_of(old, seen_before) == format_of(new, seen_after)
        ):
            continue
        if not any(c1 <= column <= c2 and r1 <= row <= r2 for c1, r1, c2, r2 in free):
            changed.append((new if new is not None else old).coordinate)
    return changed


def untouched_faults(book: Book, fixture: Book, exceptions: list[dict[str, str]]) -> list[str]:
    """What was changed outside the exceptions, the first few by name; empty when nothing was."""
    found: list[str] = []
    for before in fixture.cells.worksheets:
        free = [
            range_boundaries(item["range"]) if item.get("range") else WHOLE_SHEET
            for item in exceptions
            if item["sheet"] == before.title
        ]
        if before.title not in book.cells.sheetnames:
            found += [] if WHOLE_SHEET in free else [f"the sheet {before.title} is missing"]
            continue
        after = book.cells[before.title]
        cells = changed_cells(before, after, free) if hasattr(after, "_cells") else []
        found += [f"{before.title}!{cell} was changed but should have been left alone" for cell in cells]
        merged = {str(item) for item in before.merged_cells.ranges}
        if WHOLE_SHEET not in free and not merged <= {str(item) for item in after.merged_cells.ranges}:
            found.append(f"the merged cells of {before.title} were changed")
    return found


def untouched(payload: dict[str, Any], book: Book) -> list[str]:
    """One check: "" or a text of several lines."""
    fixture = Book(base64.b64decode(payload["fixture"]))
    found = untouched_faults(book, fixture, payload["answer"]["untouched"].get("except", []))
    more = [f"and {len(found) - MAX_NAMED} more changes"] if len(found) > MAX_NAMED else []
    return ["\n".join(found[:MAX_NAMED] + more)]


def sheets_fault(book: Book, expected: list[str]) -> str:
    found = book.cells.sheetnames
    if found == expected:
        return ""
    same = sorted(found) == sorted(expected)
    return (
        "the sheets are not in the right order"
        if same
        else f"the sheets are not the right ones (found: {', '.join(found)[:200]})"
    )


def check(raw: bytes) -> bytes:
    """JSON `{"faults": [...]}`, one entry for each check ("" when it holds), or `{"broken": reason}`."""
    gc.disable()
    payload = json.loads(raw)
    answer = payload["answer"]
    try:
        book = Book(base64.b64decode(payload["artifact"]))
    except Broken as error:
        return json.dumps({"broken": str(error)}).encode()
    faults = [fault for wanted in answer.get("cells", []) for fault in cell_faults(book, wanted)]
    if answer.get("sheets") is not None:
        faults.append(sheets_fault(book, answer["sheets"]))
    if answer.get("untouched") is not None:
        faults += untouched(payload, book)
    return json.dumps({"faults": faults}).encode()


def warm_up() -> None:
    """One small check before the first fork: what is imported late or compiled on first use is ready then."""
    book = openpyxl.Workbook()
    book.active["A1"] = "=1+1"
    stream = io.BytesIO()
    book.save(stream)
    data = base64.b64encode(stream.getvalue()).decode()
    cell = {"sheet": "Sheet", "cell": "A1", "value": 2, "formula": True}
    answer = {"cells": [cell], "untouched": {"fixture": "a.xlsx"}, "sheets": ["Sheet"]}
    for _ in range(3):
        check(json.dumps({"artifact": data, "fixture": data, "answer": answer}).encode())
    gc.enable()
