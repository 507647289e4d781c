"""TrajectoryStore: one SQLite file is the state. Look up by content key first, write once, never update.

Tables: `rollouts` (one row each, missing data never among them), `completions` (model answers by content
key), `blobs` (compressed payloads by sha256), `faults` (what was missing, and why), `runs`, `decisions`,
`test_reads` (each reading of the sealed split).
"""

from __future__ import annotations

import json
import sqlite3
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlite_utils
from sqlite_utils.db import Database

from harness.errors import StoreError
from harness.redact import Redactor
from harness.task import digest
from harness.trajectory import RunResult, Trajectory, Usage

SCHEMA_VERSION = 1
CHECK_BELOW_BYTES = 64 << 20
SCHEMA = """
create table if not exists meta (name text primary key, value text) strict;
create table if not exists blobs (sha text primary key, data blob not null) strict, without rowid;
create table if not exists completions (
  key text primary key, run_id text, tokens integer, cost real, value text not null) strict;
create index if not exists completions_by_run on completions (run_id, tokens, cost);
create table if not exists rollouts (
  key text primary key, run_id text, task_id text, stream text, attempt integer, skill_hash text,
  skill_version text, model text, score real not null, stop_reason text, tokens integer, cost real,
  duration_ms real, result text not null) strict;
create index if not exists rollouts_by_run on rollouts (run_id, stream);
create table if not exists faults (key text, run_id text, task_id text, error text, at real) strict;
create table if not exists runs (
  id text primary key, skill text, config_hash text, status text, started real, finished real,
  config text not null, result text) strict;
create table if not exists decisions (
  run_id text, step integer, patch_id text, verdict text, record text not null, review_notes text,
  primary key (run_id, patch_id)) strict;
create table if not exists test_reads (run_id text, skill text, skill_version text, at real) strict;
"""


