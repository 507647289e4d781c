"""Writes the spreadsheet task set: tasks, workbooks, hidden answers. Fixed seeds, so the same files each time.

    python tasksets/spreadsheet/generate.py [FOLDER]

The folder is by default the one of this script. Each family builds its tasks from the family's name and a
number; the ids are dealt in a fixed shuffled order, so that an id says nothing about the family.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from random import Random

from families import FAMILIES, REGRESSION
from families.draft import Draft
from openpyxl import Workbook, load_workbook

SPLITS = ("train",) * 2 + ("selection",) * 3 + ("test",) * 3
FAMILIES_WITH_THREE_TESTS = 9
STAMP = b"2024-06-01T09:00:00Z"
MANIFEST = """\
name = "spreadsheet"
description = "Edit a workbook as asked: the mistakes that people and agents really make in spreadsheets."
packages = ["openpyxl", "et_xmlfile"]

[regression]
domain = "split:regression"
runtime = "runtime"
safety = "safety"
"""


def drafts() -> Iterator[tuple[str, str, Draft]]:
    """Family, split and draft of every task, family by family."""
    for place, (family, build) in enumerate(FAMILIES.items()):
        count = len(SPLITS) if place < FAMILIES_WITH_THREE_TESTS else len(SPLITS) - 1
        for number in range(count):
            yield family, SPLITS[number], build(Random(f"{family} {number}"), number)
    for number, build in enumerate(REGRESSION):
        yield build.__name__, "regression", build(Random(f"regression {number}"), number)


def packed(book: Workbook) -> bytes:
    """The workbook as bytes that depend on its content only: fixed dates inside and in the archive."""
    raw, out = BytesIO(), BytesIO()
    book.save(raw)
    with zipfile.ZipFile(raw) as source, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        for name in sorted(source.namelist()):
            data = source.read(name)
            if name == "docProps/core.xml":
                data = re.sub(rb"(<dcterms:\w+[^>]*>)[^<]*", rb"\g<1>" + STAMP, data)
                data = re.sub(rb"(</dcterms:\w+>)" + re.escape(STAMP), rb"\1", data)
            target.writestr(zipfile.ZipInfo(name, (2024, 6, 1, 9, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def solved(draft: Draft, fixture: bytes) -> Workbook:
    """The fixture with the work done."""
    book = load_workbook(BytesIO(fixture))
    if draft.edit is not None:
        draft.edit(book)
    for target in draft.targets:
        cell = book[target.sheet][target.cell]
        cell.value = target.content
        if target.number_format is not None:
            cell.number_format = target.number_format
    return book


def task_text(task_id: str, family: str, split: str, draft: Draft) -> str:
    """The task file; TOML and JSON write such strings in the same way."""

    def quoted(text: str) -> str:
        return json.dumps(text, ensure_ascii=False)

    return (
        f"id = {quoted(task_id)}\n"
        f"prompt = {quoted(draft.prompt)}\n"
        f'split = "{split}"\n'
        f'domain = "spreadsheet"\n'
        f'tags = ["{family}"]\n'
        f"critical = {str(split == 'regression').lower()}\n"
        f"timeout_sec = 60\n\n"
        f"[[verifiers]]\n"
        f'name = "workbook"\n'
        f"file = {quoted(draft.output)}\n"
        f'answer = "answer.json"\n'
    )


def write_task(root: Path, task_id: str, family: str, split: str, draft: Draft) -> None:
    fixture = packed(draft.book)
    for folder in (root / "fixtures" / task_id, root / "answers" / task_id):
        folder.mkdir(parents=True)
    (root / "tasks" / f"{task_id}.toml").write_text(
        task_text(task_id, family, split, draft), encoding="utf-8"
    )
    (root / "fixtures" / task_id / draft.fixture).write_bytes(fixture)
    answer = json.dumps(draft.answer(), ensure_ascii=False, indent=1) + "\n"
    (root / "answers" / task_id / "answer.json").write_text(answer, encoding="utf-8")
    (root / "answers" / task_id / "solution.xlsx").write_bytes(packed(solved(draft, fixture)))


def generate(root: Path) -> int:
    """Write the whole set below `root`, replacing what was there; returns the number of tasks."""
    for name in ("tasks", "fixtures", "answers"):
        shutil.rmtree(root / name, ignore_errors=True)
    (root / "tasks").mkdir(parents=True)
    (root / "taskset.toml").write_text(MANIFEST, encoding="utf-8")
    made = list(drafts())
    numbers = list(range(1, len(made) + 1))
    Random("ids").shuffle(numbers)
    for number, (family, split, draft) in zip(numbers, made, strict=True):
        write_task(root, f"s-{number:03d}", family, split, draft)
    return len(made)


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent
    print(f"{generate(folder)} tasks in {folder}")
