"""`exact`: the agent's last message, or a text file that it made, against the expected answer."""

from __future__ import annotations

import re
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

Mode = Literal["text", "number", "json", "one_of", "contains", "regex"]
MAX_REGEX_TEXT = 1 << 14


class ExactSettings(Settings):
    """`expected` is given here, or `answer` names a hidden file; `file` is checked instead of the message."""

    mode: Mode = "text"
    expected: Any = None
    answer: str = ""
    file: str = ""
    case: bool = True
    space: compare.Space = "trim"
    tolerance: float = Field(default=1e-6, ge=0)


def expected_of(settings: ExactSettings, task: Task) -> Any:
    """The expected value in the form that the mode needs. Raises TaskError when it is not there."""
    value = settings.expected
    try:
        if settings.answer:
            text = compare.decode(answer_bytes(task, settings.answer))
            value = compare.parse_json(text) if settings.answer.endswith(".json") else text
        if settings.mode == "number":
            return value if isinstance(value, int | float) else compare.parse_number(str(value))
        if settings.mode == "json" and isinstance(value, str) and not settings.answer.endswith(".json"):
            return compare.parse_json(value)
    except BadValue as error:
        raise TaskError(f"Task {task.id}: {error}.", "Mend its expected answer.") from error
    if settings.mode == "regex":
        require_pattern(value, task)
    if settings.mode in ("one_of", "contains") and isinstance(value, str):
        value = [value]
    wanted = list if settings.mode in ("one_of", "contains") else str
    if settings.mode != "json" and (not value or not isinstance(value, wanted)):
        raise TaskError(
            f"Task {task.id}: the exact verifier has no expected {wanted.__name__} for {settings.mode}.",
            "Give `expected` or `answer`.",
        )
    return value


def require_pattern(value: Any, task: Task) -> None:
    try:
        re.compile(str(value))
    except re.error as error:
        raise TaskError(f"Task {task.id}: its pattern is not valid: {error}.", "Mend the pattern.") from error


def fault(text: str, expected: Any, settings: ExactSettings) -> str:
    """What is wrong with the text, or an empty text. Raises BadValue for a text of another kind."""
    if len(text) > compare.MAX_TEXT:
        return "the text is too long to be an answer"
    match settings.mode:
        case "number":
            return compare.number_fault(compare.parse_number(text), expected, settings.tolerance)
        case "json":
            return compare.json_fault(compare.parse_json(text), expected, settings.tolerance)
        case "one_of":
            return compare.one_of_fault(text, expected, settings.case, settings.space)
        case "contains":
            return compare.contains_fault(text, expected, settings.case, settings.space)
        case "regex":
            return regex_fault(text, expected, settings.case)
        case _:
            return compare.text_fault(text, expected, settings.case, settings.space)


def regex_fault(text: str, pattern: str, case: bool) -> str:
    if len(text) > MAX_REGEX_TEXT:
        return "the text is too long to be an answer"
    found = re.search(pattern, text.strip(), 0 if case else re.IGNORECASE)
    return "" if found else "the text does not have the right form"


class ExactVerifier:
    """Passes when the answer equals the expected one under the mode; the score is 1 or 0."""

    name = "exact"
    family: Family = "exact"

    async def check(
        self,
        spec: VerifierSpec,
        task: Task,
        trajectory: Trajectory,
        files: Mapping[str, bytes],
        checkers: SandboxPool,
    ) -> VerifierResult:
        """Raises TaskError when the task has no usable expected answer."""
        settings = settings_of(ExactSettings, spec, task)
        expected = expected_of(settings, task)
        where = settings.file or "the final answer"
        if settings.file and settings.file not in files:
            wrong = why_missing(settings.file, trajectory, files)
        else:
            try:
                text = compare.decode(files[settings.file]) if settings.file else trajectory.final_answer
                wrong = fault(text, expected, settings)
            except BadValue as error:
                wrong = str(error)
            wrong = wrong and f"{where}: {wrong}"
        return VerifierResult(
            name=self.name,
            family=self.family,
            passed=not wrong,
            score=float(not wrong),
            feedback=(wrong,) if wrong else (),
            evidence={"mode": settings.mode},
        )
