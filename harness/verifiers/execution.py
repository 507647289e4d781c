"""`execution`: a hidden script or a command runs beside the artifacts, in a fresh sandbox, after the agent.

An exit code is never evidence alone: the check must print `<nonce> <score>`, and only the check is told
the nonce. A script is given `sys.argv = [name, work folder, nonce]` and the other hidden files as
`ANSWERS` (name -> bytes), in memory, since programs of the agent that it starts could read a folder.
A command finds the hidden files in a folder; in its words `{work}`, `{answers}` and `{nonce}` are filled in.
"""

from __future__ import annotations

import base64
import json
import math
import secrets
from collections.abc import Mapping
from typing import Any

from pydantic import Field, model_validator

from harness.sandboxes.base import GuestSandbox
from harness.sandboxes.pool import SandboxPool
from harness.task import Task, VerifierSpec
from harness.trajectory import Family, Trajectory, VerifierResult
from harness.verifiers.checkers import InputBroke, run_checker
from harness.verifiers.spec import Settings, answer_bytes, settings_of

MAX_OUTPUT = 1 << 16
TAIL = 500


class ExecutionSettings(Settings):
    """Exactly one of `script` (the name of a hidden Python file) and `command` (a list of words).

    `passes_at`: the score from which the check has passed.
    """

    script: str = ""
    command: tuple[str, ...] = ()
    passes_at: float = Field(default=1.0, gt=0, le=1)

    @model_validator(mode="after")
    def one_of_two(self) -> ExecutionSettings:
        if bool(self.script) == bool(self.command):
            raise ValueError("give either `script` or `command`")
        return self


def reported_score(output: str, nonce: str) -> float | None:
    """The score of the one line `<nonce> <score>`; None when there is no such line, or more than one."""
    lines = [line.split() for line in output.splitlines() if line.startswith(nonce)]
    if len(lines) != 1 or len(lines[0]) != 2 or lines[0][0] != nonce:
        return None
    try:
        score = float(lines[0][1])
    except ValueError:
        return None
    return score if math.isfinite(score) and 0 <= score <= 1 else None


def hidden_files(task: Task, settings: ExecutionSettings) -> dict[str, bytes]:
    return {name: path.read_bytes() for name, path in task.answer_files().items() if name != settings.script}


async def run_script(sandbox: GuestSandbox, task: Task, settings: ExecutionSettings, nonce: str) -> Any:
    payload = {
        "script": answer_bytes(task, settings.script).decode(),
        "argv": [settings.script, sandbox.workdir, nonce],
        "answers": {n: base64.b64encode(d).decode() for n, d in hidden_files(task, settings).items()},
        "limit": MAX_OUTPUT,
    }
    return await run_checker(sandbox, "script_run:run", json.dumps(payload).encode())


async def run_command(sandbox: GuestSandbox, task: Task, settings: ExecutionSettings, nonce: str) -> Any:
    folder = f"{sandbox.writable[1]}/answers"
    await sandbox.write({f"{folder}/{name}": data for name, data in hidden_files(task, settings).items()})
    places = {"{work}": sandbox.workdir, "{answers}": folder, "{nonce}": nonce}
    words = list(settings.command)
    for mark, value in places.items():
        words = [word.replace(mark, value) for word in words]
    result = await sandbox.exec(words)
    if result.limit:
        raise InputBroke(f"the check ran over its {result.limit} limit")
    return {
        "exit_code": result.exit_code,
        "stdout": result.stdout.decode("utf-8", "replace"),
        "stderr": result.stderr.decode("utf-8", "replace"),
    }


class ExecutionVerifier:
    """Passes when the check ends with exit code 0 and reports a score of at least `passes_at`."""

    name = "execution"
    family: Family = "execution"

    async def check(
        self,
        spec: VerifierSpec,
        task: Task,
        trajectory: Trajectory,
        files: Mapping[str, bytes],
        checkers: SandboxPool,
    ) -> VerifierResult:
        """Raises TaskError for a wrong task, SandboxError when the sandbox failed."""
        settings = settings_of(ExecutionSettings, spec, task)
        nonce = secrets.token_hex(16)
        run = run_script if settings.script else run_command
        async with checkers.slot() as sandbox:
            await sandbox.write({f"{sandbox.workdir}/{name}": data for name, data in files.items()})
            try:
                done = await run(sandbox, task, settings, nonce)
            except InputBroke as error:
                done = {"exit_code": -1, "stdout": "", "stderr": str(error)}
        return self._result(done, nonce, settings)

    def _result(self, done: dict[str, Any], nonce: str, settings: ExecutionSettings) -> VerifierResult:
        reported = reported_score(done["stdout"], nonce) if done["exit_code"] == 0 else None
        score = reported or 0.0
        passed = score >= settings.passes_at
        if reported is None:
            feedback: tuple[str, ...] = ("the check did not come to an end on these files",)
        else:
            feedback = () if passed else (f"the check gave {score:g} of 1",)
        evidence = {"exit_code": done["exit_code"], "reported": reported, "stderr": done["stderr"][-TAIL:]}
        return VerifierResult(
            name=self.name,
            family=self.family,
            passed=passed,
            score=score,
            feedback=feedback,
            evidence=evidence,
        )
