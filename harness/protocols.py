"""Read this first: the six things of the harness and how they meet, on one screen.

Task ──┐
Skill ─┼─▶ HarnessAdapter.run(…, Sandbox, ChatModel) ─▶ Trajectory ─▶ Verifier.check ─▶ score
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from pydantic import BaseModel

from harness.sandboxes.base import Entry, ExecResult
from harness.sandboxes.pool import SandboxPool
from harness.skill import Skill
from harness.task import Task, TaskSet, VerifierSpec
from harness.trajectory import Family, Trajectory, Usage, VerifierResult

__all__ = [
    "ChatModel",
    "Completion",
    "HarnessAdapter",
    "Sandbox",
    "Skill",
    "Task",
    "TaskSet",
    "ToolCall",
    "Verifier",
]


class ToolCall(BaseModel):
    """A call as the model wrote it: `arguments` is its raw text, which may not be JSON."""

    id: str
    name: str
    arguments: str


class Completion(BaseModel):
    """One answer of a chat model."""

    content: str = ""
    reasoning: str = ""
    tool_calls: list[ToolCall] = []
    finish_reason: str = "stop"
    usage: Usage = Usage()
    seconds: float = 0.0
    """How long the successful request took; failed ones and waits do not count."""


class ChatModel(Protocol):
    """A chat model behind an OpenAI-compatible endpoint.

    `complete` raises ModelUnavailable, EndpointDead, ModelRejected or ContextOverflow.
    """

    name: str
    label: str
    """How reports name it; a scripted model says so here."""

    async def complete(
        self, messages: Sequence[Mapping[str, Any]], *, tools: Sequence[Mapping[str, Any]] = (), seed: int = 0
    ) -> Completion: ...


class Sandbox(Protocol):
    """Where tool calls run. Every method raises SandboxError when the sandbox itself failed."""

    name: str
    workdir: str
    home: str

    async def exec(
        self, argv: Sequence[str], *, timeout: float | None = None, env: Mapping[str, str] | None = None
    ) -> ExecResult: ...
    async def python(self, source: str, *, timeout: float | None = None) -> ExecResult: ...
    async def read(self, path: str, limit: int = ...) -> bytes: ...
    async def write(self, files: Mapping[str, bytes]) -> None: ...
    async def list_files(self, path: str | None = None) -> list[Entry]: ...
    async def download(
        self, path: str | None = None, *, files: int, file_bytes: int, total_bytes: int
    ) -> list[tuple[Entry, bytes | None]]: ...
    async def stop(self) -> None: ...
    async def close(self) -> None: ...


class HarnessAdapter(Protocol):
    """An agent: works on one task in one sandbox, with the skill at hand."""

    name: str

    async def run(
        self, task: Task, skill: Skill | None, sandbox: Sandbox, model: ChatModel, *, seed: int
    ) -> Trajectory: ...


class Verifier(Protocol):
    """Checks what was left. `files` are the artifacts copied out of the sandbox, by relative path.

    It runs after the agent's processes are dead; parsing of untrusted bytes goes through `checkers`, a
    pool of sandboxes of their own. Raises VerifierError (missing data) when it cannot tell.
    """

    name: str
    family: Family

    async def check(
        self,
        spec: VerifierSpec,
        task: Task,
        trajectory: Trajectory,
        files: Mapping[str, bytes],
        checkers: SandboxPool,
    ) -> VerifierResult: ...
