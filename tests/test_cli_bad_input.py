"""Bad input on the command line: exit code 2, one sentence and the remedy, no traceback."""

from __future__ import annotations

import fcntl
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from scaffolded import small_project

from harness.skill import load_skill
from skillopt.cli import run
from skillopt.versions import SkillHistory


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A scaffolded project with two versions, as the current folder, without an endpoint."""
    folder = small_project(tmp_path / "project", "demo")
    seed = load_skill(folder / "skills/demo")
    history = SkillHistory(folder / "skills/demo", "demo")
    history.commit(seed, "seed", "the seed", {})
    history.commit(seed.with_text(seed.text + "- Count twice.\n"), "accepted", "better", {"patch_id": "p"})
    (folder / "idle.json").write_text('{"edits": [{"op": "append", "text": "- Be kind."}]}')
    monkeypatch.chdir(folder)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    (folder / ".skillopt").mkdir()
    return folder


SKILL = "skills/demo/SKILL.md"
TASKS = "tasksets/demo/tasks"
Break = Callable[[Path], object]


def put(path: str, text: str) -> Break:
    return lambda folder: (folder / path).write_text(text)


def swap(path: str, old: str, new: str) -> Break:
    def change(folder: Path) -> None:
        text = (folder / path).read_text()
        assert old in text
        (folder / path).write_text(text.replace(old, new))

    return change


def drop(path: str) -> Break:
    return lambda folder: (folder / path).unlink()


def without_git(folder: Path) -> None:
    shutil.rmtree(folder / ".git")


def records_are_a_file(folder: Path) -> None:
    shutil.rmtree(folder / ".skillopt")
    (folder / ".skillopt").write_text("")


def foreign_branch(folder: Path) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    for words in (["commit", "--allow-empty", "-qm", "x"], ["branch", "-f", "skillopt/demo"]):
        subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def nothing(_folder: Path) -> None:
    pass


LOG, IMPROVE = ["log", "demo"], ["improve", "demo"]
BODY = "---\nname: demo\ndescription: d\n"
BAD: dict[str, tuple[Break, list[str], str]] = {
    "no such skill": (nothing, ["log", "nothing"], "Make one with: skillopt init nothing"),
    "folder without a skill": (
        nothing,
        ["log", "tasksets"],
        "holds no SKILL.md. Name a folder that holds one.",
    ),
    "no front matter": (put(SKILL, "# Demo\n"), LOG, "has no front matter. Start it with a block"),
    "bad YAML": (put(SKILL, "---\nname: [demo\n---\n"), LOG, "is not valid YAML"),
    "duplicate key": (put(SKILL, BODY + "name: demo\n---\n"), LOG, "found duplicate key"),
    "wrong name": (put(SKILL, BODY.replace("demo", "other") + "---\n"), LOG, "Make the two names equal."),
    "no description": (put(SKILL, "---\nname: demo\n---\n"), LOG, "Add a line such as: description: ..."),
    "not UTF-8": (lambda f: (f / SKILL).write_bytes(b"\xff\xfe"), LOG, "Save it as UTF-8 text."),
    "no task set": (
        lambda f: shutil.rmtree(f / "tasksets/demo"),
        LOG,
        "There is no task set demo. Make one in",
    ),
    "unknown task set": (nothing, [*IMPROVE, "--tasks", "none"], "There is no task set none. Make one in"),
    "bad TOML": (put(f"{TASKS}/tools.toml", "prompt = "), LOG, "is not valid TOML"),
    "bad manifest": (put("tasksets/demo/taskset.toml", "name = 3\n"), LOG, "taskset.toml: name:"),
    "bad field": (swap(f"{TASKS}/tools.toml", "timeout_sec = 60", "timeout_sec = -1"), LOG, "timeout_sec"),
    "no verifier": (
        put(f"{TASKS}/new.toml", 'prompt = "x"\n'),
        LOG,
        'Add a line such as: verifier = "exact"',
    ),
    "unknown verifier": (swap(f"{TASKS}/tools.toml", '"exact"', '"exakt"'), LOG, "exakt"),
    "unknown toolset": (
        put(f"{TASKS}/n.toml", 'prompt="x"\nverifier="exact"\ntoolsets=["x"]'),
        LOG,
        "toolset",
    ),
    "missing fixture": (
        put(f"{TASKS}/new.toml", 'prompt = "x"\nverifier = "exact"\nfixture = "gone"\n'),
        LOG,
        "names the fixture 'gone', which is missing or empty. Put the files into",
    ),
    "unreadable workbook": (
        put("tasksets/demo/fixtures/tools/t.xlsx", "no workbook"),
        LOG,
        "t.xlsx of task tools cannot be read: File is not a zip file. Save it again as .xlsx",
    ),
    "duplicate ids": (
        put(f"{TASKS}/new.toml", 'id="tools"\nprompt="x"\nverifier="exact"'),
        LOG,
        "another id",
    ),
    "no tasks": (lambda f: shutil.rmtree(f / TASKS), LOG, "has no tasks. Add files to"),
    "empty train split": (drop(f"{TASKS}/guests.toml"), IMPROVE, 'give some the line: split = "train"'),
    "empty selection split": (
        drop(f"{TASKS}/tools.toml"),
        IMPROVE,
        'give some the line: split = "selection"',
    ),
    "empty test split": (drop(f"{TASKS}/books.toml"), ["eval", "demo", "--split", "test"], 'split = "test"'),
    "unknown split": (
        nothing,
        ["eval", "demo", "--split", "dev"],
        "Choose train, selection, test or regression.",
    ),
    "patch does not apply": (
        put("p.json", '{"edits": [{"op": "delete", "anchor": "not there"}]}'),
        ["try", "demo", "--patch", "p.json"],
        "Name a text that stands there exactly once.",
    ),
    "diff does not apply": (
        put("p.diff", "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n"),
        ["try", "demo", "--patch", "p.diff"],
        "Make it again from the version it is meant for.",
    ),
    "no patch file": (nothing, ["try", "demo", "--patch", "none"], "cannot be read"),
    "no candidate file": (nothing, ["try", "demo", "--candidate", "none"], "cannot be read"),
    "nothing to try": (nothing, ["try", "demo"], "Give either --patch FILE or --candidate FILE."),
    "no repository": (
        without_git,
        LOG,
        "is not in a git repository, where accepted versions are kept. Run: git",
    ),
    "foreign branch": (foreign_branch, LOG, "Move that branch away: git branch -m skillopt/demo"),
    "records unwritable": (records_are_a_file, LOG, "Make it writable, or run from a folder that is."),
    "corrupt record": (
        put(".skillopt/store.db", "no database " * 99),
        LOG,
        "a damaged file can be moved away",
    ),
    "unknown model": (nothing, [*IMPROVE, "--model", "gpt-x"], "Set OPENAI_API_KEY"),
    "bad URL": (nothing, [*IMPROVE, "--model", "m", "--base-url", "here"], "http://127.0.0.1:8000/v1"),
    "bad price": (nothing, [*IMPROVE, "--price", "cheap"], "Write it as two numbers: --price 0.5,1.5"),
    "unknown sandbox": (nothing, [*IMPROVE, "--sandbox", "jail"], "jail"),
    "unknown version": (nothing, ["show", "demo", "v9"], "It has v0 to v1 (skillopt log)."),
    "unknown version to measure": (nothing, ["eval", "demo", "--version", "v9"], "It has v0 to v1"),
    "nothing to roll back": (nothing, ["rollback", "demo", "v1"], "There is nothing to roll back."),
    "adopt over an edit": (
        swap(SKILL, "Read", "Look at"),
        ["adopt", "demo"],
        "skillopt try demo --candidate",
    ),
    "init twice": (nothing, ["init", "demo"], "exists already. Choose another name"),
    "bad new name": (nothing, ["init", "My Skill"], "Use a-z, 0-9 and single hyphens"),
    "unknown command": (nothing, ["frobnicate"], "No such command 'frobnicate'. See: skillopt --help"),
    "unknown option": (nothing, [*LOG, "--nope"], "No such option: --nope. See: skillopt --help"),
    "bad number": (nothing, [*IMPROVE, "--epochs", "0"], "See: skillopt --help"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_sentence_with_the_remedy(
    project: Path, case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil, arguments, said = BAD[case]
    spoil(project)
    assert run(arguments) == 2
    shown = capsys.readouterr()
    (line,) = shown.err.splitlines()
    assert line.startswith("skillopt: ")
    assert said in line
    assert "Traceback" not in shown.out


@pytest.mark.parametrize(
    "arguments", [["rollback", "demo", "v0"], ["improve", "demo"], ["try", "demo", "--patch", "idle.json"]]
)
def test_a_second_run_while_one_is_at_work_is_refused_and_changes_nothing(
    project: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with (project / ".skillopt/demo.lock").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert run(arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line == (
        "skillopt: Another run is working on demo. Wait until it ends, or stop it; this one changed nothing."
    )
    assert run(["log", "demo", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 2


def test_a_folder_below_a_file_cannot_take_a_new_skill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "skills").write_text("a file")
    monkeypatch.chdir(tmp_path)
    assert run(["init", "demo"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("skillopt: The skill cannot be written")
    assert line.endswith("Run this in a folder that you may write to.")
    assert run(["log", "spreadsheet"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("Run from a folder that is.")
