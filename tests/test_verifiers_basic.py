"""The registry and combine; exact, file, trace and execution; collecting files from a real sandbox."""

# ruff: noqa: E501
from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.errors import SandboxError, TaskError, VerifierError
from harness.sandboxes.base import Limits
from harness.sandboxes.pool import SandboxPool
from harness.task import Task, VerifierSpec
from harness.trajectory import Event, Trajectory, VerifierResult
from harness.verifiers import combine, get_verifier, known_verifiers, verify
from harness.verifiers.checkers import InputBroke, checker_pool, run_checker
from harness.verifiers.collect import CollectLimits, collect


def make_task(root: Path, answers: Mapping[str, str] | None = None, **spec: Any) -> Task:
    for name, text in (answers or {}).items():
        (root / "answers/t").mkdir(parents=True, exist_ok=True)
        (root / "answers/t" / name).write_text(text)
    return Task(id="t", prompt="do it", root=root, verifiers=(VerifierSpec.model_validate(spec),))


def check(
    task: Task,
    answer: str = "",
    files: Mapping[str, bytes] | None = None,
    events: list[Event] | None = None,
    limits: Limits | None = None,
) -> VerifierResult:
    async def run() -> VerifierResult:
        trajectory = Trajectory(final_answer=answer, events=events or [])
        async with checker_pool("local", 1, limits or Limits()) as pool:
            (result,) = await verify(task, trajectory, files or {}, pool)
            return result

    return asyncio.run(run())


# Registry and combine


def test_every_registered_verifier_has_its_own_name() -> None:
    assert known_verifiers() == ("exact", "execution", "file", "policy", "trace", "workbook")
    assert [get_verifier(name).name for name in known_verifiers()] == list(known_verifiers())


def test_an_unknown_verifier_names_the_known_ones() -> None:
    with pytest.raises(TaskError, match=r"no verifier named 'exakt'.*exact, execution, file"):
        get_verifier("exakt")


def result(family: str, score: float) -> VerifierResult:
    return VerifierResult.model_validate(
        {"name": "x", "family": family, "passed": score == 1, "score": score}
    )


def test_combine_all_and_mean(tmp_path: Path) -> None:
    task = make_task(tmp_path, name="exact", expected="x")
    results = [result("exact", 1), result("artifact", 0.5), result("artifact", 1)]
    score, breakdown = combine(task, results)
    assert score == 0
    assert breakdown.model_dump(exclude_none=True) == {"final_answer_score": 1.0, "artifact_score": 0.75}
    assert combine(task, results[:1])[0] == 1
    mean, _ = combine(task.model_copy(update={"scoring": "mean"}), results)
    assert mean == pytest.approx(2.5 / 3)
    with pytest.raises(VerifierError):
        combine(task, [])


def test_a_crash_of_a_verifier_is_missing_data(tmp_path: Path) -> None:
    task = make_task(tmp_path, name="exact", expected="x")
    with pytest.raises(VerifierError, match="exact crashed on task t: AttributeError"):
        asyncio.run(verify(task, None, {}, None))  # type: ignore[arg-type]


# exact

EXACT = [
    # settings, answer, feedback after "the final answer: ", "" when it passes
    ({"expected": "Paris"}, "  Paris \n", ""),
    ({"expected": "Paris"}, "paris", "the text is not the right one"),
    ({"expected": "Paris", "case": False}, "PARIS", ""),
    ({"expected": "Paris"}, "", "the text is empty"),
    ({"expected": "a b"}, "a  b", "the text is not the right one"),
    ({"expected": "a b", "space": "collapse"}, " a \n b ", ""),
    ({"expected": "a", "space": "exact"}, "a\n", "the text is not the right one"),
    ({"mode": "number", "expected": 1234.5}, "$1,234.50", ""),
    ({"mode": "number", "expected": 1234.5}, "Rows: 3\nThe total is 1,234.5.", ""),
    ({"mode": "number", "expected": 1234.5}, "between 1234 and 1235", "the answer does not end with one number"),
    ({"mode": "number", "expected": 1234.5}, "1234.6", "the number is not the right one (got 1234.6)"),
    ({"mode": "number", "expected": 1234.5, "tolerance": 0.1}, "1234.6", ""),
    ({"mode": "number", "expected": -2}, "-2", ""),
    ({"mode": "number", "expected": 2}, "nan", "the answer is not a finite number"),
    ({"mode": "number", "expected": 2}, "1e999", "the answer is not a finite number"),
    ({"mode": "number", "expected": 2}, "two", "the answer does not end with one number"),
    ({"mode": "json", "expected": {"a": [1, True]}}, '{"a": [1.0, true]}', ""),
    ({"mode": "json", "expected": {"a": [1, True]}}, '{"a": [1, 1]}', "$.a[1]: the value is not the right one"),
    ({"mode": "json", "expected": {"a": 1}}, '{"a": 1, "b": 2}', "$: the keys are not the right ones"),
    ({"mode": "json", "expected": [1]}, "[1, 2]", "$: the list has 2 items, not the right number"),
    ({"mode": "json", "expected": [1]}, "[NaN]", "the JSON holds NaN"),
    ({"mode": "json", "expected": [1]}, "[1e999]", "the JSON holds a number that is too large"),
    ({"mode": "json", "expected": [1]}, '{"a":1,"a":2}', "the JSON has an object with the same key twice"),
    ({"mode": "json", "expected": [1]}, "[" * 100_000, "the JSON is nested too deeply"),
    ({"mode": "json", "expected": "[1]"}, "[1]", ""),
    ({"mode": "json", "expected": ["[[[["]}, '["' + "[" * 4 + '"]', ""),
    ({"mode": "one_of", "expected": ["yes", "true"]}, "true", ""),
    ({"mode": "one_of", "expected": ["yes", "true"]}, "no", "the text is not one of the accepted ones"),
    ({"mode": "contains", "expected": ["12", "Berlin"]}, "12 in Berlin", ""),
    ({"mode": "contains", "expected": ["12", "Berlin"]}, "12", "1 of 2 required texts are missing"),
    ({"mode": "regex", "expected": r"^\d{3}$"}, "123", ""),
    ({"mode": "regex", "expected": r"^\d{3}$"}, "1234", "the text does not have the right form"),
    ({"expected": "x"}, "x" * (2 << 20), "the text is too long to be an answer"),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "answer", "wrong"), EXACT)
