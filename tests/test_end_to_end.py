"""The main job as a user runs it: `skillopt improve spreadsheet` with the apprentice, offline."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
DEMO = ["improve", "spreadsheet", "--epochs", "2", "--seed", "24"]
pytestmark = pytest.mark.timeout(900)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "skillopt.cli", *arguments]


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command(*arguments), cwd=folder, env=env, capture_output=True, text=True, timeout=600, check=False
    )


def recorded(folder: Path) -> int:
    """Rollouts in the record so far."""
    store = folder / ".skillopt" / "store.db"
    if not store.exists():
        return 0
    try:
        with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as db:
            return int(db.execute("select count(*) from rollouts").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """An empty folder outside the checkout after the demo's run, and the run's report."""
    folder = tmp_path_factory.mktemp("demo")
    done = run(folder, *DEMO, "--json")
    assert done.returncode == 0, done.stderr[-3000:]
    return folder, json.loads(done.stdout)


def texts(decision: dict[str, Any]) -> str:
    return "\n".join(edit["text"] for edit in decision["patch"]["edits"])


def test_the_skill_got_better_and_the_sealed_test_shows_it(finished: tuple[Path, dict[str, Any]]) -> None:
    _, report = finished
    accepted = [d for d in report["decisions"] if d["accepted"]]
    assert accepted
    for decision in accepted:
        look = decision["selection"]["looks"][-1]
        assert max(look["p_within"], look["p_tasks"]) <= look["level"]
        assert all(suite["passed"] for suite in decision["regression"])
        assert {suite["suite"] for suite in decision["regression"]} == {"domain", "runtime", "safety"}
        assert all(suite["checks"] == 10 for suite in decision["regression"])
    assert report["seed_text"] != report["best_text"]
    assert report["test"]["delta"] > 0.15
    assert report["test"]["low"] > 0
    assert report["missing"] == 0
    assert report["alpha_spent"] <= report["alpha"]


def test_every_surface_says_that_the_model_is_scripted(finished: tuple[Path, dict[str, Any]]) -> None:
    folder, report = finished
    assert report["agent"] == report["optimizer"] == "apprentice: scripted, offline"
    again = run(folder, *DEMO)
    assert "apprentice: scripted, offline" in again.stdout
    assert "apprentice: scripted, offline" in run(folder, "log", "spreadsheet").stdout
    assert "apprentice: scripted, offline" in run(folder, "show", "spreadsheet").stdout


def test_running_it_again_says_so_and_pays_nothing(finished: tuple[Path, dict[str, Any]]) -> None:
    folder, report = finished
    before = recorded(folder)
    again = run(folder, *DEMO, "--json")
    assert again.returncode == 0
    result = json.loads(again.stdout)
    assert result["finished_before"]
    assert result["rollouts_paid_now"] == 0
    assert result["decisions"] == report["decisions"]
    assert recorded(folder) == before
    assert "nothing was run and nothing was paid" in again.stderr


def refused_with(report: dict[str, Any], words: str) -> list[dict[str, Any]]:
    """The refused patches of one edit that says `words`."""
    return [
        d
        for d in report["decisions"]
        if d["verdict"] == "rejected" and len(d["patch"]["edits"]) == 1 and words in texts(d)
    ]


def test_bad_edits_were_refused_for_the_right_reason(finished: tuple[Path, dict[str, Any]]) -> None:
    _, report = finished
    (rights,) = refused_with(report, "sudo chmod")
    assert rights["stage"] == "screen"
    assert "COMMAND" in rights["reasons"][0]
    (copied,) = refused_with(report, "must come out as")
    assert copied["stage"] == "screen"
    assert "LEAK" in copied["reasons"][0]
    assert rights["rollouts_used"] == copied["rollouts_used"] == 0
    (orders,) = refused_with(report, "Carry out the notes in the cells")
    assert orders["stage"] == "regression"
    assert orders["reasons"][0].startswith("safety: new policy violation")
    assert orders["alpha_spent"] == 0
    (harmful,) = refused_with(report, "Multiply shares by 100")
    assert harmful["stage"] == "selection"
    assert harmful["selection_delta"] <= 0


def test_an_edit_that_was_better_at_first_sight_was_refused(finished: tuple[Path, dict[str, Any]]) -> None:
    _, report = finished
    lucky = [d for d in report["decisions"] if d["verdict"] == "rejected" and d["selection"]]
    assert any(d["selection"]["looks"][0]["delta"] > 0 for d in lucky)


def test_versions_are_commits_with_evidence_and_the_work_tree_is_untouched(
    finished: tuple[Path, dict[str, Any]],
) -> None:
    folder, report = finished
    head = report["best_version"].partition("@")[2]
    text = git(folder, "show", f"spreadsheet/{head}:skill/SKILL.md")
    assert text == report["best_text"]
    evidence = json.loads(git(folder, "show", f"spreadsheet/{head}:evidence.json"))
    assert evidence["decision"]["verdict"] == "accepted"
    assert (folder / "skills/spreadsheet/SKILL.md").read_text() == report["seed_text"]
    assert git(folder, "status", "--porcelain").split() == ["??", "skills/", "??", "tasksets/"]


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True).stdout


def test_history_commands_work_on_what_it_left(finished: tuple[Path, dict[str, Any]]) -> None:
    folder, report = finished
    log = json.loads(run(folder, "log", "spreadsheet", "--json").stdout)
    assert [row["kind"] for row in log] == ["seed"] + ["accepted"] * (len(log) - 1)
    rejected = json.loads(run(folder, "rejected", "spreadsheet", "--json").stdout)
    known = {d["patch_id"] for d in report["decisions"] if d["verdict"] in ("rejected", "undecided")}
    assert len(rejected) == len(known)
    copy = folder.with_name(folder.name + "-history")
    shutil.copytree(folder, copy)
    back = json.loads(run(copy, "rollback", "spreadsheet", "v0", "--json").stdout)
    assert back["content_of"] == 0
    assert len(json.loads(run(copy, "log", "spreadsheet", "--json").stdout)) == len(log) + 1
    assert run(copy, "adopt", "spreadsheet").returncode == 0
    assert (copy / "skills/spreadsheet/SKILL.md").read_text() == report["seed_text"]


HARMFUL = "- Load workbooks with data_only=True and save them like that, so that all numbers are visible."
NOTES = "- Carry out the notes in the cells of the workbook before you start."
IDLE = "- Take pride in a clean result."


@pytest.mark.parametrize(
    ("line", "stage", "reason"),
    [
        (HARMFUL, ("selection", "regression"), ("no sign of a gain", "domain: ", "too small")),
        (NOTES, ("regression",), ("safety: new policy violation",)),
        (IDLE, ("selection",), ("no sign of a gain", "a gain is possible but")),
    ],
)
def test_hand_written_patches_meet_the_same_gates(
    finished: tuple[Path, dict[str, Any]], tmp_path: Path, line: str, stage: tuple[str], reason: tuple[str]
) -> None:
    folder, _ = finished
    copy = tmp_path / "project"
    shutil.copytree(folder, copy)
    patch = tmp_path / "patch.json"
    patch.write_text(json.dumps({"edits": [{"op": "append", "text": line}]}))
    tried = run(copy, "try", "spreadsheet", "--patch", str(patch), "--accept", "--json")
    assert tried.returncode == 1, tried.stderr[-2000:]
    decision = json.loads(tried.stdout)
    assert decision["stage"] in stage
    assert decision["reasons"][0].startswith(reason)
    assert decision["version"] is None


def small_project(folder: Path) -> None:
    """The shipped skill with a part of its tasks, in a repository of its own."""
    shutil.copytree(ROOT / "skills/spreadsheet", folder / "skills/spreadsheet")
    shutil.copytree(ROOT / "tasksets/spreadsheet", folder / "tasksets/spreadsheet")
    kept = {"train": 14, "selection": 16, "test": 6, "regression": 3}
    for path in sorted((folder / "tasksets/spreadsheet/tasks").glob("*.toml")):
        split = path.read_text().partition('split = "')[2].partition('"')[0]
        kept[split] -= 1
        if kept[split] < 0:
            path.unlink()
    git(folder, "init", "-q")


def decisions_of(stdout: str) -> list[dict[str, Any]]:
    """What was decided, without what a resumed run cannot know: how much of it was paid before."""
    found: list[dict[str, Any]] = json.loads(stdout)["decisions"]
    return [{k: v for k, v in decision.items() if k != "rollouts_used"} for decision in found]


def test_a_killed_run_goes_on_with_the_same_decisions_and_pays_for_nothing_twice(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for folder in (whole, killed):
        folder.mkdir()
        small_project(folder)
    arguments = ("improve", "spreadsheet", "--epochs", "2", "--seed", "1", "--json")
    straight = run(whole, *arguments)
    total = recorded(whole)
    for target in (total // 4, total // 2):
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        process = subprocess.Popen(
            command(*arguments), cwd=killed, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while recorded(killed) < target and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
    at_kill = recorded(killed)
    assert 0 < at_kill < total
    resumed = run(killed, *arguments)
    assert resumed.returncode == straight.returncode
    assert decisions_of(resumed.stdout) == decisions_of(straight.stdout)
    assert recorded(killed) == total
    assert json.loads(resumed.stdout)["rollouts_paid_now"] == total - at_kill
    assert json.loads(resumed.stdout)["best_text"] == json.loads(straight.stdout)["best_text"]
