"""Rollouts over a faulty endpoint: a fault is retried, then missing; it is never a score of 0."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from loopback import FAULTS, QUICK, Behaviour, Loopback, calls, chat, cuts, fails, loopback, says

from harness.adapters.builtin import BuiltinAgent
from harness.errors import ModelRejected
from harness.models.chat import RetryPolicy
from harness.rollout import World, rollout
from harness.sandboxes.pool import SandboxPool
from harness.store import TrajectoryStore
from harness.task import Task, load_taskset
from harness.trajectory import RunResult

USER = [{"role": "user", "content": "hello"}]
ONCE = RetryPolicy(attempts=1, dead_after=99)


@pytest.fixture
def task(tmp_path: Path) -> Task:
    """One task whose right final answer is 42."""
    root = tmp_path / "set"
    (root / "tasks").mkdir(parents=True)
    (root / "taskset.toml").write_text('name = "tiny"\n')
    lines = ['prompt = "What is 6 times 7?"', "[[verifiers]]", 'name = "exact"', 'expected = "42"']
    (root / "tasks" / "times.toml").write_text("\n".join(lines) + "\n")
    return load_taskset(root).tasks[0]


@pytest.fixture
def store(tmp_path: Path) -> TrajectoryStore:
    return TrajectoryStore(tmp_path / "store.db")


def run_task(
    task: Task, store: TrajectoryStore, url: str, policy: RetryPolicy = QUICK, attempts: int = 1
) -> list[RunResult]:
    """Real rollouts: the builtin agent, a sandbox, the verifier, the store; only the endpoint is scripted."""

    async def run() -> list[RunResult]:
        model = chat(url, policy=policy, store=store, run_id="r")
        async with SandboxPool("local", 1) as pool:
            world = World(
                adapter=BuiltinAgent(), model=model, address=url, sandboxes=pool, checkers=pool,
                store=store, run_id="r",
            )  # fmt: skip
            try:
                return [await rollout(world, task, None, stream="s", attempt=n) for n in range(attempts)]
            finally:
                await model.close()

    return asyncio.run(run())


def test_each_request_carries_the_key_the_model_the_seed_and_the_tools(
    task: Task, store: TrajectoryStore
) -> None:
    with loopback(says("42")) as server:
        run_task(task, store, server.url)
        (request,) = server.received
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == "Bearer any"
    assert request.body["model"] == "m"
    assert isinstance(request.body["seed"], int)
    names = {tool["function"]["name"] for tool in request.body["tools"]}
    assert names == {"terminal", "read_file", "write_file", "list_files", "python"}
    assert request.body["messages"][1] == {"role": "user", "content": "What is 6 times 7?"}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_fault_that_stays_is_missing_data_and_never_a_score(
    fault: Behaviour, task: Task, store: TrajectoryStore
) -> None:
    with loopback(default=fault) as server:
        (result,) = run_task(task, store, server.url, ONCE)
        assert len(server.received) == 3  # a rollout is tried three times
    assert result.score is None
    assert not result.completed
    assert result.error.startswith("ModelUnavailable")
    assert store.rollouts("r") == []
    assert store.faults("r") == [result.error]
    assert store.spent("r") == {"rollouts": 0, "tokens": 0, "cost": 0}


def test_what_was_missing_is_run_again_by_the_next_run(task: Task, store: TrajectoryStore) -> None:
    with loopback(fails(500), fails(500), fails(500), default=says("42")) as server:
        (first,) = run_task(task, store, server.url, ONCE)
        (second,) = run_task(task, store, server.url, ONCE)
    assert (first.score, second.score) == (None, 1.0)
    assert [result.score for result in store.rollouts("r")] == [1.0]


def test_a_fault_in_the_middle_of_a_conversation_loses_nothing(task: Task, store: TrajectoryStore) -> None:
    script = [calls("python", '{"code": "print(6 * 7)"}'), cuts, fails(429), says("42")]
    with loopback(*script) as server:
        (result,) = run_task(task, store, server.url)
        tool_message = server.received[-1].body["messages"][-1]
    assert result.score == 1
    assert tool_message["role"] == "tool"
    assert tool_message["content"] == "42"
    assert result.tool_stats == {"python": 1}


@pytest.mark.parametrize("arguments", ['{"code": "print(6 * 7)', "[1, 2]", "42", '{"cod": "1"}', ""])
def test_malformed_arguments_are_told_to_the_model_and_the_run_goes_on(
    arguments: str, task: Task, store: TrajectoryStore
) -> None:
    with loopback(calls("python", arguments), says("42")) as server:
        (result,) = run_task(task, store, server.url)
        told = server.received[1].body["messages"][-1]
    assert result.score == 1
    assert told["role"] == "tool"
    assert told["content"].startswith("error: ")
    (event,) = store.trajectory(result).tool_calls()
    assert event.data["well_formed"] is False


def test_a_tool_that_is_not_there_is_told_to_the_model(task: Task, store: TrajectoryStore) -> None:
    with loopback(calls("web_search", "{}"), says("42")) as server:
        (result,) = run_task(task, store, server.url)
        told = server.received[1].body["messages"][-1]["content"]
    assert result.score == 1
    assert "there is no tool named web_search" in told


def test_a_wrong_answer_is_a_score_of_zero(task: Task, store: TrajectoryStore) -> None:
    with loopback(says("41")) as server:
        (result,) = run_task(task, store, server.url)
    assert result.score == 0
    assert result.completed


def test_an_empty_answer_is_giving_up_which_is_a_score(task: Task, store: TrajectoryStore) -> None:
    with loopback(says("  ")) as server:
        (result,) = run_task(task, store, server.url)
    assert (result.score, result.stop_reason) == (0, "gave_up")


@pytest.mark.parametrize(
    "words",
    [
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
        "prompt is too long: 210000 tokens > 200000 maximum",
    ],
)
def test_an_overflowing_context_is_the_agents_failure_and_is_scored(
    words: str, task: Task, store: TrajectoryStore
) -> None:
    with loopback(fails(400, words)) as server:
        (result,) = run_task(task, store, server.url)
        assert len(server.received) == 1
    assert (result.score, result.stop_reason) == (0, "context_overflow")
    assert [kept.score for kept in store.rollouts("r")] == [0]


@pytest.mark.parametrize(
    ("fault", "remedy"),
    [
        (fails(401), "OPENAI_API_KEY"),
        (fails(403), "OPENAI_API_KEY"),
        (fails(404, "The model m does not exist"), "--model"),
        (fails(400, "unknown parameter: seed"), "unknown parameter: seed"),
    ],
)
def test_a_refused_key_model_or_option_stops_the_run_at_once(
    fault: Behaviour, remedy: str, task: Task, store: TrajectoryStore
) -> None:
    with loopback(default=fault) as server:
        with pytest.raises(ModelRejected, match=remedy):
            run_task(task, store, server.url)
        assert len(server.received) == 1
    assert store.rollouts("r") == []


def test_an_answer_is_paid_for_once(task: Task, store: TrajectoryStore) -> None:
    """The same request is read from the record, also by another rollout of the same seed."""

    async def run(server: Loopback) -> list[str]:
        model = chat(server.url, store=store, run_id="r")
        texts = [(await model.complete(USER, seed=seed)).content for seed in (1, 1, 2)]
        await model.close()
        return texts

    with loopback(says("a"), says("b"), says("c")) as server:
        assert asyncio.run(run(server)) == ["a", "a", "b"]
        assert len(server.received) == 2
    assert store.spent("r")["tokens"] == 30
