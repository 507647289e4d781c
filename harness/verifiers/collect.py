"""Copying what the agent left out of its sandbox: regular files only, under caps, links never followed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict

from harness.protocols import Sandbox
from harness.sandboxes.base import Entry, MiB
from harness.trajectory import Artifact

__all__ = ["CollectLimits", "collect"]


class CollectLimits(BaseModel):
    """Caps on what is copied: number of files, bytes of one file, bytes of all."""

    model_config = ConfigDict(frozen=True)

    files: int = 200
    file_bytes: int = 32 * MiB
    total_bytes: int = 64 * MiB


DEFAULT = CollectLimits()


async def collect(
    sandbox: Sandbox, before: Mapping[str, bytes], limits: CollectLimits = DEFAULT
) -> tuple[list[Artifact], dict[str, bytes]]:
    """The artifacts, and the content of every file that was read, by path below the work folder.

    Artifacts are the files that are not in `before` or differ from it, and all that was refused: links,
    pipes, devices, files over a cap (`refused` says which). Raises SandboxError when the sandbox failed.
    """
    artifacts: list[Artifact] = []
    files: dict[str, bytes] = {}
    used = 0
    found = await sandbox.download(
        files=limits.files, file_bytes=limits.file_bytes, total_bytes=limits.total_bytes
    )
    for entry, data in found:
        if entry.kind == "dir":
            continue
        if data is None:
            refused = refusal(entry, len(files), used, limits)
            artifacts.append(Artifact(path=entry.path, size=entry.size, refused=refused))
            continue
        files[entry.path] = data
        used += len(data)
        if before.get(entry.path) != data:
            blob = hashlib.sha256(data).hexdigest()
            artifacts.append(Artifact(path=entry.path, size=len(data), blob=blob))
    return artifacts, files


def refusal(entry: Entry, count: int, used: int, limits: CollectLimits) -> str:
    """Why an entry was not read."""
    if entry.kind != "file":
        return "link" if entry.kind == "link" else "not a regular file"
    if entry.size > limits.file_bytes:
        return "too large"
    if count >= limits.files:
        return "too many files"
    return "too much data" if used + entry.size > limits.total_bytes else "unreadable"
