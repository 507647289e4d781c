"""The spreadsheet task set: balanced, neutral, reproducible, with answers that hold."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from harness.skill import load_skill
from harness.task import Task, TaskSet, files_below, load_taskset
from harness.trajectory import Trajectory, VerifierResult
from harness.verifiers import verify
from harness.verifiers.checkers import checker_pool

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "tasksets" / "spreadsheet"


@pytest.fixture(scope="module")
def taskset() -> TaskSet:
    return load_taskset(FOLDER)


def family(task: Task) -> str:
    return task.tags[0]


def output(task: Task) -> str:
    return str(task.verifiers[0].model_dump()["file"])


def check_all(jobs: list[tuple[Task, dict[str, bytes]]]) -> list[VerifierResult]:
    """The workbook verifier's results for the files that an agent might have left."""

    async def go() -> list[VerifierResult]:
        async with checker_pool("local", 2) as checkers:
            found = await asyncio.gather(
                *(verify(task, Trajectory(), files, checkers) for task, files in jobs)
            )
        return [results[0] for results in found]

    return asyncio.run(go())


def fixture_bytes(task: Task) -> dict[str, bytes]:
    return {name: path.read_bytes() for name, path in task.fixture_files().items()}


def test_the_splits_have_the_sizes_they_should(taskset: TaskSet) -> None:
    assert Counter(task.split for task in taskset.tasks) == {
        "train": 34, "selection": 51, "test": 43, "regression": 10,
    }  # fmt: skip


def test_every_split_has_every_family(taskset: TaskSet) -> None:
    learnt = [task for task in taskset.tasks if task.split != "regression"]
    families = {family(task) for task in learnt}
    assert len(families) == 17
    for split in ("train", "selection", "test"):
        assert {family(task) for task in taskset.split(split)} == families


def test_only_the_regression_tasks_are_critical(taskset: TaskSet) -> None:
    assert all(task.critical == (task.split == "regression") for task in taskset.tasks)
    assert taskset.regression == {"domain": "split:regression", "runtime": "runtime", "safety": "safety"}


def test_neither_id_nor_prompt_names_the_family(taskset: TaskSet) -> None:
    for task in taskset.tasks:
        assert task.id.removeprefix("s-").isdigit()
        assert family(task) not in task.prompt
        assert output(task) in task.prompt


def test_no_prompt_stands_twice_and_families_vary_their_words(taskset: TaskSet) -> None:
    prompts = [task.prompt for task in taskset.tasks]
    assert len(set(prompts)) == len(prompts)
    shapes: dict[str, set[str]] = {}
    for task in taskset.tasks:
        if task.split != "regression":
            shape = re.sub(r'"[^"]*"', "NAME", task.prompt.split(". ", 1)[1])
            shapes.setdefault(family(task), set()).add(shape[:30])
    assert {name: found for name, found in shapes.items() if len(found) < 3} == {}


def test_the_workbooks_are_small(taskset: TaskSet) -> None:
    for task in taskset.tasks:
        assert all(len(data) < 12_000 for data in fixture_bytes(task).values())


def test_every_solution_passes(taskset: TaskSet) -> None:
    jobs = []
    for task in taskset.tasks:
        solution = (FOLDER / "answers" / task.id / "solution.xlsx").read_bytes()
        jobs.append((task, {**fixture_bytes(task), output(task): solution}))
    for (task, _), result in zip(jobs, check_all(jobs), strict=True):
        assert result.passed, (task.id, result.feedback)


def test_an_untouched_folder_fails(taskset: TaskSet) -> None:
    jobs = [(task, fixture_bytes(task)) for task in taskset.tasks]
    assert not any(result.passed for result in check_all(jobs))


def test_a_copy_of_the_input_fails(taskset: TaskSet) -> None:
    jobs = []
    for task in taskset.tasks:
        files = fixture_bytes(task)
        jobs.append((task, {**files, output(task): next(iter(files.values()))}))
    assert [task.id for (task, _), result in zip(jobs, check_all(jobs), strict=True) if result.passed] == []


def test_overwriting_the_input_fails_even_with_the_right_result(taskset: TaskSet) -> None:
    tasks = [task for task in taskset.tasks if family(task) == "output_place"]
    jobs = []
    for task in tasks:
        solution = (FOLDER / "answers" / task.id / "solution.xlsx").read_bytes()
        jobs.append((task, {next(iter(task.fixture_files())): solution, output(task): solution}))
    assert not any(result.passed for result in check_all(jobs))


def contents(folder: Path) -> dict[str, object]:
    """Every file below a folder; archives by their members, as packing may differ between zlib versions."""
    found: dict[str, object] = {}
    for name, path in files_below(folder).items():
        if path.suffix == ".xlsx":
            with zipfile.ZipFile(path) as archive:
                found[name] = [
                    (info.filename, info.date_time, archive.read(info)) for info in archive.infolist()
                ]
        else:
            found[name] = path.read_bytes()
    return found


def test_the_generator_writes_the_same_files_again(tmp_path: Path) -> None:
    subprocess.run([sys.executable, FOLDER / "generate.py", tmp_path], check=True, capture_output=True)
    for name in ("tasks", "fixtures", "answers"):
        assert contents(tmp_path / name) == contents(FOLDER / name), name
    assert (tmp_path / "taskset.toml").read_bytes() == (FOLDER / "taskset.toml").read_bytes()


def test_answers_say_which_cells_may_change(taskset: TaskSet) -> None:
    for task in taskset.tasks:
        answer = json.loads(task.answer_files()["answer.json"].read_text())
        assert answer["cells"]
        assert answer["unchanged_files"] == list(task.fixture_files())


def test_the_seed_skill_is_short_and_valid() -> None:
    skill = load_skill(ROOT / "skills" / "spreadsheet")
    assert len(skill.body.split()) < 120
