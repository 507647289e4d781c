"""From what the user said (a model name, a base URL, a key) to a ChatModel."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

import httpx2
from openai import AsyncOpenAI, DefaultAsyncHttpxClient
from pydantic import BaseModel, ConfigDict

from harness.errors import SetupError
from harness.models.chat import OpenAIChat, Prices, RetryPolicy
from harness.store import TrajectoryStore

APPRENTICE = "apprentice"
DEFAULT_BASE_URL = "https://api.openai.com/v1"
CONNECT_SEC = 10.0


class Endpoint(BaseModel):
    """Where a model is asked. Without `base_url` and with the name `apprentice` it is the embedded one."""

    model_config = ConfigDict(frozen=True)

    model: str = APPRENTICE
    base_url: str = ""
    prices: Prices | None = None
    temperature: float | None = None
    timeout: float = 120.0

    @property
    def embedded(self) -> bool:
        return self.model == APPRENTICE and not self.base_url

    @property
    def address(self) -> str:
        return "embedded" if self.embedded else (self.base_url or DEFAULT_BASE_URL)


def make_endpoint(model: str, base_url: str = "", prices: Prices | None = None) -> Endpoint:
    """The endpoint that a user named; the embedded apprentice has no URL, whatever the environment says.

    Raises SetupError for a text that is no URL, and for one with a key in it: a URL is printed and recorded.
    """
    if model == APPRENTICE:
        return Endpoint()
    parts = urlsplit(base_url)
    if parts.username or parts.password:
        raise SetupError(
            f"The base URL of {parts.hostname} holds a user name or a key, and URLs are recorded.",
            "Leave it out of the URL and set OPENAI_API_KEY.",
        )
    if base_url and (parts.scheme not in ("http", "https") or not parts.hostname):
        raise SetupError(
            f"{base_url} is not the URL of an endpoint.", "Write it like this: http://127.0.0.1:8000/v1"
        )
    return Endpoint(model=model, base_url=base_url, prices=prices)


def open_client(endpoint: Endpoint, environ: Mapping[str, str]) -> AsyncOpenAI:
    """The client for an endpoint. Raises SetupError when there is no key for one that needs it."""
    if endpoint.embedded:
        from harness.models.apprentice.transport import BASE_URL, ApprenticeTransport

        return AsyncOpenAI(
            api_key="none",
            base_url=BASE_URL,
            http_client=DefaultAsyncHttpxClient(transport=ApprenticeTransport()),
        )
    key = environ.get("OPENAI_API_KEY", "")
    if not key:
        raise SetupError(
            f"There is no API key for {endpoint.address}.",
            "Set OPENAI_API_KEY (any text for a server without keys), or leave out --model to use the "
            "embedded apprentice.",
        )
    timeout = httpx2.Timeout(endpoint.timeout, connect=min(CONNECT_SEC, endpoint.timeout))
    try:
        return AsyncOpenAI(api_key=key, base_url=endpoint.address, timeout=timeout)
    except (httpx2.InvalidURL, ValueError) as error:
        raise SetupError(f"{endpoint.address} is not a URL: {error}.", "Check --base-url.") from error


def open_model(
    endpoint: Endpoint,
    environ: Mapping[str, str],
    *,
    store: TrajectoryStore | None = None,
    run_id: str = "",
    policy: RetryPolicy | None = None,
) -> OpenAIChat:
    """A ready chat model."""
    prices, label = endpoint.prices, endpoint.model
    if endpoint.embedded:
        from harness.models.apprentice import LABEL

        prices, label = Prices(prompt=0, completion=0), LABEL
    return OpenAIChat(
        open_client(endpoint, environ),
        endpoint.model,
        label=label,
        prices=prices,
        temperature=endpoint.temperature,
        store=store,
        run_id=run_id,
        policy=policy,
    )
