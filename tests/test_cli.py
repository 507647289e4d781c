"""The command line: documented, quick to load, JSON that is JSON, and what each command does."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from scaffolded import ROOT, small_project

from skillopt.cli import app, run

RULE = "- Skip blank lines and comment lines (lines that start with #) when you count the entries."


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scaffolded project with v0 and an accepted v1."""
    folder = small_project(tmp_path_factory.mktemp("cli") / "project", "demo")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        (folder / "rule.json").write_text(json.dumps({"edits": [{"op": "append", "text": RULE}]}))
        assert run(["try", "demo", "--patch", "rule.json", "--accept"]) == 0
        idle = {"edits": [{"op": "append", "text": "- Run sudo first."}]}
        (folder / "idle.json").write_text(json.dumps(idle))
        assert run(["try", "demo", "--patch", "idle.json"]) == 1
    return folder


@pytest.fixture
def project(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the finished project, as the current folder, without an endpoint in the environment."""
    folder = tmp_path / "project"
    shutil.copytree(finished, folder)
    monkeypatch.chdir(folder)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return folder


# Help.

GROUP = typer.main.get_command(app)


def commands() -> dict[str, Any]:
    """Every command by the words that call it."""
    found: dict[str, Any] = {}
    for name, command in GROUP.commands.items():  # type: ignore[attr-defined]
        below = getattr(command, "commands", None)
        found |= {f"{name} {sub}": inner for sub, inner in below.items()} if below else {name: command}
    return found


COMMANDS = {
    "improve", "try", "eval", "log", "show", "diff", "rollback", "adopt", "rejected", "init", "doctor",
    "apprentice serve",
}  # fmt: skip


def test_the_commands_are_these() -> None:
    assert set(commands()) == COMMANDS


@pytest.mark.parametrize("words", sorted(COMMANDS))
def test_help_documents_each_command_and_each_of_its_options(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*words.split(), "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    command = commands()[words]
    assert len(command.help) > 20
    assert command.help.split("\n")[0][:60] in shown
    for parameter in command.params:
        assert parameter.help, f"{words}: {parameter.name} has no help"
        name = max(parameter.opts, key=len) if parameter.opts[0].startswith("-") else parameter.name
        assert name.lower() in shown.lower()


def test_the_top_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    listed = {line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("  ")}
    assert {words.split()[0] for words in COMMANDS} <= listed


def test_the_version_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    from skillopt import __version__

    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"skillopt {__version__}\n"


HEAVY = ("openai", "scipy", "numpy", "git", "openpyxl", "pydantic", "sqlite_utils", "formualizer", "ruamel")


def test_loading_the_command_line_loads_nothing_heavy() -> None:
    source = f"import sys, skillopt.cli; print([name for name in {HEAVY} if name in sys.modules])"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", source], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# JSON.


def patched_copy(folder: Path) -> None:
    path = folder / "skills/demo/SKILL.md"
    (folder / "whole.md").write_text(path.read_text() + "- Take pride in a clean result.\n")


JSON_CALLS: dict[str, tuple[list[str], int]] = {
    "log": (["log", "demo"], 0),
    "show": (["show", "demo", "v0"], 0),
    "rejected": (["rejected", "demo"], 0),
    "rollback": (["rollback", "demo", "v0"], 0),
    "adopt": (["adopt", "demo"], 0),
    "adopt, dry": (["adopt", "demo", "--dry-run"], 0),
    "estimate": (["improve", "demo", "--estimate"], 0),
    "improve": (["improve", "demo", "--epochs", "1", "--tests", "1"], 1),
    "try": (["try", "demo", "--candidate", "whole.md"], 1),
    "eval": (["eval", "demo", "--split", "train"], 0),
    "init": (["init", "another"], 0),
    "doctor": (["doctor"], 0),
}


@pytest.mark.parametrize("name", JSON_CALLS)
def test_json_is_all_that_stands_on_stdout(
    project: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, code = JSON_CALLS[name]
    patched_copy(project)
    assert run([*arguments, "--json"]) == code
    captured = capsys.readouterr()
    assert json.loads(captured.out)
    assert "Traceback" not in captured.err


def test_every_command_that_shows_a_result_has_json() -> None:
    with_json = {
        name for name, command in commands().items() if any("--json" in p.opts for p in command.params)
    }
    assert with_json == COMMANDS - {"diff", "apprentice serve"}
    assert with_json == {arguments[0] for arguments, _ in JSON_CALLS.values()}


# What the commands do to a project.


def read(project: Path) -> str:
    return (project / "skills/demo/SKILL.md").read_text()


def test_log_show_and_diff_tell_the_versions(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "demo", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["version"], row["kind"]) for row in rows] == [("demo@v0", "seed"), ("demo@v1", "accepted")]
    assert run(["show", "demo"]) == 0
    assert RULE in capsys.readouterr().out
    assert run(["diff", "demo"]) == 0
    assert f"+{RULE}" in capsys.readouterr().out.splitlines()


def test_rejected_shows_the_patch_and_the_reason(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rejected", "demo", "--json"]) == 0
    (item,) = json.loads(capsys.readouterr().out)
    assert item["candidate_patch"]["edits"][0]["text"] == "- Run sudo first."
    assert item["rejection_reason"] == "COMMAND: sudo"
    assert (item["verdict"], item["stage"]) == ("rejected", "screen")
    assert run(["rejected", "demo"]) == 0
    assert "COMMAND: sudo" in capsys.readouterr().out


def test_adopt_writes_the_head_and_a_dry_run_does_not(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = read(project)
    assert run(["adopt", "demo", "--dry-run"]) == 0
    assert "would be written" in capsys.readouterr().out
    assert read(project) == before
    (project / "skills/demo/SKILL.md").chmod(0o640)
    assert run(["adopt", "demo"]) == 0
    assert read(project) == before + RULE + "\n"
    assert (project / "skills/demo/SKILL.md").stat().st_mode & 0o777 == 0o640
    assert [path.name for path in (project / "skills/demo").iterdir()] == ["SKILL.md"]
    capsys.readouterr()
    assert run(["adopt", "demo"]) == 0
    assert "is demo@v1 already" in capsys.readouterr().out


def test_rollback_and_adopt_bring_the_old_text_back(project: Path) -> None:
    seed = read(project)
    assert run(["adopt", "demo"]) == 0
    assert read(project) != seed
    assert run(["rollback", "demo", "v0"]) == 0
    assert run(["adopt", "demo"]) == 0
    assert read(project) == seed


def test_a_skill_may_be_named_by_its_path(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(["log", "skills/demo"]) == 0
    monkeypatch.chdir(project / "tasksets")
    assert run(["log", str(project / "skills/demo")]) == 0


def test_doctor_names_what_is_wrong_and_how_to_mend_it(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    monkeypatch.chdir(bare)
    assert run(["doctor", "--model", "gpt-x", "--json"]) == 2
    rows = {row["check"]: row for row in json.loads(capsys.readouterr().out)}
    assert set(rows) == {"sandbox", "git", "endpoint", "disk"}
    assert not rows["git"]["ok"]
    assert rows["git"]["remedy"] == "Run: git init"
    assert not rows["endpoint"]["ok"]
    assert "OPENAI_API_KEY" in rows["endpoint"]["remedy"]
    assert rows["sandbox"]["ok"]


def test_nothing_asked_shows_the_help_and_is_no_success(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 2
    shown = capsys.readouterr()
    assert "Usage: skillopt" in shown.out + shown.err
    assert "skillopt: " not in shown.err


def test_a_fault_of_ours_is_no_verdict(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fault(*_arguments: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("skillopt.places.find_place", fault)
    assert run(["log", "demo"]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("skillopt: This is a fault in skillopt")


def test_an_interrupt_ends_with_130(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("skillopt.places.find_place", interrupt)
    assert run(["log", "demo"]) == 130
    assert "the same command goes on from there" in capsys.readouterr().err
