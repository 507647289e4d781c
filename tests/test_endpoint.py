"""Any OpenAI-compatible endpoint, request by request: what is retried, how long it waits, what ends a run."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from loopback import FAULTS, QUICK, Behaviour, Loopback, Waits, chat, dead_url, fails, loopback, says

from harness.errors import EndpointDead, ModelRejected, ModelUnavailable
from harness.models.chat import OpenAIChat, RetryPolicy
from harness.models.endpoints import Endpoint, open_client

USER = [{"role": "user", "content": "hello"}]


def ask(url: str, waits: Waits | None = None, policy: RetryPolicy = QUICK, times: int = 1) -> str:
    """The last answer of `times` requests."""

    async def run() -> str:
        model = chat(url, waits, policy)
        try:
            for _ in range(times - 1):
                with pytest.raises(ModelUnavailable):
                    await model.complete(USER)
            return (await model.complete(USER)).content
        finally:
            await model.close()

    return asyncio.run(run())


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_fault_that_passes_is_retried_and_the_answer_is_right(fault: Behaviour) -> None:
    with loopback(fault, fault, says("42")) as server:
        assert ask(server.url) == "42"
        assert len(server.received) == 3


def test_retry_after_is_honoured_and_other_waits_grow() -> None:
    waits = Waits()
    limited = fails(429, headers={"retry-after": "17"})
    with loopback(limited, fails(500), fails(500), says("ok")) as server:
        ask(server.url, waits, RetryPolicy(attempts=5, first_wait=0.5))
    assert waits[0] == 17
    assert 1.0 <= waits[1] <= 1.5
    assert 2.0 <= waits[2] <= 3.0


def test_no_wait_is_longer_than_the_longest() -> None:
    waits = Waits()
    with loopback(fails(429, headers={"retry-after": "86400"}), says("ok")) as server:
        ask(server.url, waits, RetryPolicy(longest_wait=60))
    assert waits == [60]


def test_an_endpoint_that_fails_request_after_request_is_dead() -> None:
    with loopback(default=fails(500)) as server:
        with pytest.raises(EndpointDead, match="3 requests in a row"):
            ask(server.url, policy=RetryPolicy(attempts=2, dead_after=3), times=3)
        assert len(server.received) == 6


def test_one_answer_between_failures_shows_that_the_endpoint_lives() -> None:
    script = [fails(500), fails(500), says("alive"), fails(500), fails(500)]
    policy = RetryPolicy(attempts=1, dead_after=3)

    async def run(server: Loopback) -> None:
        model = chat(server.url, policy=policy)
        for _ in range(2):
            with pytest.raises(ModelUnavailable):
                await model.complete(USER)
        assert (await model.complete(USER)).content == "alive"
        for _ in range(2):
            with pytest.raises(ModelUnavailable):
                await model.complete(USER)
        await model.close()

    with loopback(*script) as server:
        asyncio.run(run(server))


def test_an_endpoint_where_nobody_listens_is_dead_after_the_first_request() -> None:
    waits = Waits()
    with pytest.raises(EndpointDead, match="cannot be reached"):
        ask(dead_url(), waits, RetryPolicy(attempts=5, first_contact=3, dead_after=3))
    assert len(waits) == 2
    assert sum(waits) < 3


def test_a_server_that_goes_away_for_a_moment_is_waited_for() -> None:
    """A refused connection after a first answer is not the end: servers restart."""

    async def run() -> None:
        with loopback(says("here")) as server:
            model = chat(server.url, policy=RetryPolicy(attempts=2, dead_after=3))
            assert (await model.complete(USER)).content == "here"
        with pytest.raises(ModelUnavailable):
            await model.complete(USER)
        await model.close()

    asyncio.run(run())


def test_a_key_that_an_endpoint_repeats_is_not_repeated_by_us() -> None:
    def echoes(handler: Any, body: Any) -> None:
        message = f"bad request by {handler.headers['Authorization']}"
        handler.reply(400, json.dumps({"error": {"message": message}}).encode())

    endpoint_key = "canary-key-5d1f0a77c2"

    async def run(url: str) -> None:
        client = open_client(Endpoint(model="m", base_url=url), {"OPENAI_API_KEY": endpoint_key})
        model = OpenAIChat(client, "m", policy=QUICK)
        try:
            await model.complete(USER)
        finally:
            await model.close()

    with loopback(default=echoes) as server, pytest.raises(ModelRejected) as caught:
        asyncio.run(run(server.url))
    assert "bad request by" in str(caught.value)
    assert endpoint_key not in str(caught.value)
