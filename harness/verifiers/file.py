"""`file`: one file that the agent made, as bytes, as text or as JSON, against the expected one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from harness.errors import TaskError
from harness.sandboxes.pool import SandboxPool
from harness.task import Task, VerifierSpec
from harness.trajectory import Family, Trajectory, VerifierResult
from harness.verifiers import compare
from harness.verifiers.compare import BadValue
from harness.verifiers.spec import Settings, answer_bytes, settings_of, why_missing


class FileSettings(Settings):
    """`file` is compared with the hidden file `answer`, or with `expected`.

    Modes: `bytes`; `hash` (expected: hex sha256); `text` (line ends and trailing blanks do not matter);
    `contains` (expected: the required texts); `json`.
    """

    file: str
    mode: Literal["bytes", "hash", "text", "contains", "json"] = "bytes"
    answer: str = ""
    expected: Any = None
    case: bool = True
    space: compare.Space = "trim"
    tolerance: float = Field(default=0.0, ge=0)


def expected_of(settings: FileSettings, task: Task) -> Any:
    """The expected content in the form that the mode needs. Raises TaskError when it is not there."""
    value = answer_bytes(task, settings.answer) if settings.answer else settings.expected
    try:
        if settings.mode == "bytes":
            return value if isinstance(value, bytes) else require_text(value, task).encode()
        if isinstance(value, bytes):
            value = compare.decode(value)
        if settings.mode == "json":
            return compare.parse_json(value) if isinstance(value, str) else value
    except BadValue as error:
        raise TaskError(f"Task {task.id}: {error}.", "Mend its expected answer.") from error
    if settings.mode == "contains":
        parts = value if isinstance(value, list) else [value]
        return [require_text(part, task) for part in parts]
    return require_text(value, task)


def require_text(value: Any, task: Task) -> str:
    if not isinstance(value, str) or not value:
        raise TaskError(
            f"Task {task.id}: the file verifier has no expected text.", "Give `expected` or `answer`."
        )
    return value


def fault(data: bytes, expected: Any, settings: FileSettings) -> str:
    """What is wrong with the file, or an empty text. Raises BadValue for a file of another kind."""
    match settings.mode:
        case "bytes":
            return "" if data == expected else "the content is not the right one"
        case "hash":
            same = hashlib.sha256(data).hexdigest() == expected.strip().lower()
            return "" if same else "the content is not the right one"
        case "json":
            got = compare.parse_json(compare.decode(data))
            return compare.json_fault(got, expected, settings.tolerance)
        case "contains":
            return compare.contains_fault(compare.decode(data), expected, settings.case, settings.space)
        case _:
            return compare.text_fault(compare.decode(data), expected, settings.case, settings.space)


class FileVerifier:
    """Passes when the file's content equals the expected one under the mode; the score is 1 or 0."""

    name = "file"
    family: Family = "artifact"

    async def check(
        self,
        spec: VerifierSpec,
        task: Task,
        trajectory: Trajectory,
        files: Mapping[str, bytes],
        checkers: SandboxPool,
    ) -> VerifierResult:
        """Raises TaskError when the task has no usable expected content."""
        settings = settings_of(FileSettings, spec, task)
        expected = expected_of(settings, task)
        data = files.get(settings.file)
        if data is None:
            wrong = why_missing(settings.file, trajectory, files)
        else:
            try:
                wrong = fault(data, expected, settings)
            except BadValue as error:
                wrong = str(error)
            wrong = wrong and f"{settings.file}: {wrong}"
        return VerifierResult(
            name=self.name,
            family=self.family,
            passed=not wrong,
            score=float(not wrong),
            feedback=(wrong,) if wrong else (),
            evidence={"mode": settings.mode, "size": len(data) if data is not None else None},
        )
