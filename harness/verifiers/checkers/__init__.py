"""What runs inside the checkers' sandboxes, where untrusted bytes are parsed, and the pool of these.

The modules beside this file are mounted into the sandbox one by one: they use the standard library and
the packages below, and import nothing of this package. Each call runs in a forked process under limits.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from harness.errors import SandboxError, VerifierError
from harness.sandboxes.base import GuestSandbox, Limits
from harness.sandboxes.pool import SandboxPool

FOLDER = Path(__file__).parent
PACKAGES = ("openpyxl", "et_xmlfile", "formualizer", "defusedxml")
NAMES = ("workbook_open", "workbook_check", "canary_check", "script_run")
MODULES = tuple(FOLDER / f"{name}.py" for name in NAMES)
PRELOAD = ("openpyxl", "formualizer", "subprocess", *NAMES)
LIMITS = Limits(timeout=60.0)


class InputBroke(Exception):
    """The check died of what it was given: a failed check with this reason, not missing data."""


def checker_pool(kind: str, size: int, limits: Limits = LIMITS) -> SandboxPool:
    """A pool that every verifier can use; enter it as a context manager."""
    return SandboxPool(kind, size, limits=limits, packages=PACKAGES, modules=MODULES, preload=PRELOAD)


async def run_checker(sandbox: GuestSandbox, function: str, payload: bytes) -> Any:
    """The JSON result of a checker function.

    Raises InputBroke when the forked process hit a limit, was killed or ended early, SandboxError when
    the sandbox itself failed, VerifierError when the checker raised.
    """
    try:
        return json.loads(await sandbox.call(function, payload))
    except ValueError:
        raise InputBroke("the check ended before it reported") from None
    except SandboxError as error:
        prefix = f"{function} failed:"
        if not error.message.startswith(prefix):
            raise
        reason = error.message.removeprefix(prefix).strip()
    if reason == "time":
        raise InputBroke("it takes too long to read")
    if reason in ("memory", "processes") or "memory" in reason.lower():
        raise InputBroke("it needs too much memory to read")
    if not reason:
        raise InputBroke("reading it crashed")
    raise VerifierError(f"{function} crashed: {reason}")
