"""The workbook verifier on real files and in real sandboxes; each verdict was found by hand."""

# ruff: noqa: E501
from __future__ import annotations

import asyncio
import datetime as dt
import io
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from harness.errors import TaskError, VerifierError
from harness.sandboxes.base import Limits
from harness.sandboxes.pool import SandboxPool
from harness.task import Task, VerifierSpec
from harness.trajectory import Artifact, Trajectory, VerifierResult
from harness.verifiers import verify
from harness.verifiers.checkers import checker_pool

Edit = Callable[[Any], None]
ROWS = [("Widget", 3, 10.0), ("Gadget", 5, 4.0), ("Sprocket", 2, 25.5)]
DAY = dt.date(2024, 3, 5)


def book_bytes(edit: Edit | None = None, start: bytes | None = None) -> bytes:
    """The fixture, or `start`, after an edit."""
    if start is None:
        book = openpyxl.Workbook()
        sheet = book.active
        sheet.title = "Orders"
        sheet.append(["item", "count", "price", "total", "share", "note", "day"])
        for row in ROWS:
            sheet.append(row)
        sheet["C8"] = "=SUM(C2:C4)"
        sheet.merge_cells("A10:C10")
        book.create_sheet("Lookup")["A1"] = "code"
    else:
        book = openpyxl.load_workbook(io.BytesIO(start))
    if edit is not None:
        edit(book)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


FIXTURE = book_bytes()


def good(book: Any) -> None:
    sheet = book["Orders"]
    for row in (2, 3, 4):
        sheet[f"D{row}"] = f"=B{row}*C{row}"
    sheet["E2"] = "=D2/101"
    sheet["E2"].number_format = "0.0%"
    sheet["F2"] = "ok"
    sheet["G2"] = DAY


ANSWER = {
    "cells": [
        {"sheet": "Orders", "cell": "D2", "value": 30, "formula": True},
        {"sheet": "Orders", "cell": "D3", "value": 20},
        {"sheet": "Orders", "cell": "E2", "value": 0.2970, "tolerance": 0.001, "format_kind": "percent"},
        {"sheet": "Orders", "cell": "F2", "value": "ok", "formula": False},
        {"sheet": "Orders", "cell": "F3", "value": None},
        {"sheet": "Orders", "cell": "G2", "value": {"date": "2024-03-05"}, "number_format": "yyyy-mm-dd"},
    ],
    "untouched": {"fixture": "sales.xlsx", "except": [{"sheet": "Orders", "range": "D2:G4"}]},
    "sheets": ["Orders", "Lookup"],
    "unchanged_files": ["sales.xlsx"],
}
CHECKS = 13


@pytest.fixture
def task(tmp_path: Path) -> Task:
    for folder in ("fixtures/t", "answers/t"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "fixtures/t/sales.xlsx").write_bytes(FIXTURE)
    (tmp_path / "answers/t/answer.json").write_text(json.dumps(ANSWER))
    spec = VerifierSpec.model_validate({"name": "workbook", "file": "out.xlsx"})
    return Task(id="t", prompt="do it", verifiers=(spec,), root=tmp_path)


