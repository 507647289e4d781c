"""Hidden answers and task ids in an edit are found, however they are written; words like them are not."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from scaffolded import small_project

from harness.redact import Redactor
from harness.skill import load_skill
from harness.task import load_taskset
from skillopt.gates.screen import Secrets, check_text, leaks, telling_number
from skillopt.session import collect_secrets

SECRETS = Secrets(
    numbers=frozenset({"98231.4", "46203"}),
    texts=frozenset({"kx-4471", "north harbour depot", "a:77/9"}),
    task_ids=frozenset({"s-014", "sum-hidden-rows"}),
)


def faults(text: str) -> list[tuple[str, str]]:
    return list(check_text(text, SECRETS, Redactor()))


@pytest.mark.parametrize(
    "text",
    [
        "98231.4",
        "98,231.40",
        "98\u00a0231.40",
        "98\u202f231.40",
        "98'231.40",
        "98_231.40",
        "98.231,40",
        "-98231.40",
        "9 8 2 3 1.4",
        "１２, 98231.40",
        "٩٨٢٣١.٤٠",
        "12, 98231.40",
        "(98231.40)",
        "$98231.40",
        "=98231.4+0",
        "46203",
        "46 203",
        "46203.00",
        base64.b64encode(b"the total is 98231.40").decode(),
        base64.b64encode(b"98231.40").decode(),
        base64.urlsafe_b64encode(b"??>>98231.40").decode().rstrip("="),
        b"98231.40".hex(),
        "KX-4471",
        "kx-4471.",
        "KX-4471/b",
        "ＫＸ-4471",
        "A:77/9",
        "North\nHarbour   Depot",
        base64.b64encode(b"see KX-4471").decode(),
    ],
)
def test_a_hidden_answer_is_found_however_it_is_written(text: str) -> None:
    assert leaks(f"- Answer {text} here.", SECRETS)
    assert ("LEAK", leaks(f"- Answer {text} here.", SECRETS)[0]) in faults(f"- Answer {text} here.")


@pytest.mark.parametrize(
    "text", ["98231", "982314", "8231.40", "XKX-4471", "KX-44715", "north harbour", "harbour depot", "462"]
)
def test_what_only_looks_like_an_answer_is_no_leak(text: str) -> None:
    assert leaks(f"- Answer {text} here.", SECRETS) == []


@pytest.mark.parametrize("text", ["s-014", "S-014:", "(sum-hidden-rows)", "`sum-hidden-rows`"])
def test_task_ids_are_leaks(text: str) -> None:
    assert [code for code, _ in faults(f"- In {text} take column B.")] == ["LEAK"]


def test_parts_of_a_task_id_are_no_leak() -> None:
    assert leaks("- Sum the hidden rows, s-01 and s-0145 are ranges.", SECRETS) == []


TASK = """
prompt = "What is the code of 2024?"
[[verifiers]]
name = "exact"
expected = "KX-4471"
[[verifiers]]
name = "exact"
mode = "one_of"
expected = [98231.40, "North Harbour Depot", true, 7]
"""


def test_answers_are_collected_from_files_and_from_the_verifiers_settings(tmp_path: Path) -> None:
    folder = small_project(tmp_path, "demo")
    tasks = folder / "tasksets/demo"
    (tasks / "tasks/new-task.toml").write_text(TASK)
    (tasks / "answers/tools").mkdir()
    (tasks / "answers/tools/cells.json").write_text(
        '{"cells": [{"sheet": "Report 2020", "cell": "B12345", "value": 46203}], "note": ["ZZ-900017"]}'
    )
    found = collect_secrets(load_taskset(tasks), load_skill(folder / "skills/demo"))
    assert found.numbers == {"98231.4", "46203"}
    assert found.texts == {"kx-4471", "north harbour depot", "zz-900017"}


def test_what_a_prompt_says_and_common_words_are_no_secrets(tmp_path: Path) -> None:
    folder = small_project(tmp_path, "demo")
    tasks = folder / "tasksets/demo"
    (tasks / "tasks/new-task.toml").write_text(TASK.replace("2024", "KX-4471"))
    found = collect_secrets(load_taskset(tasks), load_skill(folder / "skills/demo"))
    assert found.texts == {"north harbour depot"}
    assert found.task_ids == {"new-task"}  # The others are `guests`, `tools` and `books`.


@pytest.mark.parametrize(
    ("number", "telling"),
    [
        ("46203", True),
        ("98231.4", True),
        ("12.75", True),
        ("1,234.50", True),
        ("2024", False),
        ("1999", False),
        ("10000", False),
        ("999", False),
        ("12.5", False),
        ("3.14", False),
        ("A1", False),
    ],
)
def test_only_rare_numbers_give_an_answer_away(number: str, telling: bool) -> None:
    assert telling_number(number) is telling
