"""`skillopt init NAME`: a new skill with a three-task set that runs as it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from harness.errors import SetupError
from harness.skill import MAX_NAME, NAME

TEMPLATES = Path(__file__).with_name("templates")
PLACEHOLDER = "@NAME@"


def scaffold(name: str, root: Path) -> list[Path]:
    """Write skills/NAME and tasksets/NAME below `root`; returns the files written, in order.

    Raises SetupError when the name is not a valid skill name, when one of the folders exists, and when
    `root` cannot be written. Nothing that exists is changed.
    """
    if not NAME.match(name) or len(name) > MAX_NAME:
        raise SetupError(
            f"{name!r} is not a skill name.",
            f"Use a-z, 0-9 and single hyphens, at most {MAX_NAME} characters, such as: my-skill",
        )
    folders = {"skill": root / "skills" / name, "taskset": root / "tasksets" / name}
    for folder in folders.values():
        if folder.exists() or folder.is_symlink():
            raise SetupError(f"{folder} exists already.", "Choose another name, or move that folder away.")
    written = []
    try:
        for template, folder in folders.items():
            written += list(copy_template(TEMPLATES / template, folder, name))
    except OSError as error:
        raise SetupError(
            f"The skill cannot be written: {error}.", "Run this in a folder that you may write to."
        ) from error
    return written


def copy_template(source: Path, folder: Path, name: str) -> Iterator[Path]:
    """Copy the files below `source` with the skill's name filled in; yields each file written."""
    for path in sorted(source.rglob("*")):
        if path.is_file():
            target = folder / path.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            text = path.read_text(encoding="utf-8").replace(PLACEHOLDER, name)
            target.write_text(text, encoding="utf-8")
            yield target
