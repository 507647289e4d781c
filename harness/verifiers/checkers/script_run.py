"""Runs a hidden check script; runs inside a checker's sandbox, beside what the agent left.

The script may start the agent's programs. They have the same uid, so this process makes itself opaque
first: its memory, environment and open files, and with them the nonce and the answers, stay its own.
"""

from __future__ import annotations

import base64
import ctypes
import json
import os
import sys
import tempfile
import types

PR_SET_DUMPABLE = 4


def run(raw: bytes) -> bytes:
    """Execute the script with `sys.argv` and `ANSWERS` set; JSON of its exit code, output and errors.

    The script's own folder is not on `sys.path`, so no file of the agent is imported by accident.
    """
    payload = json.loads(raw)
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    kept = os.dup(1), os.dup(2)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:  # files without a name
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        code = execute(payload)
        os.dup2(kept[0], 1)
        os.dup2(kept[1], 2)
        texts = [
            os.pread(file.fileno(), payload["limit"], 0).decode("utf-8", "replace") for file in (out, err)
        ]
    return json.dumps({"exit_code": code, "stdout": texts[0], "stderr": texts[1]}).encode()


def execute(payload: dict[str, object]) -> int:
    module = types.ModuleType("__main__")
    answers = payload["answers"]
    assert isinstance(answers, dict)
    module.__dict__["ANSWERS"] = {name: base64.b64decode(data) for name, data in answers.items()}
    sys.modules["__main__"] = module
    sys.argv = [str(part) for part in payload["argv"]]  # type: ignore[attr-defined]
    os.chdir("/")
    for name, fd in (("stdout", 1), ("stderr", 2)):
        setattr(sys, name, open(fd, "w", encoding="utf-8", errors="replace", closefd=False))  # noqa: SIM115
    code: object = 0
    try:
        exec(compile(str(payload["script"]), sys.argv[0], "exec"), module.__dict__)  # noqa: S102
    except SystemExit as stop:
        code = stop.code
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return code if isinstance(code, int) else int(code is not None)
