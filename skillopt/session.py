"""A session: everything that one command needs, opened once and closed together."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

import harness.sandboxes
from harness.adapters.builtin import BuiltinAgent
from harness.errors import SetupError, StoreError
from harness.models.endpoints import Endpoint, open_model
from harness.protocols import ChatModel
from harness.redact import Redactor
from harness.rollout import World
from harness.sandboxes.pool import SandboxPool
from harness.skill import Skill, load_skill
from harness.store import TrajectoryStore
from harness.task import Task, TaskSet, digest, load_taskset
from harness.tools.registry import tools_of
from harness.verifiers import get_verifier
from harness.verifiers.checkers import checker_pool
from skillopt.evaluate import Evaluator, RunBudget
from skillopt.gates.screen import Secrets, plain_number, telling_number
from skillopt.places import Place, find_taskset
from skillopt.versions import SkillHistory, Version

WARM_OPENPYXL = Path(harness.sandboxes.__file__).with_name("warm_openpyxl.py")
Tell = Callable[[str, dict[str, Any]], None]


class Options(BaseModel):
    """What the user chose, apart from the skill itself."""

    model_config = ConfigDict(frozen=True)

    agent: Endpoint = Endpoint()
    optimizer: Endpoint = Endpoint()
    sandbox: str = "local"
    concurrency: int = 4
    seed: int = 0
    budget: RunBudget = RunBudget()


@dataclass
class Project:
    """A skill with its history, task set, suites and record. Needs no model and no sandbox."""

    place: Place
    skill: Skill
    taskset: TaskSet
    suites: dict[str, TaskSet]
    history: SkillHistory
    store: TrajectoryStore
    redactor: Redactor

    @property
    def name(self) -> str:
        return self.skill.name

    def base(self) -> Version:
        """The incumbent to start from: the head, or the work tree's text when it is none of the versions."""
        versions = self.history.versions()
        if versions and self.skill.hash in {version.skill.hash for version in versions}:
            return versions[-1]
        kind = "edited by hand, not gated" if versions else "the seed"
        return self.history.commit(self.skill, "seed", kind, {"note": kind})

    def head(self) -> Version:
        """The version that a change by hand is tried against: never the edited text of the work tree."""
        return self.history.head() or self.base()

    def secrets(self) -> Secrets:
        """Hidden answers of every split and the task ids: what no skill may hold."""
        return collect_secrets(self.taskset, self.skill)


@dataclass
class Session:
    """A project with everything that runs."""

    project: Project
    options: Options
    world: World
    evaluator: Evaluator
    optimizer: ChatModel
    tell: Tell = field(default=lambda _kind, _data: None)


def open_project(place: Place, environ: Mapping[str, str]) -> Project:
    """Read and check everything on disk. Raises SetupError with one sentence and the remedy."""
    skill = load_skill(place.skill)
    taskset = load_taskset(place.taskset)
    check_names(taskset)
    history = SkillHistory(place.skill, skill.name)
    redactor = Redactor.from_environment(environ)
    store = open_store(place, redactor)
    return Project(place, skill, taskset, open_suites(taskset, place), history, store, redactor)


def open_store(place: Place, redactor: Redactor) -> TrajectoryStore:
    """The record file, in a folder that git ignores."""
    try:
        place.records.mkdir(parents=True, exist_ok=True)
        ignore = place.records / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n")
    except OSError as error:
        raise StoreError(
            f"The folder {place.records} cannot be written: {error.strerror}.",
            "Make it writable, or run from a folder that is.",
        ) from error
    return TrajectoryStore(place.records / "store.db", redactor)


def open_suites(taskset: TaskSet, place: Place) -> dict[str, TaskSet]:
    """The regression suites by kind: a split of the task set itself, or task sets by name or path."""
    suites = {}
    for kind, where in taskset.regression.items():
        if where.startswith("split:"):
            tasks = tuple(task for task in taskset.tasks if task.split == where.removeprefix("split:"))
            suites[kind] = taskset.model_copy(update={"tasks": tasks})
        else:
            suites[kind] = load_taskset(find_taskset(where, place.root, taskset.root))
        check_names(suites[kind])
    return suites


def check_names(taskset: TaskSet) -> None:
    """Toolsets and verifiers exist. Raises TaskError."""
    for task in taskset.tasks:
        tools_of(task.toolsets)
        for spec in task.verifiers:
            get_verifier(spec.name)


