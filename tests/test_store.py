"""The record: written once, found again by its key, safe to share, and plain about what is wrong with it."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any

import pytest
from scaffolded import ROOT

from harness.errors import StoreError
from harness.redact import Redactor
from harness.store import TrajectoryStore
from harness.trajectory import Artifact, Event, RunResult, Trajectory, Usage


def result_of(key: str, score: float | None = 1.0, **more: Any) -> RunResult:
    fields: dict[str, Any] = {
        "run_id": "r",
        "key": key,
        "task_id": "t",
        "model": "m",
        "skill_version": "s@v1#abc",
        "toolset": ("python",),
        "stream": "pool",
        "attempt": 0,
        "completed": score is not None,
        "score": score,
    }
    return RunResult(**{**fields, **more})


def rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    """What another program reads in the file."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        return db.execute(query).fetchall()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "records" / "store.db"


def test_the_file_is_in_write_ahead_mode_so_that_readers_do_not_wait(path: Path) -> None:
    store = TrajectoryStore(path)
    assert rows(path, "pragma journal_mode") == [("wal",)]
    with sqlite3.connect(path) as reader:
        reader.execute("begin")
        assert reader.execute("select count(*) from rollouts").fetchone() == (0,)
        store.put_rollout(result_of("k"), Trajectory(), {})  # the open reader does not block it
        assert reader.execute("select count(*) from rollouts").fetchone() == (0,)
    assert rows(path, "select count(*) from rollouts") == [(1,)]


def test_a_rollout_is_found_by_its_key_with_all_that_it_recorded(path: Path) -> None:
    store = TrajectoryStore(path)
    trajectory = Trajectory(
        events=[Event(kind="message", turn=0, data={"role": "user", "content": "hé\n"})], final_answer="42"
    )
    made = result_of("k", 0.5, artifacts=[Artifact(path="out.txt", size=3)], token_usage=Usage(requests=2))
    stored = store.put_rollout(made, trajectory, {"out.txt": b"a\x00b"})
    store.close()
    again = TrajectoryStore(path)
    found = again.rollout("k")
    assert found == stored
    assert found is not None
    assert (found.score, found.token_usage.requests) == (0.5, 2)
    assert again.trajectory(found) == trajectory
    assert again.get_blob(found.artifacts[0].blob) == b"a\x00b"
    assert again.rollout("another") is None


def test_a_rollout_is_never_changed_after_it_was_written(path: Path) -> None:
    store = TrajectoryStore(path)
    store.put_rollout(result_of("k", 1.0), Trajectory(final_answer="first"), {})
    before = rows(path, "select * from rollouts")
    store.put_rollout(result_of("k", 0.0), Trajectory(final_answer="second"), {})
    assert rows(path, "select * from rollouts") == before
    kept = store.rollout("k")
    assert kept is not None
    assert kept.score == 1
    assert store.trajectory(kept).final_answer == "first"


def test_who_comes_second_with_a_key_gets_the_row_that_is_there(path: Path) -> None:
    """Two runs of one key: the caller must go on with what the record says, or a rerun decides otherwise."""
    store = TrajectoryStore(path)
    store.put_rollout(result_of("k", 1.0), Trajectory(), {})
    assert store.put_rollout(result_of("k", 0.0), Trajectory(), {}).score == 1


def test_missing_data_is_no_rollout(path: Path) -> None:
    store = TrajectoryStore(path)
    store.put_fault(result_of("k", None, error="ModelUnavailable: rate limited"))
    assert store.rollout("k") is None
    assert store.rollouts("r") == []
    assert store.spent("r")["rollouts"] == 0
    assert store.faults("r") == ["ModelUnavailable: rate limited"]
    with pytest.raises(AssertionError):
        store.put_rollout(result_of("k", None), Trajectory(), {})
    with sqlite3.connect(path) as db, pytest.raises(sqlite3.IntegrityError):
        db.execute("insert into rollouts (key, score, result) values ('x', null, '{}')")


def test_payloads_lie_under_their_hash_once_and_compressed(path: Path) -> None:
    store = TrajectoryStore(path)
    data = b"the same line\n" * 5000
    name = hashlib.sha256(data).hexdigest()
    assert store.put_blob(data) == store.put_blob(data) == name
    ((kept, blob),) = rows(path, "select sha, data from blobs")
    assert kept == name
    assert zlib.decompress(blob) == data
    assert len(blob) < len(data) / 20
    assert store.get_blob(name) == data


def test_equal_artifacts_of_two_rollouts_share_one_payload(path: Path) -> None:
    store = TrajectoryStore(path)
    for key in ("a", "b"):
        made = result_of(key, artifacts=[Artifact(path="out.txt", size=4)])
        store.put_rollout(made, Trajectory(final_answer=key), {"out.txt": b"same"})
    assert rows(path, "select count(*) from blobs") == [(3,)]  # two trajectories and one file


def test_a_payload_that_is_not_there_is_an_error(path: Path) -> None:
    with pytest.raises(StoreError, match="holds no payload"):
        TrajectoryStore(path).get_blob("0" * 64)


def test_a_completion_is_kept_once_with_what_it_cost(path: Path) -> None:
    store = TrajectoryStore(path)
    usage = Usage(prompt_tokens=7, completion_tokens=3, cost=0.25)
    store.put_completion("c", "r", {"content": "first"}, usage)
    store.put_completion("c", "r", {"content": "second"}, usage)
    assert store.completion("c") == {"content": "first"}
    assert store.spent("r") == {"rollouts": 0, "tokens": 10, "cost": 0.25}
    assert store.spent("another run")["tokens"] == 0


