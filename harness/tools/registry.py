"""Tools: name, JSON schema, and a function that runs one in a sandbox. Each result is text for the model."""

from __future__ import annotations

import posixpath
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.errors import TaskError
from harness.protocols import Sandbox
from harness.sandboxes.base import ExecResult
from harness.task import explain

MAX_RESULT = 24_000
MAX_READ = 2 << 20


class Terminal(BaseModel):
    """Run a shell command in the work folder."""

    model_config = ConfigDict(extra="forbid")

    command: str = Field(description="A bash command line.")
    timeout: float = Field(default=30, gt=0, le=600, description="Seconds until it is stopped.")

    async def run(self, sandbox: Sandbox) -> str:
        return describe(await sandbox.exec(["bash", "-c", self.command], timeout=self.timeout))


class Python(BaseModel):
    """Run a Python script in the work folder; print what you want to see."""

    model_config = ConfigDict(extra="forbid")

    code: str = Field(description="Python source text.")
    timeout: float = Field(default=30, gt=0, le=600, description="Seconds until it is stopped.")

    async def run(self, sandbox: Sandbox) -> str:
        return describe(await sandbox.python(self.code, timeout=self.timeout))


class ReadFile(BaseModel):
    """Read a text file."""

    model_config = ConfigDict(extra="forbid")

    path: str = Field(description="Path, relative to the work folder or absolute.")

    async def run(self, sandbox: Sandbox) -> str:
        try:
            data = await sandbox.read(absolute(self.path, sandbox), MAX_READ)
        except OSError as error:
            return f"error: {error}"
        return clip(data.decode("utf-8", "replace"))


class WriteFile(BaseModel):
    """Write a text file, making its folders; an existing file is replaced."""

    model_config = ConfigDict(extra="forbid")

    path: str = Field(description="Path, relative to the work folder or absolute.")
    content: str = Field(description="The whole text.")

    async def run(self, sandbox: Sandbox) -> str:
        path = absolute(self.path, sandbox)
        try:
            await sandbox.write({path: self.content.encode("utf-8", "replace")})
        except OSError as error:
            return f"error: {error}"
        return f"wrote {len(self.content)} characters to {self.path}"


class ListFiles(BaseModel):
    """List files and folders."""

    model_config = ConfigDict(extra="forbid")

    path: str = Field(default=".", description="Folder, relative to the work folder or absolute.")

    async def run(self, sandbox: Sandbox) -> str:
        try:
            entries = await sandbox.list_files(absolute(self.path, sandbox))
        except OSError as error:
            return f"error: {error}"
        return clip("\n".join(f"{entry.kind} {entry.size} {entry.path}" for entry in entries) or "(empty)")


TOOLSETS: Mapping[str, Mapping[str, type[BaseModel]]] = {
    "terminal": {"terminal": Terminal},
    "files": {"read_file": ReadFile, "write_file": WriteFile, "list_files": ListFiles},
    "python": {"python": Python},
}


def absolute(path: str, sandbox: Sandbox) -> str:
    return posixpath.normpath(posixpath.join(sandbox.workdir, path))


def clip(text: str, limit: int = MAX_RESULT) -> str:
    """Head and tail of a long text, with the number of characters left out between them."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"


def describe(result: ExecResult) -> str:
    """What the model sees of a call: output, errors, exit code when not 0, the limit that ended it."""
    parts = [result.stdout.decode("utf-8", "replace"), result.stderr.decode("utf-8", "replace")]
    text = clip("\n".join(part.rstrip("\n") for part in parts if part.strip()))
    notes = []
    if result.dropped:
        notes.append(f"[{result.dropped} more bytes of output were dropped]")
    if result.limit:
        notes.append(f"[stopped: over the {result.limit} limit]")
    elif result.exit_code != 0:
        notes.append(f"[exit code {result.exit_code}]")
    return "\n".join(filter(None, [text, *notes])) or "(no output)"


def tools_of(toolsets: Sequence[str]) -> dict[str, type[BaseModel]]:
    """Tool name -> argument model. Raises TaskError for an unknown toolset."""
    found: dict[str, type[BaseModel]] = {}
    for name in toolsets:
        if name not in TOOLSETS:
            raise TaskError(f"There is no toolset named {name}.", f"Choose from: {', '.join(TOOLSETS)}.")
        found.update(TOOLSETS[name])
    return found


@cache
def schema(name: str, model: type[BaseModel]) -> dict[str, Any]:
    """One tool in the form of a chat-completions request."""
    function = {
        "name": name,
        "description": (model.__doc__ or "").strip(),
        "parameters": model.model_json_schema(),
    }
    return {"type": "function", "function": function}


def schemas(tools: Mapping[str, type[BaseModel]]) -> list[dict[str, Any]]:
    """The tools in the form of a chat-completions request."""
    return [schema(name, model) for name, model in tools.items()]


async def run_tool(
    tools: Mapping[str, type[BaseModel]], name: str, arguments: Any, sandbox: Sandbox
) -> tuple[str, bool]:
    """Run one call; returns the text for the model and whether the call itself was well-formed."""
    if name not in tools:
        return f"error: there is no tool named {name}; you have {', '.join(tools)}", False
    if not isinstance(arguments, dict):
        return "error: the arguments are not a JSON object", False
    try:
        tool = tools[name].model_validate(arguments)
    except ValidationError as error:
        return f"error: wrong arguments for {name}: {explain(error)}", False
    run: Callable[[Sandbox], Awaitable[str]] = tool.run  # type: ignore[attr-defined]
    return await run(sandbox), True
