"""Opening an untrusted workbook: a look at the archive first, then cells, then values of formulas."""

from __future__ import annotations

import io
import zipfile
from functools import cached_property
from typing import Any

import formualizer
import openpyxl
from openpyxl.styles.numbers import is_date_format
from openpyxl.utils.datetime import from_excel

MAX_BYTES = 32 << 20
MAX_MEMBERS = 2000
MAX_UNPACKED = 96 << 20
FREE_UNPACKED = 8 << 20
MAX_RATIO = 100
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
ERRORS = {
    "Div": "#DIV/0!", "Na": "#N/A", "Ref": "#REF!", "Value": "#VALUE!", "Num": "#NUM!", "Null": "#NULL!",
}  # fmt: skip


class Broken(Exception):
    """The file is not a workbook that can be checked; the message says why."""


class Failed:
    """A formula without a value: the Excel error it gives, or "" when it could not be evaluated."""

    def __init__(self, error: str) -> None:
        self.error = error


def guard(raw: bytes) -> None:
    """Raises Broken for what must not reach a parser: bombs, encryption, odd names, XML entities."""
    if len(raw) > MAX_BYTES:
        raise Broken(f"the file has {len(raw)} bytes, more than is read")
    if raw.startswith(OLE):
        raise Broken("the file is encrypted or in the old xls format")
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            guard_members(archive)
    except Broken:
        raise
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, OSError, ValueError, EOFError):
        raise Broken("the file is not a workbook") from None
    except Exception as error:
        # A damaged archive makes zipfile and zlib raise errors of many types (zlib.error, struct.error).
        raise Broken(f"the file is not a workbook ({type(error).__name__})") from None


def guard_members(archive: zipfile.ZipFile) -> None:
    members = archive.infolist()
    names = [member.filename for member in members]
    if len(members) > MAX_MEMBERS:
        raise Broken(f"the file is an archive of {len(members)} members, more than a workbook has")
    if any(member.flag_bits & 1 for member in members):
        raise Broken("the file is encrypted")
    unpacked = sum(member.file_size for member in members)
    packed = sum(member.compress_size for member in members)
    if unpacked > MAX_UNPACKED or (unpacked > FREE_UNPACKED and unpacked > MAX_RATIO * max(packed, 1)):
        raise Broken(f"the file is a zip bomb: {unpacked} bytes unpacked")
    if len(set(names)) != len(names):
        raise Broken("the file has two archive members of the same name")
    if any(name.startswith("/") or ".." in name.split("/") or "\\" in name for name in names):
        raise Broken("the file has archive members with unsafe names")
    if "[Content_Types].xml" not in names:
        raise Broken("the file is not a workbook")
    for member in members:
        if member.filename.endswith((".xml", ".rels")):
            with archive.open(member) as stream:
                if b"<!DOCTYPE" in stream.read(4096):
                    raise Broken("the file declares XML entities")


class Book:
    """A workbook with its cells and, when asked, the values of its formulas. Raises Broken."""

    def __init__(self, raw: bytes) -> None:
        guard(raw)
        self._raw = raw
        self.cells = self._load(data_only=False)

    def _load(self, data_only: bool) -> Any:
        try:
            return openpyxl.load_workbook(io.BytesIO(self._raw), data_only=data_only, keep_links=False)
        except MemoryError:
            raise
        except Exception as error:
            # openpyxl raises errors of many types for a damaged part.
            raise Broken(f"the file is not a workbook that opens ({type(error).__name__})") from None

    @cached_property
    def has_formulas(self) -> bool:
        return any(cell.data_type == "f" for sheet in self.cells.worksheets for cell in sheet._cells.values())

    @cached_property
    def _cached(self) -> Any:
        return self._load(data_only=True)

    @cached_property
    def _engine(self) -> Any:
        """The recalculated workbook; None when the engine does not support something in it."""
        try:
            engine = formualizer.Workbook.from_bytes(self._raw)
            engine.evaluate_all()
        except (OSError, RuntimeError, ValueError, formualizer.ExcelEvaluationError):
            return None
        return engine

    def value(self, sheet: str, cell: str) -> Any:
        """What the cell shows: its constant, the recalculated value, else the value stored in the file.

        Dates are datetimes or dates; a formula without a value gives Failed.
        """
        target = self.cells[sheet][cell]
        if not self.has_formulas or (target.data_type != "f" and target.value is not None):
            return target.value
        got = self._recalculated(sheet, target)
        if isinstance(got, Failed) and target.data_type == "f":
            stored = self._cached[sheet][cell]
            return got if stored.value is None or stored.data_type == "e" else stored.value
        return got

    def _recalculated(self, sheet: str, target: Any) -> Any:
        if self._engine is None:
            return Failed("") if target.data_type == "f" else None
        try:
            got = self._engine.get_value(sheet, target.row, target.column)
        except (OSError, RuntimeError, ValueError, KeyError):
            return Failed("")
        if isinstance(got, dict):
            return Failed(ERRORS.get(str(got.get("kind")), ""))
        is_number = isinstance(got, int | float) and not isinstance(got, bool)
        if is_number and is_date_format(target.number_format):
            try:
                return from_excel(got)
            except (ValueError, OverflowError):
                return got
        return got
