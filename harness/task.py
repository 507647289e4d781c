"""Task and TaskSet: what the agent is asked, the world it finds, how the result is checked, which split.

A task set is a folder:

    taskset.toml      name, description, packages, [splits], [regression]
    tasks/*.toml      one task each
    fixtures/<id>/    copied into the agent's work folder (a task may name another folder)
    home/<id>/        optional: copied into the agent's home folder
    answers/<id>/     hidden: read by verifiers only, never copied into a sandbox with an agent

Splits are stable when tasks are added: a task that names no split gets one from a hash of its id.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
import zipfile
from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from harness.errors import TaskError

Split = Literal["train", "selection", "test", "regression"]
ID_PATTERN = r"^[a-z0-9][a-z0-9-]{0,63}$"
MAX_FIXTURE_BYTES = 32 << 20


class VerifierSpec(BaseModel):
    """One verifier of a task: its registered name and its own settings."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str


class Budget(BaseModel):
    """What one rollout may use."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_turns: int = Field(default=16, ge=1, le=500)
    max_tokens: int = Field(default=200_000, ge=100)


class Task(BaseModel):
    """One task. `hash` covers everything that can change a score: text, fixture, answers, verifiers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=ID_PATTERN)
    prompt: str = Field(min_length=1)
    verifiers: tuple[VerifierSpec, ...] = Field(min_length=1)
    scoring: Literal["all", "mean"] = "all"
    fixture: str = ""
    home: str = ""
    toolsets: tuple[str, ...] = ("terminal", "files", "python")
    timeout_sec: float = Field(default=120, gt=0, le=86_400)
    split: Split = "train"
    domain: str = ""
    tags: tuple[str, ...] = ()
    critical: bool = False
    forbidden_paths: tuple[str, ...] = ()
    budget: Budget = Budget()
    root: Path = Field(default=Path("."), exclude=True, repr=False)
    hash: str = Field(default="", exclude=True)

    def fixture_files(self) -> dict[str, Path]:
        """Work-folder path -> file on disk."""
        return files_below(self.root / "fixtures" / (self.fixture or self.id))

    def home_files(self) -> dict[str, Path]:
        """Home-folder path -> file on disk."""
        return files_below(self.root / "home" / (self.home or self.id))

    def answer_files(self) -> dict[str, Path]:
        """Name -> hidden file on disk."""
        return files_below(self.root / "answers" / self.id)


class TaskSet(BaseModel):
    """A named list of tasks and the regression suites that guard a skill trained on it."""

    model_config = ConfigDict(frozen=True)

    name: str
    description: str = ""
    root: Path
    packages: tuple[str, ...] = ()
    regression: dict[str, str] = {}
    tasks: tuple[Task, ...]

    def split(self, name: Split) -> tuple[Task, ...]:
        return tuple(task for task in self.tasks if task.split == name)

    @cached_property
    def hash(self) -> str:
        return digest(sorted((task.id, task.split, task.hash) for task in self.tasks))


class SplitShares(BaseModel):
    """Shares of the three splits for tasks that name none; they must add up to 1."""

    model_config = ConfigDict(extra="forbid")

    train: float = Field(default=0.3, ge=0)
    selection: float = Field(default=0.4, ge=0)
    test: float = Field(default=0.3, ge=0)

    @model_validator(mode="after")
    def whole(self) -> SplitShares:
        if abs(self.train + self.selection + self.test - 1) > 1e-6:
            raise ValueError("the three shares do not add up to 1")
        return self


class Manifest(BaseModel):
    """`taskset.toml`. `regression` maps domain/runtime/safety to `split:regression`, a name or a path."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(pattern=ID_PATTERN)
    description: str = ""
    packages: tuple[str, ...] = ()
    splits: SplitShares = SplitShares()
    regression: dict[Literal["domain", "runtime", "safety"], str] = {}


def digest(value: Any) -> str:
    """Hex sha256 of bytes, or of the canonical JSON of anything else."""
    raw = value if isinstance(value, bytes) else json.dumps(value, sort_keys=True, default=str).encode()
    return hashlib.sha256(raw).hexdigest()


def files_below(folder: Path) -> dict[str, Path]:
    if not folder.is_dir():
        return {}
    return {
        path.relative_to(folder).as_posix(): path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def hashed_split(task_id: str, shares: SplitShares) -> Split:
    """The split of a task that names none: its place in [0, 1) by hash, so others never move."""
    place = int(hashlib.sha256(task_id.encode()).hexdigest()[:12], 16) / 16**12
    if place < shares.train:
        return "train"
    return "selection" if place < shares.train + shares.selection else "test"


def explain(error: ValidationError) -> str:
    """The first fault of a pydantic error, as `field: what is wrong`."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"]) or "the file"
    return f"{where}: {first['msg']}"


