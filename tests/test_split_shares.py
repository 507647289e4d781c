"""Shares of the splits in taskset.toml: what they do, and which are refused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from harness.errors import TaskError
from harness.task import load_taskset


def make(root: Path, shares: str, count: int = 200) -> Path:
    (root / "tasks").mkdir()
    (root / "taskset.toml").write_text(f'name = "shares"\n[splits]\n{shares}\n')
    for number in range(count):
        text = 'prompt = "Say yes."\n[[verifiers]]\nname = "exact"\nexpected = "yes"\n'
        (root / "tasks" / f"task-{number}.toml").write_text(text)
    return root


def test_tasks_fall_into_the_splits_by_their_shares(tmp_path: Path) -> None:
    taskset = load_taskset(make(tmp_path, "train = 0.5\nselection = 0.5\ntest = 0.0"))
    counts = Counter(task.split for task in taskset.tasks)
    assert counts["test"] == 0
    assert 70 <= counts["train"] <= 130
    assert counts["train"] + counts["selection"] == 200


@pytest.mark.parametrize("shares", ["train = 0.5", "train = -0.1\nselection = 0.8\ntest = 0.3", "test = 3.0"])
def test_shares_that_do_not_add_up_are_refused_with_the_file_named(tmp_path: Path, shares: str) -> None:
    with pytest.raises(TaskError, match=r"taskset\.toml"):
        load_taskset(make(tmp_path, shares, count=1))
