"""Probes: small scripts that try one thing and print DONE when it worked, in a sandbox and outside."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from harness.sandboxes.base import GuestSandbox
from harness.sandboxes.local import LocalSandbox

Box = Callable[[Callable[[GuestSandbox], Coroutine[Any, Any, Any]]], Any]

PROBES = {
    "connect": "import socket; socket.create_connection((ARGS['host'], ARGS['port']), 2); print('DONE')",
    "abstract socket": """
import socket
socket.socket(socket.AF_UNIX).connect("\\0" + ARGS["name"])
print("DONE")""",
    "read": "assert open(ARGS['path'], 'rb').read(1); print('DONE')",
    "exists": "import os; assert os.path.lexists(ARGS['path']); print('DONE')",
    "write": "import os; os.close(os.open(ARGS['path'], os.O_WRONLY | os.O_CREAT)); print('DONE')",
    "memory": """
line = next(l for l in open(f"/proc/{ARGS['pid']}/maps") if " r" in l)
file = open(f"/proc/{ARGS['pid']}/mem", "rb", buffering=0)
file.seek(int(line.split("-")[0], 16))
assert file.read(8)
print("DONE")""",
    "see a process": """
import os
others = [pid for pid in os.listdir("/proc") if pid.isdigit() and int(pid) != os.getpid()]
lines = [open(f"/proc/{pid}/cmdline").read() for pid in others]
assert any(ARGS["mark"] in line for line in lines)
print("DONE")""",
    "kill": """
import os, time
os.kill(ARGS["pid"], ARGS["signal"])
time.sleep(0.2)
assert open(f"/proc/{ARGS['pid']}/stat").read().split(") ")[1][0] in "ZTX"
print("DONE")""",
    "keyring": """
import ctypes, os
number = {"x86_64": 248, "aarch64": 217}[os.uname().machine]
key = ctypes.CDLL(None).syscall(number, b"user", b"skillopt-probe", b"x", 1, ARGS["ring"])
assert key > 0
print("DONE")""",
    "key of another program": """
import ctypes, os
number = {"x86_64": 250, "aarch64": 219}[os.uname().machine]
libc, found = ctypes.CDLL(None), ctypes.create_string_buffer(20)
key = libc.syscall(number, 10, -3, b"user", ARGS["name"].encode(), 0)
assert libc.syscall(number, 11, key, found, 20) > 0
print("DONE")""",
    "shared memory": """
import ctypes
libc = ctypes.CDLL(None)
number = libc.shmget(0, 4096, 0o1600)
assert number >= 0
libc.shmctl(number, 0, None)
print("DONE")""",
    "semaphores": """
import ctypes
libc = ctypes.CDLL(None)
number = libc.semget(0, 1, 0o1600)
assert number >= 0
libc.semctl(number, 0, 0)
print("DONE")""",
    "System V queue": """
import ctypes
libc = ctypes.CDLL(None)
number = libc.msgget(0, 0o1600)
assert number >= 0
libc.msgctl(number, 0, None)
print("DONE")""",
    "POSIX queue": """
import ctypes
library = ctypes.CDLL("librt.so.1")
assert library.mq_open(b"/skillopt-probe", 0o102, 0o600, None) >= 0
library.mq_unlink(b"/skillopt-probe")
print("DONE")""",
    "memory file": "import os; os.close(os.memfd_create('probe')); print('DONE')",
    "io_uring": """
import ctypes
assert ctypes.CDLL(None).syscall(425, 1, ctypes.create_string_buffer(120)) >= 0
print("DONE")""",
    "new user namespace": """
import ctypes, os
assert ctypes.CDLL(None, use_errno=True).unshare(0x10000000) == 0, os.strerror(ctypes.get_errno())
print("DONE")""",
}


def source_of(probe: str, **args: Any) -> str:
    return f"import json; ARGS = json.loads({json.dumps(args)!r})\n{PROBES[probe]}"


def works_outside(probe: str, **args: Any) -> bool:
    """The control: the probe in a plain process."""
    command = [sys.executable, "-c", source_of(probe, **args)]
    return subprocess.run(command, capture_output=True, check=False).stdout == b"DONE\n"


@contextmanager
def one_box() -> Iterator[Box]:
    """One sandbox for many probes, on an event loop that lives as long."""
    with asyncio.Runner() as runner:
        sandbox = runner.run(LocalSandbox().start())
        yield lambda use: runner.run(use(sandbox))
        runner.run(sandbox.close())


def works_inside(box: Box, probe: str, **args: Any) -> bool:
    result = box(lambda sandbox: sandbox.python(source_of(probe, **args), timeout=10))
    assert result.limit is None
    return bool(result.stdout == b"DONE\n")
