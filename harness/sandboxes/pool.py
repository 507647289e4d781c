"""A pool of warm sandboxes: each serves one rollout at a time and is emptied, checked and used again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType

from harness.errors import MissingData, SandboxError, SandboxUnavailable
from harness.sandboxes.base import GuestSandbox, Limits
from harness.sandboxes.local import LocalSandbox
from harness.sandboxes.none import UnconfinedSandbox

KINDS: Mapping[str, Callable[..., GuestSandbox]] = {"local": LocalSandbox, "none": UnconfinedSandbox}


class SandboxPool:
    """At most `size` sandboxes of one kind. Use as `async with SandboxPool(...) as pool`.

    A sandbox that does not come out of its reset clean is thrown away, never handed out again.
    """

    def __init__(
        self,
        kind: str,
        size: int,
        *,
        limits: Limits | None = None,
        packages: Sequence[str] = (),
        modules: Sequence[Path] = (),
        preload: Sequence[str] = (),
    ) -> None:
        if kind not in KINDS:
            raise SandboxUnavailable(
                f"There is no sandbox named {kind}.", f"Choose one of: {', '.join(KINDS)}."
            )
        self.kind = kind
        self.size = size
        self._make: Callable[[], GuestSandbox] = lambda: KINDS[kind](limits, packages, modules, preload)
        self._idle: list[GuestSandbox] = []
        self._free = asyncio.Semaphore(size)

    async def __aenter__(self) -> SandboxPool:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._idle:
            await self._idle.pop().close()

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[GuestSandbox]:
        """An empty sandbox for one rollout. Raises SandboxError when none can be started."""
        async with self._free:
            sandbox = self._idle.pop() if self._idle else await self._make().start()
            clean = False
            try:
                yield sandbox
                clean = await sandbox.reset()
            finally:
                if clean:
                    self._idle.append(sandbox)
                else:
                    await sandbox.close()

    async def check(self) -> None:
        """Start one and run one call: SandboxUnavailable, with the reason, when that does not work."""
        try:
            async with self.slot() as sandbox:
                result = await sandbox.python("print(6 * 7)")
        except MissingData as error:
            raise SandboxUnavailable(
                f"The {self.kind} sandbox does not start here: {error.message}", UNAVAILABLE
            ) from error
        if result.stdout.strip() != b"42":
            raise SandboxError("The sandbox started but does not run Python.")


UNAVAILABLE = (
    "Allow user namespaces (sysctl kernel.unprivileged_userns_clone=1; in a container, run it with "
    "--security-opt seccomp=unconfined), or say --sandbox none to run agents unconfined at your own risk."
)