def test_exact(tmp_path: Path, spec: dict[str, Any], answer: str, wrong: str) -> None:
    found = check(make_task(tmp_path, name="exact", **spec), answer)
    assert found.feedback == ((f"the final answer: {wrong}",) if wrong else ())
    assert found.passed is not bool(wrong)
    assert found.score == float(not wrong)


def test_exact_reads_hidden_answers_and_files(tmp_path: Path) -> None:
    task = make_task(tmp_path, {"a.txt": "42\n"}, name="exact", answer="a.txt", file="out.txt")
    assert check(task, "", {"out.txt": b"42"}).passed
    assert check(task, "42").feedback == ("the file out.txt was not made (found: no files)",)
    assert check(task, "", {"out.txt": b"\xff\xfe"}).feedback == ("out.txt: the text is not valid UTF-8",)
    task = make_task(tmp_path, {"a.json": "[1, 2]"}, name="exact", answer="a.json", mode="json")
    assert check(task, "[1,2]").passed


@pytest.mark.parametrize(
    "spec",
    [{}, {"mode": "nothing"}, {"expectd": "x"}, {"answer": "absent.txt"}, {"mode": "number", "expected": "x"}, {"expected": 3}, {"mode": "regex", "expected": "("}],
)  # fmt: skip
def test_exact_without_a_usable_answer_is_a_fault_of_the_task(tmp_path: Path, spec: dict[str, Any]) -> None:
    with pytest.raises(TaskError):
        check(make_task(tmp_path, name="exact", **spec), "x")


# file

