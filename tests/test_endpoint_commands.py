"""`skillopt improve --model NAME` against an endpoint, as a user runs it: what works and how it ends."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest
from loopback import Behaviour, Body, Handler, calls, dead_url, fails, loopback, says
from scaffolded import skillopt, small_project

KEY = {"OPENAI_API_KEY": "any"}
RULE = "Leave out blank lines and lines that start with a hash."
EDITS = {"edits": [{"op": "append", "text": f"- {RULE}", "why": "they are no entries"}]}


def follows_the_skill(handler: Handler, body: Body) -> None:
    """A model without any luck in it: it counts right exactly when its skill says how."""
    system, user, *rest = body["messages"]
    if "tools" not in body:
        return says(json.dumps(EDITS))(handler, body)
    if rest:
        return says("Done.")(handler, body)
    source, target = re.findall(r"`([\w/.-]+)`", user["content"])
    count = "grep -v '^#' | grep -c ." if RULE in system["content"] else "wc -l"
    command = f"mkdir -p out && cat {source} | {count} > {target}"
    return calls("terminal", json.dumps({"command": command}))(handler, body)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return small_project(tmp_path)


def recorded(folder: Path) -> int:
    with sqlite3.connect(folder / ".skillopt/store.db") as db:
        return int(db.execute("select count(*) from rollouts").fetchone()[0])


def sentence(done: subprocess.CompletedProcess[str]) -> str:
    """What a command that could not run said: exit code 2, one line, no traceback."""
    assert done.returncode == 2
    assert "Traceback" not in done.stdout + done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("skillopt: ")
    return done.stderr


def test_a_skill_is_improved_with_a_model_behind_an_endpoint(folder: Path) -> None:
    with loopback(default=follows_the_skill) as server:
        done = skillopt(
            folder, "improve", "my-skill", "--epochs", "1", "--json", "--model", "some-model",
            "--base-url", server.url, "--price", "1,2", **KEY,
        )  # fmt: skip
        requests = server.received
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert {request.body["model"] for request in requests} == {"some-model"}
    assert report["agent"] == report["optimizer"] == "some-model"
    assert [decision["verdict"] for decision in report["decisions"]] == ["accepted"]
    assert RULE in report["best_text"]
    assert (report["test"]["seed"]["mean"], report["test"]["best"]["mean"]) == (0, 1)
    assert report["missing"] == 0
    # Each rollout is two requests, and the reflection is one; each is 10 tokens in and 5 out.
    assert len(requests) == 2 * report["rollouts"] + 1
    assert report["tokens"] == 15 * len(requests)
    assert report["cost"] == pytest.approx(len(requests) * (10 * 1 + 5 * 2) / 1e6)


def test_a_run_that_the_endpoint_stopped_goes_on_where_it_was(folder: Path) -> None:
    arguments = ("improve", "my-skill", "--epochs", "1", "--model", "m", "--json", "--base-url")
    with loopback(*[follows_the_skill] * 9, default=fails(401)) as server:
        stopped = skillopt(folder, *arguments, server.url, **KEY)
        assert stopped.returncode == 2
        kept = recorded(folder)
        assert kept > 0
        server.default = follows_the_skill
        done = skillopt(folder, *arguments, server.url, **KEY)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["rollouts_paid_now"] == report["rollouts"] - kept
    assert report["missing"] == 0


def test_the_apprentice_scores_the_same_over_http_through_faults_as_embedded(folder: Path) -> None:
    """The address may come from the environment; the embedded model does not look at it."""
    arguments = ("eval", "my-skill", "--rounds", "6", "--json")
    faults = [fails(429, headers={"retry-after": "0"}), fails(500)] * 2
    with loopback(*faults) as server:
        embedded = skillopt(folder, *arguments, OPENAI_BASE_URL=server.url, **KEY)
        assert server.received == []
        remote = skillopt(folder, *arguments, "--model", "m", OPENAI_BASE_URL=server.url, **KEY)
        assert {request.path for request in server.received} == {"/v1/chat/completions"}
        assert len(server.received) > 6 * 2
    scores = [json.loads(done.stdout) for done in (embedded, remote)]
    assert [score.pop("agent") for score in scores] == ["apprentice: scripted, offline", "m"]
    assert scores[0] == scores[1]
    assert 0 < scores[0]["mean"] < 1
    assert scores[0]["missing"] == 0


def test_a_dead_endpoint_ends_with_code_2_and_one_sentence_within_20_seconds(folder: Path) -> None:
    started = time.monotonic()
    done = skillopt(folder, "improve", "my-skill", "--model", "m", "--base-url", dead_url(), **KEY)
    assert time.monotonic() - started < 20
    assert "cannot be reached" in sentence(done)
    assert "--base-url" in done.stderr
    assert recorded(folder) == 0


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (fails(401, "Incorrect API key provided"), "refused the key.*OPENAI_API_KEY"),
        (fails(404, "The model m does not exist"), "does not know the model m.*--model"),
    ],
    ids=["wrong key", "unknown model"],
)
def test_a_refusal_ends_with_code_2_and_the_remedy(folder: Path, fault: Behaviour, said: str) -> None:
    with loopback(default=fault) as server:
        done = skillopt(folder, "improve", "my-skill", "--model", "m", "--base-url", server.url, **KEY)
    assert re.search(said, sentence(done))
    assert recorded(folder) == 0


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("nonsense", "not the URL of an endpoint"),
        ("http://me:canary-5d1f0a@127.0.0.1:1/v1", "OPENAI_API_KEY"),
    ],
)
def test_a_bad_address_is_refused_before_anything_is_run_or_said(folder: Path, url: str, said: str) -> None:
    done = skillopt(folder, "improve", "my-skill", "--model", "m", "--base-url", url, **KEY)
    assert said in sentence(done)
    assert done.stdout == ""
    assert "canary" not in done.stderr


def test_without_a_key_the_command_says_how_to_set_one(folder: Path) -> None:
    done = skillopt(folder, "improve", "my-skill", "--model", "m", "--base-url", dead_url())
    assert "Set OPENAI_API_KEY" in sentence(done)


def test_doctor_asks_the_endpoint_and_names_the_one_that_does_not_answer(folder: Path) -> None:
    arguments = ("doctor", "--model", "m", "--sandbox", "none", "--base-url")
    with loopback(default=says("ok")) as server:
        assert skillopt(folder, *arguments, server.url, **KEY).returncode == 0
        assert len(server.received) == 1
    done = skillopt(folder, *arguments, dead_url(), **KEY)
    assert done.returncode == 2
    assert "FAIL endpoint" in done.stdout
