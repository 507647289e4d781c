"""`workbook`: an xlsx file that the agent made, cell by cell, after recalculation.

This side packs bytes; they are parsed by `checkers/workbook_check.py`, in a sandbox.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from harness.errors import TaskError
from harness.sandboxes.pool import SandboxPool
from harness.task import Task, VerifierSpec, explain
from harness.trajectory import Family, Trajectory, VerifierResult
from harness.verifiers.checkers import InputBroke, run_checker
from harness.verifiers.spec import Settings, answer_bytes, settings_of, why_missing

MAX_FEEDBACK = 12
CellName = Annotated[str, Field(pattern=r"^[A-Z]{1,3}[1-9][0-9]{0,6}$")]
RangeName = Annotated[str, Field(pattern=r"^$|^[A-Z]{1,3}[1-9][0-9]{0,6}(:[A-Z]{1,3}[1-9][0-9]{0,6})?$")]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CellAnswer(Strict):
    """What one cell must show or be; a field that is not given is not checked.

    `value` is a number, a text, true/false, null (empty) or {"date": "2024-03-05"}. Numbers are equal
    within 1e-6 (absolute or relative), or within `tolerance` (absolute) when it is given.
    """

    sheet: str
    cell: CellName
    value: Any = None
    tolerance: float | None = Field(default=None, ge=0)
    formula: bool = False
    number_format: str = ""
    format_kind: Literal["percent", "currency", "date", "number", ""] = ""

    @field_validator("value")
    @classmethod
    def known_kind(cls, value: Any) -> Any:
        if isinstance(value, dict) and set(value) == {"date"}:
            dt.datetime.fromisoformat(value["date"])
        elif value is not None and not isinstance(value, int | float | str):
            raise ValueError('must be a number, a text, true, false, null or {"date": "2024-03-05"}')
        return value


class FreeRange(Strict):
    """A range, or with no range a whole sheet, that the agent may change."""

    sheet: str
    range: RangeName = ""


class Untouched(Strict):
    """All cells of `fixture` outside `except` keep content and number format; merged ranges stay."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    fixture: str
    exceptions: tuple[FreeRange, ...] = Field(default=(), alias="except")


class WorkbookAnswer(Strict):
    """The hidden answer file. Each thing asked of a cell is one check, and so is each other field."""

    cells: tuple[CellAnswer, ...] = ()
    untouched: Untouched | None = None
    sheets: tuple[str, ...] | None = None
    unchanged_files: tuple[str, ...] = ()


class WorkbookSettings(Settings):
    """`file`: the workbook in the work folder; `answer`: its hidden answer file."""

    file: str
    answer: str = "answer.json"


def read_answer(task: Task, name: str) -> WorkbookAnswer:
    """Raises TaskError when the answer file is missing or not valid."""
    try:
        return WorkbookAnswer.model_validate_json(answer_bytes(task, name))
    except ValidationError as error:
        raise TaskError(
            f"Task {task.id}, answer {name}: {explain(error)}.", "Mend that field of the answer."
        ) from error


def fixture_bytes(task: Task, name: str) -> bytes:
    path = task.fixture_files().get(name)
    if path is None:
        raise TaskError(
            f"Task {task.id}: its answer names the fixture file {name}, which is not there.",
            "Add it, or mend the answer.",
        )
    return path.read_bytes()


def pack(task: Task, artifact: bytes, answer: WorkbookAnswer) -> bytes:
    """The checker's input: JSON with the files in base64."""
    payload: dict[str, Any] = {
        "artifact": base64.b64encode(artifact).decode(),
        "answer": answer.model_dump(mode="json", by_alias=True, exclude_unset=True),
    }
    if answer.untouched is not None:
        payload["fixture"] = base64.b64encode(fixture_bytes(task, answer.untouched.fixture)).decode()
    return json.dumps(payload).encode()


def changed_inputs(task: Task, names: tuple[str, ...], files: Mapping[str, bytes]) -> list[str]:
    """One entry for each input file: "" when it is still the fixture's, else what happened to it."""
    found = []
    for name in names:
        original, now = fixture_bytes(task, name), files.get(name)
        word = "removed" if now is None else "changed"
        found.append("" if now == original else f"the input file {name} was {word}")
    return found


class WorkbookVerifier:
    """Passes when every check holds; the score is the share of checks that hold."""

    name = "workbook"
    family: Family = "artifact"

    async def check(
        self,
        spec: VerifierSpec,
        task: Task,
        trajectory: Trajectory,
        files: Mapping[str, bytes],
        checkers: SandboxPool,
    ) -> VerifierResult:
        """Raises TaskError for a wrong task, SandboxError and VerifierError when it cannot tell."""
        settings = settings_of(WorkbookSettings, spec, task)
        answer = read_answer(task, settings.answer)
        artifact = files.get(settings.file)
        if artifact is None:
            return self._broken(why_missing(settings.file, trajectory, files))
        async with checkers.slot() as sandbox:
            try:
                found = await run_checker(sandbox, "workbook_check:check", pack(task, artifact, answer))
            except InputBroke as error:
                found = {"broken": str(error)}
        if "broken" in found:
            return self._broken(f"{settings.file}: {found['broken']}")
        faults = [*found["faults"], *changed_inputs(task, answer.unchanged_files, files)]
        return self._result(faults, task)

    def _broken(self, reason: str) -> VerifierResult:
        return VerifierResult(name=self.name, family=self.family, passed=False, score=0.0, feedback=(reason,))

    def _result(self, faults: list[str], task: Task) -> VerifierResult:
        if not faults:
            raise TaskError(f"The workbook answer of task {task.id} checks nothing.", "Add cells to it.")
        lines = list(dict.fromkeys(line for fault in faults for line in fault.splitlines()))
        if len(lines) > MAX_FEEDBACK:
            lines = [*lines[:MAX_FEEDBACK], f"and {len(lines) - MAX_FEEDBACK} more"]
        failed = sum(bool(fault) for fault in faults)
        return VerifierResult(
            name=self.name,
            family=self.family,
            passed=not failed,
            score=1 - failed / len(faults),
            feedback=tuple(lines),
            evidence={"checks": len(faults), "failed": failed},
        )
