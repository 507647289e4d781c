"""One sandbox serves many rollouts, one after the other; nothing of one is left for the next."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from harness.errors import SandboxError
from harness.sandboxes.base import GuestSandbox, Limits, MiB
from harness.sandboxes.pool import SandboxPool

SMALL = Limits(timeout=20, memory=256 * MiB, processes=40, disk=16 * MiB)


def pool_of_two_rollouts(first: Callable[[GuestSandbox], Awaitable[Any]], second: Any) -> tuple[bool, Any]:
    """Two rollouts one after the other: whether the second got the same sandbox, and what it found."""

    async def run() -> tuple[bool, Any]:
        async with SandboxPool("local", 1, limits=SMALL) as pool:
            async with pool.slot() as before:
                await first(before)
            async with pool.slot() as after:
                return before is after, await second(after)

    return asyncio.run(run())


FOLDERS = ("/work", "/tmp", "/home/agent", "/dev/shm")


def test_no_file_and_no_process_of_a_rollout_is_left_for_the_next() -> None:
    async def leave(box: GuestSandbox) -> None:
        for folder in FOLDERS:
            deep = "mkdir -p d/e && touch d/e/f .hidden && chmod 000 d"
            assert (await box.exec(["bash", "-c", f"cd {folder} && {deep}"])).exit_code == 0
        await box.exec(["bash", "-c", "setsid nohup sleep 300 >/dev/null 2>&1 & disown"])
        left = await box.exec(["bash", "-c", "cat /proc/[0-9]*/comm; ls -A /work"])
        assert b"sleep" in left.stdout  # the control: it outlives its call, within the rollout
        assert b".hidden" in left.stdout

    async def look(box: GuestSandbox) -> bytes:
        command = f"for f in {' '.join(FOLDERS)}; do find $f -mindepth 1; done; cat /proc/[0-9]*/comm"
        return (await box.exec(["bash", "-c", command])).stdout

    same, found = pool_of_two_rollouts(leave, look)
    assert same
    assert b"cat" in found  # the look itself works
    assert b"sleep" not in found
    assert b"/" not in found


TAMPERING = {
    "open files": "import resource as r; r.prlimit(1, r.RLIMIT_NOFILE, (64, 64))",
    "processes": "import resource as r; r.prlimit(1, r.RLIMIT_NPROC, (5, 5))",
    "stack": "import resource as r; r.prlimit(1, r.RLIMIT_STACK, (1 << 20, 1 << 20))",
    "locked memory": "import resource as r; r.prlimit(1, r.RLIMIT_MEMLOCK, (0, 0))",
    "queued signals": "import resource as r; r.prlimit(1, r.RLIMIT_SIGPENDING, (1, 1))",
    "priority": "import os; os.setpriority(os.PRIO_PROCESS, 1, 19)",
    "scheduling": "import os; os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0))",
}
if len(os.sched_getaffinity(0)) > 1:
    TAMPERING["cores"] = "import os; os.sched_setaffinity(1, {min(os.sched_getaffinity(1))})"


@pytest.mark.parametrize("script", TAMPERING.values(), ids=TAMPERING)
def test_a_sandbox_whose_first_process_was_tampered_with_is_not_used_again(script: str) -> None:
    async def tamper(box: GuestSandbox) -> None:
        result = await box.python(script + "; print('DONE')")
        assert result.stdout == b"DONE\n"  # the control: the kernel lets the agent do this

    same, answer = pool_of_two_rollouts(tamper, lambda box: box.python("print(6 * 7)"))
    assert not same
    assert answer.stdout == b"42\n"


def test_a_sandbox_that_died_is_missing_data_and_is_replaced() -> None:
    async def run() -> None:
        async with SandboxPool("local", 1, limits=SMALL) as pool:
            async with pool.slot() as box:
                assert box._process is not None
                box._process.kill()
                with pytest.raises(SandboxError):
                    await box.python("print(1)")
            async with pool.slot() as box:
                assert (await box.python("print(2)")).stdout == b"2\n"

    asyncio.run(run())


def test_no_more_sandboxes_run_than_the_pool_has() -> None:
    async def run() -> int:
        busy, most = 0, 0
        async with SandboxPool("local", 2, limits=SMALL) as pool:

            async def rollout() -> None:
                nonlocal busy, most
                async with pool.slot() as box:
                    busy += 1
                    most = max(most, busy)
                    await box.exec(["sleep", "0.1"])
                    busy -= 1

            await asyncio.gather(*(rollout() for _ in range(6)))
        return most

    assert asyncio.run(run()) == 2
