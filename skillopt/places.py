"""Where things are: skills, task sets and records of a project, and the ones that ship with the package."""

from __future__ import annotations

import shutil
from pathlib import Path

import git
from pydantic import BaseModel, ConfigDict

from harness.errors import SetupError, SkillError, TaskError


class Place(BaseModel):
    """The folders of one skill's project. `copied` lists what was copied out of the package just now."""

    model_config = ConfigDict(frozen=True)

    root: Path
    skill: Path
    taskset: Path
    records: Path
    notes: tuple[str, ...] = ()


def shipped_root() -> Path:
    """The folder that holds the skills/ and tasksets/ of the package: in a wheel, or in a checkout."""
    package = Path(__file__).resolve().parent
    inside = package / "shipped"
    return inside if inside.is_dir() else package.parent


def shipped_skills() -> list[str]:
    return sorted(path.parent.name for path in (shipped_root() / "skills").glob("*/SKILL.md"))


def find_taskset(where: str, root: Path, base: Path) -> Path:
    """A task set named by path (from the project or from `base`) or by name (the project's, then ours)."""
    for folder in (
        root / "tasksets" / where,
        base / where,
        root / where,
        shipped_root() / "tasksets" / where,
    ):
        if (folder / "taskset.toml").is_file():
            return folder.resolve()
    raise TaskError(f"There is no task set {where}.", f"Make one in {root / 'tasksets' / where}.")


def find_place(skill: str, cwd: Path, tasks: str = "") -> Place:
    """Find a skill by path or name below `cwd`; a shipped one is copied there first.

    Raises SkillError or TaskError with the remedy.
    """
    notes: list[str] = []
    folder = existing_skill(skill, cwd)
    if folder is None:
        folder = copy_shipped(skill, cwd, notes)
    root = project_root(folder)
    taskset = find_taskset(tasks or folder.name, root, cwd)
    return Place(root=root, skill=folder, taskset=taskset, records=root / ".skillopt", notes=tuple(notes))


def existing_skill(skill: str, cwd: Path) -> Path | None:
    for folder in (cwd / "skills" / skill, cwd / skill):
        if (folder / "SKILL.md").is_file():
            return folder.resolve()
    if (cwd / skill).is_dir():
        raise SkillError(f"{cwd / skill} holds no SKILL.md.", "Name a folder that holds one.")
    return None


def project_root(skill: Path) -> Path:
    """The folder above `skills/`, or the one that holds the skill."""
    return skill.parent.parent if skill.parent.name == "skills" else skill.parent


def copy_shipped(skill: str, cwd: Path, notes: list[str]) -> Path:
    """Copy a shipped skill and its task set below `cwd`, with a git repository when there is none."""
    if skill not in shipped_skills():
        raise SkillError(
            f"There is no skill named {skill} here.",
            f"Make one with: skillopt init {skill} (shipped: {', '.join(shipped_skills())}).",
        )
    try:
        for kind in ("skills", "tasksets"):
            source, target = shipped_root() / kind / skill, cwd / kind / skill
            if source.is_dir() and not target.exists():
                partial = target.with_name(f".{skill}.partial")
                shutil.rmtree(partial, ignore_errors=True)
                shutil.copytree(source, partial, ignore=shutil.ignore_patterns("__pycache__"))
                partial.rename(target)
                notes.append(f"Copied the shipped {kind.removesuffix('s')} {skill} to {target}.")
    except OSError as error:
        raise SetupError(
            f"{cwd} cannot be written: {error.strerror}.", "Run from a folder that is."
        ) from error
    ensure_repository(cwd, notes)
    return (cwd / "skills" / skill).resolve()


def ensure_repository(folder: Path, notes: list[str]) -> None:
    """A git repository to keep versions in; made when `folder` is in none."""
    try:
        git.Repo(folder, search_parent_directories=True)
    except git.InvalidGitRepositoryError:
        git.Repo.init(folder)
        notes.append(f"Made a git repository in {folder} to keep versions in.")
