"""The sandbox protocol's host side: one guest process, frames over its pipes, limits on every call."""

from __future__ import annotations

import asyncio
import json
import struct
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict

from harness.errors import SandboxError

MiB = 1 << 20
GRACE_SEC = 5.0


class Limits(BaseModel):
    """Limits of one call: seconds, bytes, counts. `disk` is the size of each writable folder."""

    model_config = ConfigDict(frozen=True)

    timeout: float = 60.0
    memory: int = 1024 * MiB
    processes: int = 128
    file_size: int = 64 * MiB
    output: int = 256 * 1024
    disk: int = 128 * MiB


class ExecResult(NamedTuple):
    """What a call returned: raw bytes, up to the output limit, and which limit ended it, if any."""

    exit_code: int
    stdout: bytes
    stderr: bytes
    dropped: int
    limit: str | None
    duration_ms: float


class Entry(NamedTuple):
    """One thing in a folder: path below it, `file`/`dir`/`link`/`other`, size in bytes."""

    path: str
    kind: str
    size: int


class GuestSandbox(ABC):
    """A sandbox whose inside is the guest program; subclasses say how it is started.

    Raises SandboxError from every method when the guest died or broke the protocol: missing data.
    """

    name = "guest"
    workdir = "/work"
    home = "/home/agent"
    writable: tuple[str, ...] = ("/work", "/tmp", "/home/agent", "/dev/shm")  # noqa: S108
    namespaced = True

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._process: asyncio.subprocess.Process | None = None
        self._lock = asyncio.Lock()

    @abstractmethod
    async def start(self) -> GuestSandbox:
        """Start the guest; raises SandboxError, or SandboxUnavailable when this machine cannot."""

    async def _attach(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        header, _ = await self._reply(60.0)
        if not header.get("ready"):
            raise SandboxError("The sandbox did not start.")

    async def _reply(self, timeout: float) -> tuple[dict[str, Any], bytes]:
        process = self._process
        if process is None or process.stdout is None:
            raise SandboxError("The sandbox is not running.")
        stream = process.stdout

        async def read() -> tuple[dict[str, Any], bytes]:
            (length,) = struct.unpack(">I", await stream.readexactly(4))
            header: dict[str, Any] = json.loads(await stream.readexactly(length))
            return header, await stream.readexactly(header["size"])

        try:
            return await asyncio.wait_for(read(), timeout)
        except (TimeoutError, asyncio.IncompleteReadError, ValueError, ConnectionError) as error:
            detail = await self._last_words()
            await self.close()
            raise SandboxError(f"The sandbox stopped answering ({type(error).__name__}). {detail}") from error

    async def _last_words(self) -> str:
        process = self._process
        if process is None or process.stderr is None:
            return ""
        try:
            raw = await asyncio.wait_for(process.stderr.read(2000), 0.5)
        except (TimeoutError, ConnectionError):
            return ""
        return raw.decode(errors="replace").strip()

    async def _request(
        self, header: dict[str, Any], payload: bytes = b"", timeout: float | None = None
    ) -> tuple[dict[str, Any], bytes]:
        seconds = self.limits.timeout if timeout is None else timeout
        full = {**self._limit_fields(), **header, "timeout": seconds, "size": len(payload)}
        raw = json.dumps(full).encode()
        async with self._lock:
            process = self._process
            if process is None or process.stdin is None or process.returncode is not None:
                raise SandboxError("The sandbox is not running.")
            try:
                process.stdin.write(struct.pack(">I", len(raw)) + raw + payload)
                await process.stdin.drain()
            except (ConnectionError, BrokenPipeError) as error:
                raise SandboxError("The sandbox closed its pipe.") from error
            reply, data = await self._reply(seconds + GRACE_SEC)
        if "error" in reply:
            raise SandboxError(f"The sandbox refused {header['op']}: {reply['error']}")
        return reply, data

    def _limit_fields(self) -> dict[str, Any]:
        limits = self.limits
        return {
            "memory": limits.memory,
            "processes": limits.processes,
            "max_output": limits.output,
            "limits": {
                "fsize": limits.file_size,
                "data": limits.memory,
                "core": 0,
                "nofile": 256,
                **self._hard_limits(),
            },
            "cwd": self.workdir,
        }

    def _hard_limits(self) -> dict[str, int]:
        return {}

    @staticmethod
    def _result(reply: dict[str, Any], data: bytes) -> ExecResult:
        split = reply["stdout"]
        dropped = reply["dropped_stdout"] + reply["dropped_stderr"]
        return ExecResult(
            reply["exit_code"], data[:split], data[split:], dropped, reply["limit"], reply["duration_ms"]
        )

    async def exec(
        self, argv: Sequence[str], *, timeout: float | None = None, env: Mapping[str, str] | None = None
    ) -> ExecResult:
        """Run a program in the work folder and wait for it."""
        return self._result(
            *await self._request({"op": "run", "argv": list(argv), "env": dict(env or {})}, timeout=timeout)
        )

    async def python(self, source: str, *, timeout: float | None = None) -> ExecResult:
        """Run Python source as a script, in a forked process of the warm interpreter."""
        return self._result(*await self._request({"op": "run"}, source.encode(), timeout=timeout))

    async def call(self, function: str, payload: bytes, *, timeout: float | None = None) -> bytes:
        """`module:function(payload)` of a trusted module in this sandbox's Python; raises when it fails."""
        header = {"op": "call", "function": function, "max_output": 16 * MiB}
        result = self._result(*await self._request(header, payload, timeout))
        if result.exit_code != 0 or result.limit or result.dropped:
            why = result.limit or result.stderr.decode(errors="replace").strip()[-500:]
            raise SandboxError(f"{function} failed: {why}")
        return result.stdout

    async def read(self, path: str, limit: int = 32 * MiB) -> bytes:
        """The bytes of a regular file of at most `limit` bytes. Raises OSError for anything else."""
        result = self._result(*await self._request({"op": "read", "path": path, "limit": limit}))
        if result.exit_code != 0:
            raise OSError(result.stderr.decode(errors="replace").strip())
        return result.stdout

    async def write(self, files: Mapping[str, bytes]) -> None:
        """Write files by absolute path, making folders as needed. Raises OSError."""
        listing = [[path, len(data)] for path, data in files.items()]
        payload = b"".join(files.values())
        result = self._result(*await self._request({"op": "write", "files": listing}, payload))
        if result.exit_code != 0:
            raise OSError(result.stderr.decode(errors="replace").strip())

    async def list_files(self, path: str | None = None) -> list[Entry]:
        """Everything below `path` (default: the work folder), at most 2,000 entries."""
        result = self._result(*await self._request({"op": "list", "path": path or self.workdir}))
        if result.exit_code != 0:
            raise OSError(result.stderr.decode(errors="replace").strip())
        return [Entry(*item) for item in json.loads(result.stdout)]

    async def download(
        self, path: str | None = None, *, files: int, file_bytes: int, total_bytes: int
    ) -> list[tuple[Entry, bytes | None]]:
        """A folder (default: the work folder): what is there, with the content of regular files.

        None stands for what is not a regular file or is over a cap: number of files, bytes of one, of all.
        """
        header = {"op": "download", "path": path or self.workdir, "files": files}
        caps = {"file_bytes": file_bytes, "total_bytes": total_bytes}
        result = self._result(*await self._request({**header, **caps}))
        if result.exit_code != 0 or result.dropped:
            raise SandboxError(f"The work folder could not be read: {result.stderr.decode(errors='replace')}")
        data = result.stdout
        (length,) = struct.unpack(">I", data[:4])
        found: list[tuple[Entry, bytes | None]] = []
        place = 4 + length
        for name, kind, size, count in json.loads(data[4:place]):
            content = None if count < 0 else data[place : place + count]
            found.append((Entry(name, kind, size), content))
            place += max(0, count)
        return found

    async def stop(self) -> None:
        """Kill every process that the agent left, before its files are read."""
        await self._request({"op": "reset", "folders": []}, timeout=20.0)

    async def reset(self) -> bool:
        """Kill all processes, empty all folders; False when the sandbox must not be used again."""
        try:
            reply, _ = await self._request({"op": "reset", "folders": list(self.writable)}, timeout=20.0)
        except SandboxError:
            return False
        return bool(reply["clean"])

    async def close(self) -> None:
        """End the sandbox and everything in it."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.returncode is None:
            try:
                process.kill()
            except ProcessLookupError:
                pass
        await process.wait()
        if process.stdin is not None:
            process.stdin.close()