class Checkers:
    """One event loop and one warm pool for the whole module."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.runner = asyncio.Runner()
        self.pool: SandboxPool = checker_pool("local", 1, limits or Limits())

    def __call__(
        self, task: Task, files: Mapping[str, bytes], artifacts: list[Artifact] | None = None
    ) -> VerifierResult:
        trajectory = Trajectory(artifacts=artifacts or [])
        (result,) = self.runner.run(verify(task, trajectory, files, self.pool))
        return result

    def close(self) -> None:
        self.runner.run(self.pool.__aexit__(None, None, None))
        self.runner.close()


@pytest.fixture(scope="module")
def run() -> Iterator[Checkers]:
    checkers = Checkers()
    yield checkers
    checkers.close()


def with_input(out: bytes) -> dict[str, bytes]:
    return {"sales.xlsx": FIXTURE, "out.xlsx": out}


def test_right_workbook_passes(run: Checkers, task: Task) -> None:
    result = run(task, with_input(book_bytes(good)))
    assert result.feedback == ()
    assert result.passed
    assert result.score == 1
    assert result.evidence == {"checks": CHECKS, "failed": 0}


def put(cell: str, value: object, sheet: str = "Orders") -> Edit:
    def edit(book: Any) -> None:
        book[sheet][cell] = value

    return edit


def set_format(cell: str, number_format: str) -> Edit:
    def edit(book: Any) -> None:
        book["Orders"][cell].number_format = number_format

    return edit


WRONG: list[tuple[str, Edit, list[str]]] = [
    ("wrong number", put("D3", 1200), ["Orders!D3: the number is not the right one (got 1200)"]),
    ("wrong formula", put("D3", "=B3+C3"), ["Orders!D3: the number is not the right one (got 9)"]),
    ("number as text", put("D3", "20"), ["Orders!D3 holds text where a number belongs"]),
    ("empty", put("D3", None), ["Orders!D3 is empty"]),
    ("error value", put("D3", "=B3/0"), ["Orders!D3 is the error #DIV/0!"]),
    ("unknown function", put("D3", "=NOSUCH(B3)"), ["Orders!D3 holds a formula that could not be evaluated"]),
    ("value not formula", put("D2", 30), ["Orders!D2 is not a formula but should be one"]),
    ("formula not value", put("F2", '="o"&"k"'), ["Orders!F2 is a formula but should not be"]),
    ("not blank", put("F3", "x"), ['Orders!F3 should be empty (got "x")']),
    ("wrong text", put("F2", "OK"), ['Orders!F2: text: not the right value (got "OK")']),
    ("bool for number", put("D3", True), ["Orders!D3 holds TRUE or FALSE where a number belongs"]),
    ("percent lost", set_format("E2", "General"), ["number format of Orders!E2 is General, expected kind percent"]),
    ("date as text", put("G2", "2024-03-05"), ["Orders!G2 holds text where a date belongs"]),
    ("date as serial", set_format("G2", "General"), [
        "Orders!G2 holds a number where a date belongs",
        "number format of Orders!G2 is General, not the right one",
    ]),
    ("wrong day", put("G2", dt.date(2024, 5, 3)), ['Orders!G2: the date is not the right one (got "2024-05-03 00:00:00")']),
    ("other cell", put("A3", "Gizmo"), ["Orders!A3 was changed but should have been left alone"]),
    ("other sheet", put("B7", 1, "Lookup"), ["Lookup!B7 was changed but should have been left alone"]),
    ("formula lost", put("C8", 39.5), ["Orders!C8 was changed but should have been left alone"]),
    ("other format", set_format("C2", "0.00"), ["Orders!C2 was changed but should have been left alone"]),
    ("unmerged", lambda book: book["Orders"].unmerge_cells("A10:C10"), ["the merged cells of Orders were changed"]),
    ("sheet order", lambda book: book.move_sheet("Lookup", -1), ["the sheets are not in the right order"]),
    ("more sheets", lambda book: book.create_sheet("Tmp"), ["the sheets are not the right ones (found: Orders, Lookup, Tmp)"]),
]  # fmt: skip


@pytest.mark.parametrize(("edit", "feedback"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
def test_wrong_workbook_is_told_what_is_wrong(
    run: Checkers, task: Task, edit: Edit, feedback: list[str]
) -> None:
    result = run(task, with_input(book_bytes(edit, book_bytes(good))))
    assert list(result.feedback) == feedback
    assert not result.passed
    assert result.score == pytest.approx(1 - len(feedback) / CHECKS)


RIGHT: list[tuple[str, Edit]] = [
    ("within tolerance", put("E2", 0.2975)),
    ("text blank", put("F3", "")),
    ("datetime at midnight", put("G2", dt.datetime(2024, 3, 5))),
    ("date by formula", put("G2", "=DATE(2024,3,5)")),
    ("constant for value", put("D3", 20)),
    ("spilled array", put("D3", "=SUM(FILTER(B2:B4,A2:A4=\"Gadget\"))*4")),
]  # fmt: skip


@pytest.mark.parametrize("edit", [case[1] for case in RIGHT], ids=[case[0] for case in RIGHT])
def test_other_right_forms_pass(run: Checkers, task: Task, edit: Edit) -> None:
    def edit_and_format(book: Any) -> None:
        edit(book)
        book["Orders"]["E2"].number_format = "0.0%"
        book["Orders"]["G2"].number_format = "yyyy-mm-dd"

    result = run(task, with_input(book_bytes(edit_and_format, book_bytes(good))))
    assert result.feedback == ()


def test_no_file_names_what_was_found(run: Checkers, task: Task) -> None:
    result = run(task, {"sales.xlsx": FIXTURE, "result.xlsx": FIXTURE})
    assert result.feedback == ("the file out.xlsx was not made (found: result.xlsx, sales.xlsx)",)
    assert result.score == 0


def test_link_is_named(run: Checkers, task: Task) -> None:
    result = run(task, {}, [Artifact(path="out.xlsx", size=9, refused="link")])
    assert result.feedback == ("out.xlsx was not read: link",)


def test_overwritten_input(run: Checkers, task: Task) -> None:
    files = with_input(book_bytes(good))
    result = run(task, {**files, "sales.xlsx": files["out.xlsx"]})
    assert result.feedback == ("the input file sales.xlsx was changed",)
    result = run(task, {"out.xlsx": files["out.xlsx"]})
    assert result.feedback == ("the input file sales.xlsx was removed",)


def archive(members: Mapping[str, bytes], name: str = "[Content_Types].xml") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr(name, b"<Types/>")
        for member, data in members.items():
            zipped.writestr(member, data)
    return out.getvalue()


def encrypted() -> bytes:
    raw = bytearray(FIXTURE)
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        raw[raw.index(signature) + offset] |= 1
    return bytes(raw)


def doubled() -> bytes:
    out = io.BytesIO(FIXTURE)
    with zipfile.ZipFile(out, "a") as zipped, pytest.warns(UserWarning, match="Duplicate"):
        zipped.writestr("xl/workbook.xml", b"<workbook/>")
    return out.getvalue()


def with_part(part: str, edit: Callable[[str], str]) -> bytes:
    """The right workbook with one part of the archive edited as text."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(book_bytes(good))) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, edit(data.decode()) if name == part else data)
    return out.getvalue()


