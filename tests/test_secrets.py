"""Secrets of the environment appear in nothing that a run writes or says, in no form."""

from __future__ import annotations

import base64
import json
import sqlite3
import zlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from loopback import Body, Handler, apprentice, calls, fails, loopback
from scaffolded import skillopt, small_project

CANARIES = {
    "OPENAI_API_KEY": "canary/key+3f9a77d0b1",
    "AWS_SECRET_ACCESS_KEY": "canary+aws/5c21e8904d",
    "GITHUB_TOKEN": "canary-hub~8e07b6c4f2",
}


def coded(secret: str) -> dict[str, bytes]:
    raw = secret.encode()
    return {
        "raw": raw,
        "base64": base64.b64encode(raw).rstrip(b"="),
        "URL-safe base64": base64.urlsafe_b64encode(raw).rstrip(b"="),
        "hex": raw.hex().encode(),
        "URL": quote(secret, safe="").encode(),
    }


def readings(path: Path) -> Iterator[bytes]:
    """The bytes of a file as they lie there, and what is in them when they are packed."""
    data = path.read_bytes()
    yield data
    if path.parent.parent.name == "objects":
        yield zlib.decompress(data)
    if path.name == "store.db":
        with sqlite3.connect(path) as db:
            for (blob,) in db.execute("select data from blobs"):
                yield zlib.decompress(blob)


def found_below(folder: Path) -> list[tuple[str, str, str]]:
    """(file, variable, form) of each canary in the files below a folder."""
    return [
        (str(path.relative_to(folder)), name, form)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        for data in readings(path)
        for name, secret in CANARIES.items()
        for form, needle in coded(secret).items()
        if needle in data
    ]


def found_in(text: str) -> list[tuple[str, str]]:
    raw = text.encode()
    return [(n, form) for n, secret in CANARIES.items() for form, x in coded(secret).items() if x in raw]


def test_the_search_finds_a_canary_in_each_place_where_a_run_writes(tmp_path: Path) -> None:
    """The control: one canary in a git object, one in a blob of the record, one in a plain file."""
    import git

    from harness.store import TrajectoryStore

    repo = git.Repo.init(tmp_path)
    values = list(CANARIES.values())
    (tmp_path / "note.txt").write_text(f"x {values[0]}")
    repo.index.add(["note.txt"])
    (tmp_path / "note.txt").write_text(values[1].encode().hex())
    store = TrajectoryStore(tmp_path / "store.db")
    store.put_blob(b"y" * 1000 + base64.b64encode(values[2].encode()))
    store.close()
    found = found_below(tmp_path)
    assert {name for _, name, _ in found} == set(CANARIES)
    assert {form for _, _, form in found} >= {"raw", "hex", "base64"}


def repeats_the_keys(handler: Handler, body: Body) -> None:
    """A hostile or careless endpoint: the first thing it has the agent do is to write down the keys.

    It knows its own key from the header; the others stand for keys that an agent found elsewhere.
    """
    if "tools" not in body or len(body["messages"]) > 2:
        return apprentice(handler, body)
    assert handler.headers["authorization"] == f"Bearer {CANARIES['OPENAI_API_KEY']}"
    lines = [
        coded(secret)[form].decode() for secret in CANARIES.values() for form in ("raw", "base64", "hex")
    ]
    arguments = json.dumps({"path": "out/keys.txt", "content": "\n".join(lines)})
    return calls("write_file", arguments)(handler, body)


@pytest.mark.parametrize("behaviour", [apprentice, repeats_the_keys], ids=["honest", "repeats the keys"])
def test_a_run_leaves_no_secret_in_any_file_or_output(tmp_path: Path, behaviour: object) -> None:
    small_project(tmp_path)
    with loopback(default=behaviour) as server:  # type: ignore[arg-type]
        done = skillopt(
            tmp_path, "improve", "my-skill", "--epochs", "1", "--model", "m", "--base-url", server.url,
            "--json", **CANARIES,
        )  # fmt: skip
        assert server.received
    assert done.returncode in (0, 1), done.stderr
    said = [done.stdout, done.stderr]
    for command in ("show", "rejected"):
        said.append(skillopt(tmp_path, command, "my-skill", **CANARIES).stdout)
    assert json.loads(done.stdout)["rollouts"] > 0
    assert (tmp_path / ".skillopt/store.db").exists()
    assert list(tmp_path.glob(".git/objects/*/*"))
    assert found_below(tmp_path) == []
    assert [item for text in said for item in found_in(text)] == []


def test_a_run_that_fails_says_no_secret_either(tmp_path: Path) -> None:
    small_project(tmp_path)
    words = f"Incorrect API key provided: {CANARIES['OPENAI_API_KEY']}"
    for code in (401, 400):
        with loopback(default=fails(code, words)) as server:
            done = skillopt(
                tmp_path, "improve", "my-skill", "--model", "m", "--base-url", server.url, **CANARIES
            )
        assert done.returncode == 2
        assert found_in(done.stdout + done.stderr) == []
    assert found_below(tmp_path) == []


@pytest.mark.parametrize("sandbox", ["local", "none"])
def test_a_tool_that_prints_the_environment_sees_no_secret(tmp_path: Path, sandbox: str) -> None:
    small_project(tmp_path)
    look = "env; tr '\\0' '\\n' < /proc/self/environ; python3 -c 'import os; print(os.environ)'"
    seen: list[str] = []

    def looks(handler: Handler, body: Body) -> None:
        if "tools" not in body or len(body["messages"]) > 2:
            seen.extend(m["content"] for m in body["messages"] if m["role"] == "tool")
            return apprentice(handler, body)
        return calls("terminal", json.dumps({"command": look}))(handler, body)

    with loopback(default=looks) as server:
        done = skillopt(
            tmp_path, "eval", "my-skill", "--model", "m", "--base-url", server.url, "--sandbox", sandbox,
            **CANARIES,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "PATH=" in seen[0]
    assert [item for text in seen for item in found_in(text)] == []