def test_rollouts_come_back_in_order_and_by_stream(path: Path) -> None:
    store = TrajectoryStore(path)
    for number, stream in enumerate(["pool", "candidate", "pool"]):
        store.put_rollout(result_of(f"k{number}", stream=stream, attempt=number), Trajectory(), {})
    assert [found.attempt for found in store.rollouts("r")] == [0, 1, 2]
    assert [found.attempt for found in store.rollouts("r", "pool")] == [0, 2]


def test_a_run_keeps_its_first_record_and_its_end(path: Path) -> None:
    store = TrajectoryStore(path)
    store.start_run("r", "s", "hash", {"base": 0})
    store.finish_run("r", "stopped", {"why": "dead"})
    store.start_run("r", "s", "hash", {"base": 5})
    (run,) = store.runs("s")
    assert (run["status"], run["config"], run["result"]) == ("stopped", {"base": 0}, {"why": "dead"})


def test_each_reading_of_the_test_split_is_counted(path: Path) -> None:
    store = TrajectoryStore(path)
    for _ in range(2):
        store.log_test_read("r", "s", "s@v1")
    assert (store.test_reads("s"), store.test_reads("other")) == (2, 0)


def test_secrets_are_taken_out_before_they_are_written(path: Path) -> None:
    secret = "canary-4b0f9a"
    store = TrajectoryStore(path, Redactor([secret]))
    event = Event(kind="message", turn=0, data={"content": secret})
    made = result_of("k", artifacts=[Artifact(path="o", size=9)])
    stored = store.put_rollout(made, Trajectory(events=[event]), {"o": b"x" + secret.encode()})
    store.put_completion("c", "r", {"content": secret}, Usage())
    store.finish_run("r", "stopped", {"why": secret})
    store.put_fault(result_of("f", None, error=secret))
    assert "[redacted]" in store.trajectory(stored).events[0].data["content"]
    assert store.get_blob(stored.artifacts[0].blob) == b"x[redacted]"
    store.close()
    assert secret.encode() not in path.read_bytes()


@pytest.mark.parametrize("damage", ["text", "torn"])
def test_a_corrupt_file_is_one_sentence_with_the_remedy(path: Path, damage: str) -> None:
    store = TrajectoryStore(path)
    for number in range(200):
        store.put_rollout(result_of(f"k{number}"), Trajectory(final_answer="x" * number), {})
    store.close()
    if damage == "text":
        path.write_text("this is no database\n" * 50)
    else:
        with path.open("r+b") as file:
            file.seek(4096)
            file.write(os.urandom(8192))
    with pytest.raises(StoreError) as caught:
        TrajectoryStore(path)
    assert str(path) in caught.value.message
    assert "moved away" in caught.value.remedy


def test_a_file_of_another_schema_is_refused_and_left_as_it_is(path: Path) -> None:
    TrajectoryStore(path).close()
    with sqlite3.connect(path) as db:
        db.execute("update meta set value = '999' where name = 'schema_version'")
    with pytest.raises(StoreError, match="schema 999"):
        TrajectoryStore(path)
    assert rows(path, "select value from meta where name = 'schema_version'") == [("999",)]


@pytest.mark.parametrize("inside", ["a regular file", "/proc"])
def test_a_folder_that_cannot_be_written_is_an_error_with_a_remedy(tmp_path: Path, inside: str) -> None:
    (tmp_path / "file").write_text("")
    folder = Path("/proc/1") if inside == "/proc" else tmp_path / "file"
    with pytest.raises(StoreError) as caught:
        TrajectoryStore(folder / "records" / "store.db")
    assert "cannot be" in caught.value.message
    assert caught.value.remedy


def test_a_folder_in_the_place_of_the_file_is_an_error(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(StoreError):
        TrajectoryStore(path)


WRITER = """
import sys, time
from pathlib import Path
from harness.store import TrajectoryStore
from harness.trajectory import Trajectory
from test_store import result_of
time.sleep(max(0, float(sys.argv[3]) - time.time()))
store = TrajectoryStore(Path(sys.argv[1]))
for number in range(150):
    for key in (f"{sys.argv[2]}{number}", f"shared{number}"):
        store.put_rollout(result_of(key), Trajectory(final_answer=key), {})
"""


OPENER = """
import sys, time
from pathlib import Path
from harness.store import TrajectoryStore
time.sleep(max(0, float(sys.argv[2]) - time.time()))
for number in range(30):
    TrajectoryStore(Path(sys.argv[1]) / f"{number}.db").close()
"""


def test_two_processes_may_make_the_file_at_the_same_moment(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    start = str(time.time() + 1.5)
    command = [sys.executable, "-c", OPENER, str(tmp_path), start]
    openers = [subprocess.Popen(command, env=env, stderr=subprocess.PIPE) for _ in range(2)]
    for opener in openers:
        _, errors = opener.communicate(timeout=60)
        assert opener.returncode == 0, errors.decode()


def test_two_processes_write_at_once_and_nothing_is_lost(path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"}
    command = [sys.executable, "-c", WRITER, str(path)]
    start = str(time.time() + 1.5)
    writers = [
        subprocess.Popen([*command, name, start], env=env, stderr=subprocess.PIPE) for name in ("a", "b")
    ]
    for writer in writers:
        _, errors = writer.communicate(timeout=60)
        assert writer.returncode == 0, errors.decode()
    keys = [key for (key,) in rows(path, "select key from rollouts")]
    assert len(keys) == len(set(keys)) == 450
    assert rows(path, "pragma integrity_check") == [("ok",)]