FILE = [
    ({"expected": "a,b\n"}, b"a,b\n", ""),
    ({"expected": "a,b\n"}, b"a,b\r\n", "the content is not the right one"),
    ({"mode": "hash", "expected": hashlib.sha256(b"x").hexdigest()}, b"x", ""),
    ({"mode": "hash", "expected": hashlib.sha256(b"x").hexdigest()}, b"y", "the content is not the right one"),
    ({"mode": "text", "answer": "want.csv"}, b"a,b \r\n1,2", ""),
    ({"mode": "text", "answer": "want.csv"}, b"a,b\n1,3\n", "the text is not the right one"),
    ({"answer": "want.csv"}, b"a,b\n1,2\n", ""),
    ({"mode": "contains", "expected": "1,2"}, b"a,b\n1,2\n", ""),
    ({"mode": "json", "expected": {"a": 1.5}}, b'{"a": 1.5}', ""),
    ({"mode": "json", "expected": {"a": 1.5}, "tolerance": 0.01}, b'{"a": 1.501}', ""),
    ({"mode": "json", "expected": {"a": 1.5}}, b"{", "the text is not valid JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "data", "wrong"), FILE)
def test_file(tmp_path: Path, spec: dict[str, Any], data: bytes, wrong: str) -> None:
    task = make_task(tmp_path, {"want.csv": "a,b\n1,2\n"}, name="file", file="out.csv", **spec)
    found = check(task, files={"out.csv": data})
    assert found.feedback == ((f"out.csv: {wrong}",) if wrong else ())
    assert found.passed is not bool(wrong)


# trace


def call(name: str, **arguments: Any) -> Event:
    return Event(kind="tool_call", turn=1, data={"name": name, "arguments": arguments})


CALLS = [call("read_file", path="in.csv"), call("terminal", command="ls\nwc -l in.csv"), call("write_file", path="out.csv", content="x")]  # fmt: skip

TRACE = [
    ({"must_call": ["read_file", "write_file"]}, []),
    ({"must_call": ["python"]}, ["python was not called as required"]),
    ({"must_call": [{"tool": "terminal", "pattern": "^wc -l"}]}, ["terminal was not called as required"]),
    ({"must_call": [{"tool": "terminal", "pattern": "(?m)^wc -l"}]}, []),
    ({"must_not_call": ["terminal"]}, ["terminal was called but must not be"]),
    ({"must_not_call": [{"tool": "terminal", "pattern": "rm "}]}, []),
    ({"order": ["read_file", "write_file"]}, []),
    ({"order": ["write_file", "read_file"]}, ["the calls were not in order: write_file, then read_file"]),
    ({"order": ["read_file", "python"]}, ["the calls were not in order: read_file, then python"]),
    ({"max_calls": 3}, []),
    ({"max_calls": 2}, ["3 calls, more than 2"]),
    ({"pattern": r"out\.csv"}, []),
    ({"pattern": "xlsx"}, ["no call had the required arguments"]),
    ({"must_not_match": "in[.]csv"}, ["a call had arguments that are not allowed"]),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "feedback"), TRACE)
def test_trace(tmp_path: Path, spec: dict[str, Any], feedback: list[str]) -> None:
    found = check(make_task(tmp_path, name="trace", **spec), events=CALLS)
    assert list(found.feedback) == feedback
    assert found.passed is not bool(feedback)


def test_trace_scores_the_share_of_rules(tmp_path: Path) -> None:
    found = check(
        make_task(tmp_path, name="trace", must_call=["read_file", "python"], max_calls=1), events=CALLS
    )
    assert found.score == pytest.approx(1 / 3)
    with pytest.raises(TaskError, match="not a regular expression"):
        check(make_task(tmp_path, name="trace", must_call=[{"pattern": "("}]))


# execution

SCRIPT = """
import sys, json
from pathlib import Path
name, work, nonce = sys.argv
got = json.loads((Path(work) / "out.json").read_text())
print(nonce, 1.0 if got == json.loads(ANSWERS["want.json"]) else 0.25)
"""


def scripted(root: Path, script: str, **spec: Any) -> Task:
    return make_task(
        root, {"check.py": script, "want.json": "[1]"}, name="execution", script="check.py", **spec
    )


def test_script_reports_a_score(tmp_path: Path) -> None:
    task = scripted(tmp_path, SCRIPT)
    assert check(task, files={"out.json": b"[1]"}).passed
    found = check(task, files={"out.json": b"[2]"})
    assert (found.passed, found.score, found.feedback) == (False, 0.25, ("the check gave 0.25 of 1",))
    found = check(task)
    assert (found.score, found.feedback) == (0, ("the check did not come to an end on these files",))
    assert "FileNotFoundError" in found.evidence["stderr"]


@pytest.mark.parametrize(
    "script",
    [
        "",
        "print('1.0')",
        "import os; os._exit(0)",
        "import sys; print(sys.argv[2], 'nan')",
        "import sys; print(sys.argv[2], 7)",
        "import sys; print(sys.argv[2], 1); print(sys.argv[2], 1)",
        "import sys; print(sys.argv[2], 1); sys.exit(1)",
        "import sys; print(sys.argv[2] + 'x', 1)",
    ],
)
def test_an_exit_code_is_no_evidence(tmp_path: Path, script: str) -> None:
    found = check(scripted(tmp_path, script))
    assert (found.passed, found.score) == (False, 0.0)


def test_files_of_the_agent_are_not_imported_by_the_check(tmp_path: Path) -> None:
    script = "import sys, colorsys; print(sys.argv[2], 1)"
    evil = b"import os; os._exit(3)"
    assert check(scripted(tmp_path, script), files={"colorsys.py": evil, "sitecustomize.py": evil}).passed


STEAL = b"""
import glob, os, sys
for path in set(glob.glob("/proc/[0-9]*")) - {"/proc/" + str(os.getpid())}:
    for name in ("environ", "cmdline", "mem", "fd/1"):
        try:
            text = open(path + "/" + name, "rb").read(100000)
        except OSError:
            continue
        if sys.argv[1].encode()[::-1] in text:
            print("found in", path, name)
for root in ("/work", "/tmp", "/home", "/dev/shm"):
    for folder, _, names in os.walk(root):
        if "want.json" in names:
            print("found", folder)
"""


def test_programs_of_the_agent_see_neither_the_nonce_nor_the_answers(tmp_path: Path) -> None:
    script = (
        "import subprocess, sys\n"
        "argv = ['python3', sys.argv[1] + '/steal.py', sys.argv[2][::-1]]\n"
        "done = subprocess.run(argv, capture_output=True, text=True)\n"
        "print(done.stdout, done.stderr)\n"
        "print(sys.argv[2], int(done.returncode == 0 and not done.stdout))\n"
    )
    found = check(scripted(tmp_path, script), files={"steal.py": STEAL})
    assert found.passed, found


def test_command_gets_folders_and_nonce(tmp_path: Path) -> None:
    words = [
        "bash",
        "-c",
        'cmp "$1/out.json" "$2/want.json" && echo "$3 1"',
        "_",
        "{work}",
        "{answers}",
        "{nonce}",
    ]
    task = make_task(tmp_path, {"want.json": "[1]"}, name="execution", command=words)
    assert check(task, files={"out.json": b"[1]"}).passed
    assert not check(task, files={"out.json": b"[2]"}).passed


def test_a_check_that_hangs_is_a_failed_check(tmp_path: Path) -> None:
    task = scripted(tmp_path, "while True: pass")
    found = check(task, limits=Limits(timeout=0.3))
    assert (found.score, found.evidence["stderr"]) == (0, "it takes too long to read")


def test_execution_needs_one_of_script_and_command(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="either `script` or `command`"):
        check(make_task(tmp_path, name="execution"))


# checkers


def test_faults_of_the_sandbox_are_told_from_faults_of_the_input() -> None:
    async def run() -> None:
        async with checker_pool("local", 1) as pool, pool.slot() as sandbox:
            with pytest.raises(VerifierError, match="KeyError"):
                await run_checker(sandbox, "workbook_check:check", b"{}")
            with pytest.raises(InputBroke):
                await run_checker(sandbox, "script_run:run", json.dumps(KILLS_ITSELF).encode())
            await sandbox.close()
            with pytest.raises(SandboxError):
                await run_checker(sandbox, "workbook_check:check", b"{}")

    asyncio.run(run())


KILLS_ITSELF = {"script": "import os; os.kill(os.getpid(), 11)", "argv": ["x"], "answers": {}, "limit": 9}


# collect

MESS = """
import os
open("out.txt", "w").write("made")
open("in.csv", "a").write("more")
os.makedirs("a/b")
open("a/b/deep.txt", "w").write("deep")
os.symlink("/etc/passwd", "link.xlsx")
os.symlink("/etc", "folder")
os.mkfifo("pipe.xlsx")
with open("sparse.bin", "wb") as f: f.truncate(50 << 20)
open(b"bad\\xff", "w").write("x")
open("new\\nline", "w").write("x")
"""


def test_collect_reads_regular_files_only() -> None:
    before = {"in.csv": b"a,b\n", "same.csv": b"s"}

    async def run() -> Any:
        async with SandboxPool("local", 1) as pool, pool.slot() as sandbox:
            await sandbox.write({f"{sandbox.workdir}/{name}": data for name, data in before.items()})
            assert (await sandbox.python(MESS)).exit_code == 0
            return await collect(sandbox, before)

    artifacts, files = asyncio.run(run())
    refused = {artifact.path: artifact.refused for artifact in artifacts if artifact.refused}
    assert refused == {
        "link.xlsx": "link", "folder": "link", "pipe.xlsx": "not a regular file",
        "sparse.bin": "too large",
    }  # fmt: skip
    assert files == {
        "in.csv": b"a,b\nmore", "same.csv": b"s", "out.txt": b"made", "a/b/deep.txt": b"deep", "new\nline": b"x",
        "bad\\xff": b"x",
    }  # fmt: skip
    made = {artifact.path: artifact.blob for artifact in artifacts if not artifact.refused}
    assert made.keys() == {"in.csv", "out.txt", "a/b/deep.txt", "new\nline", "bad\\xff"}
    assert made["out.txt"] == hashlib.sha256(b"made").hexdigest()


def test_collect_keeps_to_its_caps() -> None:
    async def run() -> Any:
        async with SandboxPool("local", 1) as pool, pool.slot() as sandbox:
            await sandbox.write({f"{sandbox.workdir}/{i}.txt": b"12345" for i in range(6)})
            by_count = await collect(sandbox, {}, CollectLimits(files=2))
            by_size = await collect(sandbox, {}, CollectLimits(total_bytes=17))
            return by_count, by_size

    (first, two), (second, three) = asyncio.run(run())
    assert (len(two), [a.refused for a in first].count("too many files")) == (2, 4)
    assert (len(three), [a.refused for a in second].count("too much data")) == (3, 3)