def collect_secrets(taskset: TaskSet, skill: Skill) -> Secrets:
    """Hidden answers, in files or in the verifiers' own settings, and the ids that are no common words."""
    numbers: set[str] = set()
    texts: set[str] = set()
    visible = " ".join([skill.text, *(task.prompt for task in taskset.tasks)]).lower()
    for task in taskset.tasks:
        for value in task_answers(task):
            if telling_number(value):
                numbers.add(plain_number(value))
            elif telling_text(value) and value.lower() not in visible:
                texts.add(" ".join(value.lower().split()))
    return Secrets(
        numbers=frozenset(numbers),
        texts=frozenset(texts),
        task_ids=frozenset(task.id for task in taskset.tasks if telling_id(task.id)),
    )


def task_answers(task: Task) -> list[str]:
    """The values that the verifiers of a task expect."""
    found = leaves([(spec.model_extra or {}).get("expected", "") for spec in task.verifiers])
    for name, path in task.answer_files().items():
        if name.endswith((".json", ".txt")):
            found += answer_values(path)
    return found


def telling_id(task_id: str) -> bool:
    """Whether an id cannot be a common word that a good rule may use."""
    return any(char.isdigit() or char == "-" for char in task_id)


def telling_text(text: str) -> bool:
    """Whether a text is special enough to give an answer away: a code, or several words."""
    return len(text) >= 6 and (any(char.isdigit() for char in text) or len(text.split()) >= 2)


def answer_values(path: Path) -> list[str]:
    """The leaf values of an answer file, as text."""
    text = path.read_text(encoding="utf-8", errors="replace")
    try:
        return leaves(json.loads(text))
    except ValueError:
        return text.split("\n")


def leaves(data: Any) -> list[str]:
    """The leaf values of nested data as text, less what only describes the form of a check."""
    found: list[str] = []
    stack = [data]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            stack += [value for name, value in item.items() if name not in STRUCTURE]
        elif isinstance(item, list):
            stack += item
        elif isinstance(item, str | int | float) and not isinstance(item, bool):
            found.append(str(item))
    return found


STRUCTURE = (
    "sheet",
    "cell",
    "sheets",
    "untouched",
    "unchanged_files",
    "number_format",
    "format_kind",
    "tolerance",
)


@contextmanager
def locked(place: Place, name: str) -> Iterator[None]:
    """One run per skill at a time. Raises SetupError when another has the lock."""
    path = place.records / f"{name}.lock"
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SetupError(
                f"Another run is working on {name}.",
                "Wait until it ends, or stop it; this one changed nothing.",
            ) from None
        yield
    finally:
        os.close(handle)


@asynccontextmanager
async def open_session(
    project: Project,
    options: Options,
    run_id: str,
    environ: Mapping[str, str],
    tell: Tell = lambda _kind, _data: None,
) -> AsyncIterator[Session]:
    """Sandboxes, models and evaluator for one run; everything is closed at the end, also after a fault."""
    tasksets = [project.taskset, *project.suites.values()]
    packages = sorted({package for taskset in tasksets for package in taskset.packages})
    preload = [package for package in packages if package != "et_xmlfile"]
    warm = [WARM_OPENPYXL] if "openpyxl" in packages else []
    sandboxes = SandboxPool(
        options.sandbox,
        options.concurrency,
        packages=packages,
        modules=warm,
        preload=[*preload, *(path.stem for path in warm)],
    )
    async with sandboxes, checker_pool(options.sandbox, max(1, options.concurrency // 2)) as checkers:
        await sandboxes.check()
        model = open_model(options.agent, environ, store=project.store, run_id=run_id)
        optimizer = open_model(options.optimizer, environ, store=project.store, run_id=run_id)
        world = World(
            adapter=BuiltinAgent(),
            model=model,
            address=options.agent.address,
            sandboxes=sandboxes,
            checkers=checkers,
            store=project.store,
            run_id=run_id,
            seed=options.seed,
        )
        evaluator = Evaluator(
            world,
            options.concurrency,
            options.budget,
            lambda what, done, total: tell("progress", {"what": what, "done": done, "total": total}),
        )
        try:
            yield Session(project, options, world, evaluator, optimizer, tell)
        finally:
            await model.close()
            await optimizer.close()


def run_key(*parts: Any) -> str:
    """A run's id: the same question is the same run."""
    return digest([part.model_dump() if isinstance(part, BaseModel) else part for part in parts])[:12]
