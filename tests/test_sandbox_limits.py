"""Limits of a sandbox, files read out of it, and what is left of one rollout for the next: nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from harness.sandboxes.base import ExecResult, GuestSandbox, Limits, MiB
from harness.sandboxes.pool import SandboxPool

SMALL = Limits(timeout=20, memory=256 * MiB, processes=40, file_size=8 * MiB, output=10_000, disk=16 * MiB)


def in_sandbox(use: Callable[[GuestSandbox], Awaitable[Any]], limits: Limits = SMALL) -> Any:
    """The result of `use` with a sandbox of its own."""

    async def run() -> Any:
        async with SandboxPool("local", 1, limits=limits) as pool, pool.slot() as sandbox:
            return await use(sandbox)

    return asyncio.run(run())


def test_a_program_returns_its_exit_code_and_both_outputs() -> None:
    command = ["bash", "-c", "echo out; echo err >&2; exit 7"]
    result = in_sandbox(lambda box: box.exec(command))
    assert result[:5] == (7, b"out\n", b"err\n", 0, None)
    missing = in_sandbox(lambda box: box.exec(["no-such-program"]))
    assert missing.exit_code == 127


def test_python_runs_in_the_work_folder_with_a_clean_state_each_time() -> None:
    async def use(box: GuestSandbox) -> tuple[ExecResult, ExecResult]:
        first = await box.python("import os, builtins; builtins.left = 1; print(os.getcwd())")
        return first, await box.python("print(left)")

    first, second = in_sandbox(use)
    assert first.stdout == b"/work\n"
    assert second.exit_code == 1
    assert b"NameError" in second.stderr


def test_the_time_limit_ends_a_call_with_all_its_children() -> None:
    async def use(box: GuestSandbox) -> tuple[ExecResult, ExecResult]:
        slow = await box.exec(["bash", "-c", "sleep 60 & sleep 60"], timeout=0.5)
        return slow, await box.exec(["bash", "-c", "cat /proc/[0-9]*/comm"])

    started = time.monotonic()
    slow, after = in_sandbox(use)
    assert time.monotonic() - started < 30  # its children sleep for a minute
    assert slow.limit == "time"
    assert slow.duration_ms > 400
    assert b"sleep" not in after.stdout


BOMB = """
import os, sys
while True:
    try:
        os.fork()
    except OSError:
        pass
"""
FORKS = """
import os, time
for number in range({count}):
    if os.fork() == 0:
        time.sleep(1)
        os._exit(0)
print("DONE")
"""


def test_a_fork_bomb_ends_at_the_process_limit_and_the_sandbox_goes_on() -> None:
    async def run() -> None:
        async with SandboxPool("local", 1, limits=SMALL) as pool:
            async with pool.slot() as box:
                few = await box.python(FORKS.format(count=10))
                assert few.stdout == b"DONE\n"  # the control: a few processes are allowed
                bomb = await box.python(BOMB, timeout=2)
                assert bomb.limit in ("processes", "time")
                after = await box.python("import time; time.sleep(0.3); print(1)")
                assert (after.stdout, after.limit) == (b"1\n", None)  # what is dead does not count
            async with pool.slot() as box:
                assert (await box.python("print(2)")).stdout == b"2\n"

    started = time.monotonic()
    asyncio.run(run())
    assert time.monotonic() - started < 60


def test_too_many_processes_are_refused_or_ended() -> None:
    result = in_sandbox(lambda box: box.python(FORKS.format(count=60)))
    assert result.stdout == b""
    assert result.limit == "processes" or b"BlockingIOError" in result.stderr


ALLOCATE = "data = b'x' * ({size} << 20); print('DONE')"
FAMILY = """
import os, time
for number in range(4):
    if os.fork() == 0:
        data = b"x" * (120 << 20)
        time.sleep(20)
        os._exit(0)
time.sleep(20)
print("DONE")
"""


def test_memory_is_limited_for_one_process_and_for_all_together() -> None:
    async def use(box: GuestSandbox) -> list[ExecResult]:
        scripts = (ALLOCATE.format(size=60), ALLOCATE.format(size=600), FAMILY)
        return [await box.python(script) for script in scripts]

    small, large, family = in_sandbox(use)
    assert small.stdout == b"DONE\n"  # the control
    assert large.limit == "memory" or b"MemoryError" in large.stderr
    assert family.limit == "memory"
    assert family.duration_ms < 19_000  # it did not end by itself


WRITE = """
import errno
try:
    for number in range({files}):
        with open(f"{folder}/{{number}}", "wb") as file:
            for block in range({blocks}):
                file.write(bytes(1 << 20))
    print("DONE")