ENTITY = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/hostname">]>'
BROKEN = [
    ("garbage", lambda: b"not a workbook", "the file is not a workbook"),
    ("empty", lambda: b"", "the file is not a workbook"),
    ("cut off", lambda: FIXTURE[:2000], "the file is not a workbook"),
    ("another zip", lambda: archive({"a.txt": b"x"}, "b.txt"), "the file is not a workbook"),
    ("no workbook part", lambda: archive({}), "the file is not a workbook that opens (OSError)"),
    ("old format", lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, "the file is encrypted or in the old xls format"),
    ("encrypted", encrypted, "the file is encrypted"),
    ("doubled", doubled, "the file has two archive members of the same name"),
    ("unsafe name", lambda: archive({"../x.xml": b""}), "the file has archive members with unsafe names"),
    ("bomb", lambda: archive({"xl/a.xml": b"0" * (20 << 20)}), "the file is a zip bomb: 20971528 bytes unpacked"),
    ("entities", lambda: with_part("xl/worksheets/sheet1.xml", lambda t: ENTITY + t), "the file declares XML entities"),
    ("broken xml", lambda: with_part("xl/worksheets/sheet1.xml", lambda t: t[:500]), "the file is not a workbook that opens (ParseError)"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "reason"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_what_is_not_a_workbook_fails_with_its_reason(
    run: Checkers, task: Task, make: Callable[[], bytes], reason: str
) -> None:
    result = run(task, with_input(make()))
    assert result.feedback == (f"out.xlsx: {reason}",)
    assert result.score == 0
    assert not result.passed


def test_artifact_that_eats_the_limits_is_a_failed_check(task: Task) -> None:
    def many(book: Any) -> None:
        for row in range(3000):
            book["Lookup"].append([row, row / 7, f"text {row}", row * 3])

    checkers = Checkers(Limits(timeout=0.05))
    try:
        result = checkers(task, with_input(book_bytes(many, book_bytes(good))))
        assert result.feedback == ("out.xlsx: it takes too long to read",)
        assert checkers(task, {}).feedback == ("the file out.xlsx was not made (found: no files)",)
    finally:
        checkers.close()


def test_stored_value_stands_in_for_a_formula_that_the_engine_lacks(run: Checkers, task: Task) -> None:
    def edit(text: str) -> str:
        return text.replace("<f>B3*C3</f><v></v>", "<f>NOSUCH(B3)</f><v>20</v>").replace(
            "<f>B3*C3</f><v />", "<f>NOSUCH(B3)</f><v>20</v>"
        )

    made = with_part("xl/worksheets/sheet1.xml", edit)
    assert b"NOSUCH" in zipfile.ZipFile(io.BytesIO(made)).read("xl/worksheets/sheet1.xml")
    assert run(task, with_input(made)).feedback == ()


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"cells": [{"sheet": "Orders", "cell": "2D", "value": 1}]}, "cells.0.cell"),
        ({"cells": [{"sheet": "Orders", "cell": "D2", "value": [1]}]}, "cells.0.value"),
        ({"cell": []}, "cell"),
        ({"untouched": {"fixture": "other.xlsx"}}, "other.xlsx"),
        ({}, "checks nothing"),
    ],
)
def test_wrong_answers_are_faults_of_the_task(
    run: Checkers, task: Task, answer: dict[str, Any], message: str
) -> None:
    (task.root / "answers/t/answer.json").write_text(json.dumps(answer))
    with pytest.raises(TaskError, match=message):
        run(task, with_input(book_bytes(good)))


def test_pool_without_the_checkers_is_missing_data(task: Task) -> None:
    async def check() -> None:
        async with SandboxPool("local", 1) as pool:
            await verify(task, Trajectory(), with_input(FIXTURE), pool)

    with pytest.raises(VerifierError, match="workbook_check"):
        asyncio.run(check())
