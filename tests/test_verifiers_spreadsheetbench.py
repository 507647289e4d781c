"""The workbook verifier on real books of SpreadsheetBench, where the data lies beside the repository."""

from __future__ import annotations

import asyncio
import datetime as dt
import io
import json
import re
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from harness.task import Task, VerifierSpec
from harness.trajectory import Trajectory, VerifierResult
from harness.verifiers import verify
from harness.verifiers.checkers import checker_pool

DATA = Path(__file__).parents[2] / "shared/data/spreadsheetbench-50/test_set_50"
CASES = 20
MAX_BYTES = 100_000
MAX_CELLS = 300

pytestmark = pytest.mark.skipif(not DATA.exists(), reason="the SpreadsheetBench data is not here")


def golden_files() -> list[tuple[str, Path]]:
    """Answer range and golden book of the first cases that are small enough."""
    entries = json.loads((DATA / "dataset.json").read_text())
    pairs = [
        (entry["answer_position"], DATA / f"spreadsheet/{entry['id']}/1_{entry['id']}_answer.xlsx")
        for entry in entries
    ]
    return [pair for pair in pairs if pair[1].exists() and pair[1].stat().st_size < MAX_BYTES][:CASES]


def expected(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return {"date": value.isoformat()}
    return value


def answer_from(position: str, golden: bytes) -> dict[str, Any]:
    """The stored values of the answer range; errors, times and formulas without a value are left out."""
    formulas = openpyxl.load_workbook(io.BytesIO(golden))
    book = openpyxl.load_workbook(io.BytesIO(golden), data_only=True)
    sheet_name, _, cells = position.split(",")[0].rpartition("!")
    sheet = book[sheet_name.strip("'")] if sheet_name.strip("'") in book.sheetnames else book.worksheets[0]
    rows = sheet[re.sub(r"['$]", "", cells)]
    rows = rows if isinstance(rows, tuple) else ((rows,),)
    flat = [cell for row in rows for cell in (row if isinstance(row, tuple) else (row,))]
    asked = [
        {"sheet": sheet.title, "cell": cell.coordinate, "value": expected(cell.value)}
        for cell in flat[:MAX_CELLS]
        if cell.data_type != "e"
        and not isinstance(cell.value, dt.time | dt.timedelta)
        and not (cell.value is None and formulas[sheet.title][cell.coordinate].data_type == "f")
    ]
    return {"cells": asked, "untouched": {"fixture": "golden.xlsx"}, "sheets": book.sheetnames}


def make_task(root: Path, position: str, golden: bytes) -> Task:
    for folder in ("fixtures/t", "answers/t"):
        (root / folder).mkdir(parents=True)
    (root / "fixtures/t/golden.xlsx").write_bytes(golden)
    (root / "answers/t/answer.json").write_text(json.dumps(answer_from(position, golden)))
    spec = VerifierSpec.model_validate({"name": "workbook", "file": "golden.xlsx"})
    return Task(id="t", prompt="do it", verifiers=(spec,), root=root)


def test_golden_books_pass_against_their_own_values(tmp_path: Path) -> None:
    async def run() -> dict[str, VerifierResult]:
        found = {}
        async with checker_pool("local", 1) as pool:
            for number, (position, path) in enumerate(golden_files()):
                golden = path.read_bytes()
                task = make_task(tmp_path / str(number), position, golden)
                (found[path.name],) = await verify(task, Trajectory(), {"golden.xlsx": golden}, pool)
        return found

    results = asyncio.run(run())
    assert len(results) == CASES
    failed = {name: result.feedback[:3] for name, result in results.items() if not result.passed}
    assert failed == {}