except OSError as error:
    print(errno.errorcode[error.errno])
"""


@pytest.mark.parametrize("folder", ["/work", "/tmp", "/home/agent", "/dev/shm"])
def test_files_and_folders_have_a_size_limit(folder: str) -> None:
    async def use(box: GuestSandbox) -> list[ExecResult]:
        shapes = ((1, 7), (1, 9), (4, 7))
        return [await box.python(WRITE.format(folder=folder, files=f, blocks=b)) for f, b in shapes]

    fits, one_large, many = in_sandbox(use)
    assert fits.stdout == b"DONE\n"  # the control
    assert one_large.stdout == b"EFBIG\n" or one_large.exit_code == -25  # SIGXFSZ
    assert many.stdout == b"ENOSPC\n"


def test_output_over_the_cap_is_dropped_and_counted() -> None:
    result = in_sandbox(lambda box: box.python("print('x' * 50_000, end='')"))
    assert result.stdout == b"x" * 10_000
    assert result.dropped == 40_000
    both = in_sandbox(lambda box: box.exec(["bash", "-c", "yes | head -c 30000; yes | head -c 30000 >&2"]))
    assert (len(both.stdout), len(both.stderr), both.dropped) == (10_000, 10_000, 40_000)


LINKS = """
ln -s /etc/passwd link; ln -s /etc folder-link; mkfifo pipe; mkdir sub
echo text > sub/file; ln -s ../sub/file sub/inner; ln -s /dev/zero zero
"""


def test_links_and_pipes_are_listed_but_never_followed() -> None:
    async def use(box: GuestSandbox) -> list[Any]:
        made = await box.exec(["bash", "-ec", LINKS])
        assert made.exit_code == 0
        found = await box.download(files=100, file_bytes=MiB, total_bytes=MiB)
        for name in ("link", "pipe", "zero", "sub/inner", "sub"):
            with pytest.raises(OSError, match=name):
                await box.read(f"/work/{name}")
        assert await box.read("/work/sub/file") == b"text\n"
        return found

    started = time.monotonic()
    found = {entry.path: (entry.kind, data) for entry, data in in_sandbox(use)}
    assert time.monotonic() - started < 30  # a pipe without a writer would block a naive reader
    assert found.pop("sub/file") == ("file", b"text\n")
    kinds = {name: kind for name, (kind, _) in found.items()}
    links = dict.fromkeys(("link", "folder-link", "zero", "sub/inner"), "link")
    assert kinds == {**links, "pipe": "other", "sub": "dir"}
    assert all(data is None for _, data in found.values())


def test_download_keeps_to_its_caps() -> None:
    async def use(box: GuestSandbox) -> list[Any]:
        await box.write({f"/work/{name}": b"x" * size for name, size in (("a", 10), ("b", 50), ("c", 10))})
        caps = ((9, 20, 99), (1, 99, 99), (9, 99, 15))
        return [await box.download(files=f, file_bytes=b, total_bytes=t) for f, b, t in caps]

    read = [[entry.path for entry, data in found if data is not None] for found in in_sandbox(use)]
    assert read == [["a", "c"], ["a"], ["a"]]


def test_a_file_over_the_limit_is_not_read() -> None:
    async def use(box: GuestSandbox) -> None:
        await box.write({"/work/a": b"x" * 100})
        assert await box.read("/work/a", 100) == b"x" * 100
        with pytest.raises(OSError, match="over the limit"):
            await box.read("/work/a", 99)

    in_sandbox(use)


def test_stop_ends_what_the_agent_left_running_and_keeps_its_files() -> None:
    async def use(box: GuestSandbox) -> tuple[bytes, bytes]:
        writer = "touch /work/kept; while true; do date +%N >> /work/log; sleep 0.01; done"
        await box.exec(["bash", "-c", f"setsid bash -c '{writer}' >/dev/null 2>&1 &"])
        await asyncio.sleep(0.2)
        await box.stop()
        first = await box.read("/work/log")
        await asyncio.sleep(0.2)
        assert await box.read("/work/kept") == b""
        return first, await box.read("/work/log")

    first, later = in_sandbox(use)
    assert first
    assert later == first
