"""No sandbox: the guest program as a plain child process. Only when asked for by name, and said in reports.

What it still gives: an environment from an allow-list, a work folder of its own, limits per process.
What it does not: the agent can read and write whatever the user can, and use the network.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from harness.sandboxes.base import GuestSandbox, Limits
from harness.sandboxes.local import ENVIRONMENT, GUEST, package_folder


class UnconfinedSandbox(GuestSandbox):
    """The guest program with the rights of the user."""

    name = "none"
    namespaced = False

    def __init__(
        self,
        limits: Limits | None = None,
        packages: Sequence[str] = (),
        modules: Sequence[Path] = (),
        preload: Sequence[str] = (),
    ) -> None:
        super().__init__(limits)
        self._packages, self._modules, self._preload = packages, modules, preload
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    async def start(self) -> UnconfinedSandbox:
        self._folder = tempfile.TemporaryDirectory(prefix="skillopt-none-", ignore_cleanup_errors=True)
        root = Path(self._folder.name)
        for name in ("work", "home", "tmp", "packages"):
            (root / name).mkdir()
        for source in [*map(package_folder, self._packages), *self._modules]:
            (root / "packages" / source.name).symlink_to(source)
        self.workdir = str(root / "work")
        self.home = str(root / "home")
        self.writable = (self.workdir, self.home, str(root / "tmp"))
        env = {
            **ENVIRONMENT,
            "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(root / "home"),
            "TMPDIR": str(root / "tmp"),
            "PYTHONPATH": str(root / "packages"),
        }
        options = json.dumps({"preload": list(self._preload), "namespaced": False})
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-S",
            str(GUEST),
            options,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=env,
            cwd=self.workdir,
            start_new_session=True,
            limit=64 << 20,
        )
        await self._attach(process)
        return self

    async def close(self) -> None:
        await super().close()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


__all__ = ["UnconfinedSandbox"]
