"""Settings of a verifier, hidden answers and artifacts: how each verifier reads what it is given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from harness.errors import TaskError
from harness.task import Task, VerifierSpec, explain
from harness.trajectory import Trajectory

Model = TypeVar("Model", bound=BaseModel)
MAX_NAMES = 8


class Settings(BaseModel):
    """Base of a verifier's settings: the fields of its `VerifierSpec`; an unknown one is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str


def settings_of(model: type[Model], spec: VerifierSpec, task: Task) -> Model:
    """The spec as `model`. Raises TaskError that names the task and the wrong field."""
    try:
        return model.model_validate(spec.model_dump())
    except ValidationError as error:
        raise TaskError(
            f"Task {task.id}, verifier {spec.name}: {explain(error)}.", "Mend that field of the task."
        ) from error


def answer_bytes(task: Task, name: str) -> bytes:
    """A hidden answer file. Raises TaskError when the task set lacks it."""
    path = task.answer_files().get(name)
    if path is None:
        raise TaskError(f"Task {task.id} has no answer file {name}.", f"Add it below answers/{task.id}/.")
    return path.read_bytes()


def why_missing(name: str, trajectory: Trajectory, files: Mapping[str, bytes]) -> str:
    """One line on why the artifact `name` cannot be checked: not made, or not a file that is read."""
    for artifact in trajectory.artifacts:
        if artifact.path == name and artifact.refused:
            return f"{name} was not read: {artifact.refused}"
    names = sorted(files)
    more = ", ..." if len(names) > MAX_NAMES else ""
    return f"the file {name} was not made (found: {', '.join(names[:MAX_NAMES]) or 'no files'}{more})"
