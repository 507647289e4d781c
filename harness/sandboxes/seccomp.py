"""A filter of system calls: what outlives a process or escapes the memory limit is not there at all.

Keyrings, System V objects and message queues would pass data from one rollout to the next in the same
sandbox, and the session keyring is inherited from the user. Memory files hold memory that no limit
counts. The others are large parts of the kernel that no task needs. A refused call says ENOSYS, so that
programs take their other way.
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Mapping

from harness.errors import SandboxUnavailable

X32 = 0x40000000
AUDIT_ARCH: Mapping[str, int] = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
REFUSED: Mapping[str, tuple[int, int]] = {
    # name: (number on x86_64, number on aarch64)
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "mq_open": (240, 180),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "userfaultfd": (323, 282),
    "perf_event_open": (298, 241),
    "bpf": (321, 280),
}
LOAD, JUMP_EQUAL, JUMP_AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
ALLOW = 0x7FFF0000
REFUSE = 0x00050000 | errno.ENOSYS


def instruction(code: int, value: int, on_true: int = 0, on_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, on_true, on_false, value)


def seccomp_filter(machine: str = "") -> bytes:
    """The filter as a classic BPF program (seccomp(2)). Raises SandboxUnavailable for an unknown machine."""
    machine = machine or platform.machine()
    if machine not in AUDIT_ARCH:
        raise SandboxUnavailable(
            f"The local sandbox does not know the system calls of {machine}.",
            f"It knows {' and '.join(AUDIT_ARCH)}; --sandbox none runs agents unconfined at your own risk.",
        )
    numbers = [pair[list(AUDIT_ARCH).index(machine)] for pair in REFUSED.values()]
    left = len(numbers) + 1  # instructions from the first comparison to ALLOW
    return b"".join(
        [
            instruction(LOAD, 4),  # the calling convention, in struct seccomp_data
            instruction(JUMP_EQUAL, AUDIT_ARCH[machine], 0, left + 2),
            instruction(LOAD, 0),  # the number of the call
            instruction(JUMP_AT_LEAST, X32, left),
            *(instruction(JUMP_EQUAL, number, left - place - 1) for place, number in enumerate(numbers)),
            instruction(RETURN, ALLOW),
            instruction(RETURN, REFUSE),
        ]
    )