def read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise TaskError(f"{path} does not exist.", "Create it, or name another folder.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise TaskError(f"{path} cannot be read: {error}.", "Check the file.") from error
    except tomllib.TOMLDecodeError as error:
        raise TaskError(f"{path} is not valid TOML: {error}.", "Mend the line it names.") from error


def task_hash(task: Task) -> str:
    worlds = [task.fixture_files(), task.home_files(), task.answer_files()]
    files = [[(name, digest(path.read_bytes())) for name, path in world.items()] for world in worlds]
    return digest([task.model_dump(exclude={"split", "tags", "domain"}), files])


def normalise(data: dict[str, Any]) -> dict[str, Any]:
    """Accept `verifier = "name"` and `verifiers = ["name", {...}]` beside the full form."""
    specs = data.pop("verifier", None)
    if specs is not None and "verifiers" not in data:
        data["verifiers"] = specs if isinstance(specs, list) else [specs]
    if isinstance(data.get("verifiers"), list):
        data["verifiers"] = [{"name": s} if isinstance(s, str) else s for s in data["verifiers"]]
    return data


def load_task(path: Path, root: Path, shares: SplitShares) -> Task:
    data = normalise(read_toml(path))
    data.setdefault("id", path.stem)
    if not data.get("verifiers"):
        raise TaskError(
            f"Task {data['id']} ({path}) has no verifier.", 'Add a line such as: verifier = "exact"'
        )
    if isinstance(data["id"], str):
        data.setdefault("split", hashed_split(data["id"], shares))
    try:
        task = Task.model_validate({**data, "root": root})
    except ValidationError as error:
        raise TaskError(f"{path} is not a valid task: {explain(error)}.", "Mend that field.") from error
    check_fixture(task, path)
    check_workbooks(task)
    return task.model_copy(update={"hash": task_hash(task)})


def check_fixture(task: Task, path: Path) -> None:
    if task.fixture and not task.fixture_files():
        raise TaskError(
            f"Task {task.id} ({path}) names the fixture {task.fixture!r}, which is missing or empty.",
            f"Put the files into {task.root / 'fixtures' / task.fixture}.",
        )
    size = sum(file.stat().st_size for file in task.fixture_files().values())
    if size > MAX_FIXTURE_BYTES:
        raise TaskError(f"The fixture of task {task.id} has {size} bytes.", "Keep it under 32 MiB.")


def check_workbooks(task: Task) -> None:
    """A workbook that no program can open would only ever count against the agent."""
    for file in [*task.fixture_files().values(), *task.answer_files().values()]:
        if file.suffix.lower() in (".xlsx", ".xlsm"):
            try:
                with zipfile.ZipFile(file) as parts:
                    parts.getinfo("[Content_Types].xml")
            except (zipfile.BadZipFile, KeyError, OSError) as error:
                raise TaskError(
                    f"The workbook {file} of task {task.id} cannot be read: {error}.",
                    "Save it again as .xlsx, without a password.",
                ) from error


def check_ids(tasks: Iterable[Task], root: Path) -> None:
    doubled = [name for name, count in Counter(task.id for task in tasks).items() if count > 1]
    if doubled:
        raise TaskError(f"{root} has two tasks with the id {doubled[0]}.", "Give one of them another id.")


def load_taskset(root: Path) -> TaskSet:
    """Read and validate a task set folder. Raises TaskError with the file and the remedy."""
    root = root.resolve()
    if not root.is_dir():
        raise TaskError(f"There is no task set at {root}.", "Name a folder that holds a taskset.toml.")
    try:
        manifest = Manifest.model_validate(read_toml(root / "taskset.toml"))
    except ValidationError as error:
        raise TaskError(f"{root / 'taskset.toml'}: {explain(error)}.", "Mend that field.") from error
    tasks = tuple(load_task(path, root, manifest.splits) for path in sorted((root / "tasks").glob("*.toml")))
    check_ids(tasks, root)
    if not tasks:
        raise TaskError(f"{root} has no tasks.", f"Add files to {root / 'tasks'}.")
    return TaskSet(
        name=manifest.name,
        description=manifest.description,
        root=root,
        packages=manifest.packages,
        regression={str(kind): where for kind, where in manifest.regression.items()},
        tasks=tasks,
    )


def require_split(taskset: TaskSet, name: Split) -> tuple[Task, ...]:
    """The tasks of a split; raises TaskError when it is empty."""
    tasks = taskset.split(name)
    if not tasks:
        raise TaskError(
            f"The {name} split of {taskset.name} is empty.",
            f'Add tasks, or give some the line: split = "{name}"',
        )
    return tasks