class TrajectoryStore:
    """Open with `TrajectoryStore(path)`. Raises StoreError when the file cannot be used."""

    def __init__(self, path: Path, redactor: Redactor | None = None) -> None:
        self.path = path
        self.redactor = redactor or Redactor()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = self._open()
        except sqlite3.DatabaseError as error:
            raise StoreError(
                f"The record file {path} cannot be used: {error}.",
                "Check that the folder is writable and has space; a damaged file can be moved away "
                "(its rollouts are then paid for again).",
            ) from error
        except OSError as error:
            raise StoreError(
                f"{path.parent} cannot be written: {error.strerror}.",
                "Make it writable, or run from a folder that is.",
            ) from error

    def _open(self) -> Database:
        fresh = not self.path.exists() or self.path.stat().st_size == 0
        db: Database = sqlite_utils.Database(self.path)
        db.conn.execute("pragma busy_timeout = 10000")
        if not fresh and self.path.stat().st_size < CHECK_BELOW_BYTES:
            (verdict,) = db.conn.execute("pragma quick_check(1)").fetchone()
            if verdict != "ok":
                raise sqlite3.DatabaseError(verdict)
        db.enable_wal()
        db.conn.execute("pragma synchronous = normal")
        db.executescript(SCHEMA)
        with write_lock(db):
            db.execute("insert or ignore into meta values ('schema_version', ?)", [str(SCHEMA_VERSION)])
        (found,) = db.execute("select value from meta where name = 'schema_version'").fetchone()
        if found != str(SCHEMA_VERSION):
            raise sqlite3.DatabaseError(f"it has schema {found}, this version reads {SCHEMA_VERSION}")
        return db

    def close(self) -> None:
        self._db.close()

    @contextmanager
    def _guard(self) -> Iterator[Database]:
        """A write as one transaction; a failure of the file is one clear error.

        It takes the write lock at once: one that reads first and writes then is refused, not made to wait,
        when another process wrote in between.
        """
        try:
            with write_lock(self._db):
                yield self._db
        except sqlite3.DatabaseError as error:
            raise StoreError(
                f"Writing to {self.path} failed: {error}.",
                "What was recorded is kept; make room or free the file and run the same command again.",
            ) from error

    def _insert(self, table: str, row: dict[str, Any], *, replace: bool = False) -> None:
        clean = {k: self.redactor.text(v) if isinstance(v, str) else v for k, v in row.items()}
        with self._guard() as db:
            db.table(table).insert(clean, ignore=not replace, replace=replace)

    def put_blob(self, data: bytes) -> str:
        """Store bytes by content; returns their sha256."""
        data = self.redactor.data(data)
        sha = digest(data)
        with self._guard() as db:
            db.execute("insert or ignore into blobs values (?, ?)", [sha, zlib.compress(data, 1)])
        return sha

    def get_blob(self, sha: str) -> bytes:
        row = self._db.execute("select data from blobs where sha = ?", [sha]).fetchone()
        if row is None:
            raise StoreError(f"{self.path} holds no payload {sha[:12]}.", "The file may be from another run.")
        return zlib.decompress(row[0])

    def completion(self, key: str) -> dict[str, Any] | None:
        row = self._db.execute("select value from completions where key = ?", [key]).fetchone()
        return json.loads(row[0]) if row else None

    def put_completion(self, key: str, run_id: str, value: dict[str, Any], usage: Usage) -> None:
        self._insert(
            "completions",
            {
                "key": key,
                "run_id": run_id,
                "tokens": usage.tokens,
                "cost": usage.cost,
                "value": json.dumps(value),
            },
        )

    def rollout(self, key: str) -> RunResult | None:
        row = self._db.execute("select result from rollouts where key = ?", [key]).fetchone()
        return RunResult.model_validate_json(row[0]) if row else None

    def put_rollout(self, result: RunResult, trajectory: Trajectory, files: dict[str, bytes]) -> RunResult:
        """Record a finished rollout with its trajectory and artifacts; returns what the record says now.

        That is the earlier rollout where one of the same key is there already: a rerun will read that one.
        """
        assert result.score is not None
        for artifact in result.artifacts:
            if artifact.path in files:
                artifact.blob = self.put_blob(files[artifact.path])
        clean = self.redactor.text(trajectory.model_dump_json())
        path = self.put_blob(clean.encode())
        stored = result.model_copy(update={"trajectory_path": path})
        self._insert(
            "rollouts",
            {
                **stored.model_dump(include=set(ROLLOUT_COLUMNS)),
                "skill_hash": stored.skill_version.rpartition("#")[2],
                "tokens": stored.token_usage.tokens,
                "cost": stored.token_usage.cost,
                "result": stored.model_dump_json(),
            },
        )
        return self.rollout(stored.key) or stored

    def put_fault(self, result: RunResult) -> None:
        self._insert(
            "faults",
            {**result.model_dump(include={"key", "run_id", "task_id", "error"}), "at": time.time()},
        )

    def trajectory(self, result: RunResult) -> Trajectory:
        return Trajectory.model_validate_json(self.get_blob(result.trajectory_path))

    def rollouts(self, run_id: str, stream: str = "") -> list[RunResult]:
        """The recorded rollouts of a run, those of one stream when it is given."""
        rows = self._db.execute(
            "select result from rollouts where run_id = ? and (? = '' or stream = ?) order by rowid",
            [run_id, stream, stream],
        )
        return [RunResult.model_validate_json(row[0]) for row in rows.fetchall()]

    def faults(self, run_id: str) -> list[str]:
        rows = self._db.execute("select error from faults where run_id = ?", [run_id])
        return [row[0] for row in rows.fetchall()]

    def spent(self, run_id: str) -> dict[str, float]:
        """Rollouts, tokens and money of a run, the optimizer's share included."""
        (rollouts,) = self._db.execute("select count(*) from rollouts where run_id = ?", [run_id]).fetchone()
        tokens, cost = self._db.execute(
            "select coalesce(sum(tokens), 0), coalesce(sum(cost), 0) from completions where run_id = ?",
            [run_id],
        ).fetchone()
        return {"rollouts": rollouts, "tokens": tokens, "cost": cost}

    def start_run(self, run_id: str, skill: str, config_hash: str, config: dict[str, Any]) -> None:
        """Record a run once; a resumed run keeps its first record."""
        self._insert(
            "runs",
            {
                "id": run_id,
                "skill": skill,
                "config_hash": config_hash,
                "status": "running",
                "started": time.time(),
                "config": json.dumps(config),
            },
        )

    def finish_run(self, run_id: str, status: str, result: dict[str, Any]) -> None:
        text = self.redactor.text(json.dumps(result))
        with self._guard() as db:
            db.execute(
                "update runs set status = ?, finished = ?, result = ? where id = ?",
                [status, time.time(), text, run_id],
            )

    def runs(self, skill: str) -> list[dict[str, Any]]:
        """The runs of a skill, oldest first, with `config` and `result` decoded."""
        rows = self._db.query("select * from runs where skill = ? order by rowid", [skill])
        return [
            {**row, "config": json.loads(row["config"]), "result": json.loads(row["result"] or "null")}
            for row in rows
        ]

    def put_decision(self, run_id: str, step: int, patch_id: str, record: dict[str, Any]) -> None:
        self._insert(
            "decisions",
            {
                "run_id": run_id,
                "step": step,
                "patch_id": patch_id,
                "verdict": record["verdict"],
                "record": json.dumps(record),
            },
            replace=True,
        )

    def decisions(self, run_ids: list[str]) -> list[dict[str, Any]]:
        """The decision records of some runs, in the order they were made."""
        marks = ",".join("?" * len(run_ids))
        rows = self._db.query(
            f"select record, review_notes from decisions where run_id in ({marks}) order by rowid",  # noqa: S608
            run_ids,
        )
        return [{**json.loads(row["record"]), "review_notes": row["review_notes"] or ""} for row in rows]

    def log_test_read(self, run_id: str, skill: str, version: str) -> None:
        self._insert(
            "test_reads", {"run_id": run_id, "skill": skill, "skill_version": version, "at": time.time()}
        )

    def test_reads(self, skill: str) -> int:
        row = self._db.execute("select count(*) from test_reads where skill = ?", [skill]).fetchone()
        return int(row[0])


@contextmanager
def write_lock(db: Database) -> Iterator[None]:
    """One write transaction: committed at the end, taken back after a fault."""
    db.conn.execute("begin immediate")
    try:
        yield
        db.conn.execute("commit")
    except BaseException:
        db.conn.rollback()
        raise


ROLLOUT_COLUMNS = (
    "key",
    "run_id",
    "task_id",
    "stream",
    "attempt",
    "skill_version",
    "model",
    "score",
    "stop_reason",
    "duration_ms",
)
