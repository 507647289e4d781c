"""Budgets of a run, as a user sets them: they bind, and what was paid for is not paid for again."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from scaffolded import skillopt, small_project


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return small_project(tmp_path)


def recorded(folder: Path) -> int:
    with sqlite3.connect(folder / ".skillopt/store.db") as db:
        return int(db.execute("select count(*) from rollouts").fetchone()[0])


def test_a_run_stops_before_it_goes_over_and_goes_on_with_a_larger_budget(folder: Path) -> None:
    stopped = skillopt(folder, "improve", "my-skill", "--epochs", "1", "--max-rollouts", "1")
    assert stopped.returncode == 2
    before = recorded(folder)
    assert before == 1
    assert "(1 rollouts" in stopped.stderr
    assert "does not cover the next " in stopped.stderr
    assert "--max-rollouts" in stopped.stderr
    done = skillopt(folder, "improve", "my-skill", "--epochs", "1", "--max-rollouts", "2000", "--json")
    report = json.loads(done.stdout)
    assert report["rollouts_paid_now"] == recorded(folder) - before
    assert report["rollouts"] == recorded(folder)


def test_a_limit_of_money_without_a_price_is_refused_and_with_one_is_taken(folder: Path) -> None:
    words = ["improve", "my-skill", "--model", "some-model", "--base-url", "http://127.0.0.1:9/v1"]
    refused = skillopt(folder, *words, "--max-money", "5", "--estimate", OPENAI_API_KEY="any")
    assert refused.returncode == 2
    assert "--price" in refused.stderr
    assert skillopt(folder, *words, "--max-money", "5", "--price", "1,2", "--estimate").returncode == 0
    assert skillopt(folder, "improve", "my-skill", "--max-money", "5", "--estimate").returncode == 0
