"""Start bubblewrap from root: stage its sources in a private mount namespace, drop the uid, execute it.

The unprivileged uid of a sandbox may not be able to reach the interpreter or the packages (a virtual
environment below a home folder of mode 0700), so root binds them first to a folder that it can reach.
Run as a script; its one argument is JSON: {"binds": [[source, target], ...], "uid": int, "argv": [...]}.
"""

import ctypes
import json
import os
import sys

CLONE_NEWNS = 0x00020000
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18


def check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        sys.exit(f"{what}: {os.strerror(number)}")


def stage(binds: list[tuple[str, str]]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    check(libc.unshare(CLONE_NEWNS), "unshare")
    check(libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None), "mount private")
    for source, target in binds:
        check(libc.mount(source.encode(), target.encode(), None, MS_BIND, None), f"bind {source}")
        check(
            libc.mount(None, target.encode(), None, MS_BIND | MS_REMOUNT | MS_RDONLY, None),
            f"read-only {source}",
        )


def main() -> None:
    plan = json.loads(sys.argv[1])
    stage(plan["binds"])
    os.setgroups([])
    os.setgid(plan["uid"])
    os.setuid(plan["uid"])
    os.execv(plan["argv"][0], plan["argv"])  # noqa: S606


if __name__ == "__main__":
    main()
