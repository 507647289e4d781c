"""A chat model behind the `openai` client: cached by content, retried, its failures sorted by meaning."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import httpx2
import openai
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletion
from pydantic import BaseModel, ConfigDict

from harness.errors import ContextOverflow, EndpointDead, ModelRejected, ModelUnavailable
from harness.protocols import Completion, ToolCall
from harness.redact import Redactor
from harness.store import TrajectoryStore
from harness.task import digest
from harness.trajectory import Usage

OVERFLOW_WORDS = (
    "context length",
    "context_length",
    "maximum context",
    "too many tokens",
    "prompt is too long",
)


class RetryPolicy(BaseModel):
    """Waits in seconds. `dead_after` requests that failed in a row, retries included, stop the run.

    An endpoint that was never reached is not waited for that long: its first request gets `first_contact`
    attempts, and stops the run.
    """

    model_config = ConfigDict(frozen=True)

    attempts: int = 5
    first_contact: int = 3
    first_wait: float = 0.5
    longest_wait: float = 60.0
    dead_after: int = 3


class Prices(BaseModel):
    """US dollars per million tokens."""

    model_config = ConfigDict(frozen=True)

    prompt: float
    completion: float

    def cost(self, usage: Usage) -> float:
        total = usage.prompt_tokens * self.prompt + usage.completion_tokens * self.completion
        return float(total / 1e6)


class OpenAIChat:
    """One model of one OpenAI-compatible endpoint.

    With a store, a completion is looked up by its content key (endpoint, model, messages, tools, seed)
    before it is asked for, so a rerun pays for none twice.
    """

    def __init__(
        self,
        client: AsyncOpenAI,
        name: str,
        *,
        label: str = "",
        prices: Prices | None = None,
        temperature: float | None = None,
        store: TrajectoryStore | None = None,
        run_id: str = "",
        policy: RetryPolicy | None = None,
        sleep: Callable[[float], Any] = asyncio.sleep,
    ) -> None:
        self.name = name
        self.label = label or name
        self.prices = prices
        self.run_id = run_id
        self._client = client.with_options(max_retries=0)
        self._temperature = temperature
        self._store = store
        self._policy = policy or RetryPolicy()
        self._sleep = sleep
        self._failures = 0
        self._reached = False

    async def complete(
        self, messages: Sequence[Mapping[str, Any]], *, tools: Sequence[Mapping[str, Any]] = (), seed: int = 0
    ) -> Completion:
        """Ask for one completion. Raises ModelUnavailable, EndpointDead, ModelRejected, ContextOverflow."""
        request: dict[str, Any] = {"model": self.name, "messages": list(messages), "seed": seed}
        if tools:
            request["tools"] = list(tools)
        if self._temperature is not None:
            request["temperature"] = self._temperature
        key = digest([str(self._client.base_url), request])
        if self._store is not None and (known := self._store.completion(key)) is not None:
            return Completion.model_validate(known)
        completion = await self._ask(request)
        if self._store is not None:
            self._store.put_completion(key, self.run_id, completion.model_dump(), completion.usage)
        return completion

    async def close(self) -> None:
        """Close the connections of the client."""
        await self._client.close()

    async def _ask(self, request: dict[str, Any]) -> Completion:
        for attempt in range(1, self._policy.attempts + 1):
            started = time.monotonic()
            try:
                completion = self._read(await self._send(request))
            except ModelUnavailable as error:
                self._check_contact(attempt, error)
                if attempt == self._policy.attempts:
                    self._count_failure(error)
                    raise
                await self._sleep(self._wait(attempt, error.retry_after))
            else:
                self._failures, self._reached = 0, True
                return completion.model_copy(update={"seconds": time.monotonic() - started})
        raise AssertionError("unreachable")

    def _wait(self, attempt: int, retry_after: float | None) -> float:
        backoff = self._policy.first_wait * 2 ** (attempt - 1) * random.uniform(1.0, 1.5)  # noqa: S311
        return float(min(self._policy.longest_wait, max(backoff, retry_after or 0.0)))

    def _check_contact(self, attempt: int, error: ModelUnavailable) -> None:
        tries = min(self._policy.first_contact, self._policy.attempts)
        if not self._reached and attempt >= tries and is_unreachable(error.__cause__):
            raise EndpointDead(
                f"The endpoint {self._client.base_url} cannot be reached, tried {tries} times.",
                "Check --base-url (or OPENAI_BASE_URL) and that the server runs, then run the same command.",
            ) from error

    def _count_failure(self, error: ModelUnavailable) -> None:
        self._failures += 1
        if self._failures >= self._policy.dead_after:
            raise EndpointDead(
                f"The endpoint {self._client.base_url} failed {self._failures} requests in a row, each tried "
                f"{self._policy.attempts} times; the last: {error.message}.",
                "Everything recorded is kept: when the endpoint works again, run the same command.",
            ) from error

    async def _send(self, request: dict[str, Any]) -> Any:
        try:
            # The raw call: the typed one walks the whole conversation in Python, half of its time.
            return await self._client.post("/chat/completions", body=request, cast_to=ChatCompletion)
        except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
            raise ModelRejected(
                f"The endpoint {self._client.base_url} refused the key ({error.status_code}).",
                "Set OPENAI_API_KEY to a key that is valid there.",
            ) from error
        except openai.NotFoundError as error:
            raise ModelRejected(
                f"The endpoint {self._client.base_url} does not know the model {self.name} or the path.",
                "Check --model and --base-url (it usually ends in /v1).",
            ) from error
        except openai.RateLimitError as error:
            raise ModelUnavailable("rate limited (429)", retry_after(error)) from error
        except openai.APIStatusError as error:
            raise self._status_error(error) from error
        except openai.APIError as error:
            raise ModelUnavailable(f"{type(error).__name__}: {error}".rstrip(".")) from error
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            # The client raises bare errors on a body that is not the protocol's.
            raise ModelUnavailable(f"the answer was not readable ({type(error).__name__})") from error

    def _status_error(self, error: openai.APIStatusError) -> Exception:
        text = str(error).lower()
        if error.status_code in (400, 413) and any(word in text for word in OVERFLOW_WORDS):
            return ContextOverflow("the conversation does not fit the model's context window")
        if error.status_code >= 500 or error.status_code in (408, 409, 425):
            return ModelUnavailable(f"server error ({error.status_code})", retry_after(error))
        return ModelRejected(
            f"The endpoint {self._client.base_url} refused the request ({error.status_code}): "
            f"{self._without_key(str(error.message))[:200]}.",
            "Check the model's name and which options it takes.",
        )

    def _without_key(self, text: str) -> str:
        """What an endpoint says may repeat the key."""
        return Redactor([self._client.api_key]).text(text)

    def _read(self, response: Any) -> Completion:
        choices = getattr(response, "choices", None)
        if not choices or getattr(choices[0], "message", None) is None:
            raise ModelUnavailable("the answer holds no choice")
        choice = choices[0]
        message = choice.message
        calls = [
            ToolCall(
                id=call.id or f"call_{number}",
                name=call.function.name or "",
                arguments=call.function.arguments or "",
            )
            for number, call in enumerate(message.tool_calls or [])
            if getattr(call, "function", None) is not None
        ]
        return Completion(
            content=message.content or "",
            reasoning=getattr(message, "reasoning_content", None) or "",
            tool_calls=calls,
            finish_reason=choice.finish_reason or "stop",
            usage=self._usage(response.usage),
        )

    def _usage(self, raw: Any) -> Usage:
        details = getattr(raw, "prompt_tokens_details", None)
        usage = Usage(
            prompt_tokens=getattr(raw, "prompt_tokens", 0) or 0,
            completion_tokens=getattr(raw, "completion_tokens", 0) or 0,
            cached_tokens=getattr(details, "cached_tokens", 0) or 0,
            requests=1,
        )
        return usage.model_copy(update={"cost": self.prices.cost(usage)}) if self.prices else usage


def is_unreachable(cause: BaseException | None) -> bool:
    """Whether no connection was made at all: nobody listens, no such host, no route."""
    return isinstance(cause, openai.APIConnectionError) and isinstance(
        cause.__cause__, httpx2.ConnectError | httpx2.ConnectTimeout
    )


def retry_after(error: openai.APIStatusError) -> float | None:
    """Seconds of a Retry-After header, None when there is none or it is a date."""
    try:
        return float(error.response.headers.get("retry-after", ""))
    except ValueError:
        return None
