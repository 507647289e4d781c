"""An OpenAI-compatible endpoint on 127.0.0.1 that behaves, or misbehaves, as a test scripts it."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from harness.models.apprentice import MODEL_NAME
from harness.models.apprentice.respond import respond
from harness.models.chat import OpenAIChat, RetryPolicy
from harness.models.endpoints import Endpoint, open_client

Body = dict[str, Any]
Behaviour = Callable[["Handler", Body], None]


@dataclass(frozen=True)
class Received:
    """One request as it arrived; the names of the headers are in lower case."""

    path: str
    headers: Mapping[str, str]
    body: Body


class Loopback(ThreadingHTTPServer):
    """Answers the first requests from `script`, in order, and all others with `default`."""

    daemon_threads = True

    def __init__(self, script: tuple[Behaviour, ...], default: Behaviour) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script, self.default = list(script), default
        self.received: list[Received] = []
        self.ended = threading.Event()
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self._open.append(connection)
        return connection, address

    def end(self) -> None:
        """Stop listening and cut every connection, as a server that is killed does."""
        self.ended.set()
        self.shutdown()
        self.server_close()
        for connection in self._open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def next_behaviour(self, received: Received) -> Behaviour:
        with self._lock:
            self.received.append(received)
            return self.script.pop(0) if self.script else self.default


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Loopback

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        received = Received(self.path, headers, json.loads(raw))
        self.server.next_behaviour(received)(self, received.body)

    def reply(self, code: int, content: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(code)
        for name, value in {"content-type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


def completion(message: Mapping[str, Any], finish: str = "stop") -> Body:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": "m"}
    return {**head, "choices": [choice], "usage": usage}


def says(text: str) -> Behaviour:
    """A final answer."""
    return lambda handler, _: handler.reply(200, json.dumps(completion({"content": text})).encode())


def calls(tool: str, arguments: str) -> Behaviour:
    """One tool call; `arguments` is sent as it is, also when it is not JSON."""
    call = {"id": "c1", "type": "function", "function": {"name": tool, "arguments": arguments}}
    body = completion({"content": None, "tool_calls": [call]}, "tool_calls")
    return lambda handler, _: handler.reply(200, json.dumps(body).encode())


def fails(code: int, message: str = "no", headers: Mapping[str, str] | None = None) -> Behaviour:
    """An error status in the form that such endpoints use."""
    body = json.dumps({"error": {"message": message, "type": "error"}}).encode()
    return lambda handler, _: handler.reply(code, body, headers)


def stalls(handler: Handler, body: Body) -> None:
    """Takes the request and says nothing until the test is over."""
    handler.server.ended.wait(30)
    handler.close_connection = True


def cuts(handler: Handler, body: Body) -> None:
    """Sends the headers and the start of an answer, then closes the connection."""
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", "500")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')
    handler.close_connection = True


def garbles(handler: Handler, body: Body) -> None:
    """A body that is not JSON, although its header says so."""
    handler.reply(200, b'{"choices": [{"message": oops')


def no_choices(handler: Handler, body: Body) -> None:
    """A valid answer without any choice in it."""
    handler.reply(200, json.dumps({**completion({"content": ""}), "choices": []}).encode())


def apprentice(handler: Handler, body: Body) -> None:
    """Real work: the scripted apprentice, under whatever model name was asked for."""
    answer = respond({**body, "model": MODEL_NAME})
    handler.reply(200, json.dumps({**answer, "model": body["model"]}).encode())


@contextmanager
def loopback(*script: Behaviour, default: Behaviour = apprentice) -> Iterator[Loopback]:
    """A running endpoint; `received` holds the requests that it got."""
    server = Loopback(script, default)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.end()
        thread.join()


def dead_url() -> str:
    """The address of an endpoint where nobody listens: its port was free a moment ago."""
    server = Loopback((), apprentice)
    server.server_close()
    return server.url


FAULTS: dict[str, Behaviour] = {
    "rate limit": fails(429, headers={"retry-after": "0"}),
    "server error": fails(500),
    "bad gateway": fails(502),
    "stalled": stalls,
    "cut": cuts,
    "body is not JSON": garbles,
    "no choice": no_choices,
}

QUICK = RetryPolicy(attempts=3, dead_after=99)


class Waits(list[float]):
    """A sleep that does not sleep and remembers for how long it was asked to."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


def chat(url: str, waits: Waits | None = None, policy: RetryPolicy = QUICK, **more: Any) -> OpenAIChat:
    """A model of the endpoint at `url`, impatient: it gives a request half a second."""
    endpoint = Endpoint(model="m", base_url=url, timeout=0.5)
    client = open_client(endpoint, {"OPENAI_API_KEY": "any"})
    return OpenAIChat(client, "m", policy=policy, sleep=Waits() if waits is None else waits, **more)
