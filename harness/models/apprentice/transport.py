"""The apprentice as an HTTP transport in process, and as an HTTP server on loopback."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx2

from harness.models.apprentice import LABEL, MODEL_NAME
from harness.models.apprentice.respond import respond

BASE_URL = "http://apprentice.invalid/v1"


def answer(method: str, path: str, content: bytes) -> tuple[int, bytes]:
    """Status and JSON body for one HTTP request."""
    if method == "GET" and path.endswith("/models"):
        models = [{"id": MODEL_NAME, "object": "model", "owned_by": LABEL}]
        return 200, json.dumps({"object": "list", "data": models}).encode()
    if method != "POST" or not path.endswith("/chat/completions"):
        return 404, json.dumps({"error": {"message": f"no such path: {path}"}}).encode()
    try:
        body = json.loads(content)
    except ValueError:
        return 400, json.dumps({"error": {"message": "the body is not JSON"}}).encode()
    if body.get("model") != MODEL_NAME:
        message = f"The model {body.get('model')!r} does not exist; this server has {MODEL_NAME!r}."
        return 404, json.dumps({"error": {"message": message, "code": "model_not_found"}}).encode()
    return 200, json.dumps(respond(body)).encode()


class ApprenticeTransport(httpx2.AsyncBaseTransport):
    """Answers requests of the openai client without a network."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        status, data = answer(request.method, request.url.path, await request.aread())
        return httpx2.Response(status, headers={"content-type": "application/json"}, content=data)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _serve(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        status, data = answer(self.command, self.path, self.rfile.read(length))
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = _serve

    def log_message(self, format: str, *args: object) -> None:
        """Quiet: the caller says where it listens."""


def make_server(host: str, port: int) -> ThreadingHTTPServer:
    """A server that is not yet running; `serve_forever` runs it, `server_address` says where."""
    return ThreadingHTTPServer((host, port), Handler)
