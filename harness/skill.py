"""Skill: a folder with a SKILL.md, read by the rules of the Agent Skills specification (agentskills.io).

The text is never re-rendered: front matter keeps every byte, unknown keys too. Edits act on the body.
"""

from __future__ import annotations

import hashlib
import re
from io import StringIO
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from harness.errors import SkillError

NAME = re.compile(r"^[a-z0-9]+(-[a-z0-9]+)*$")
MAX_NAME, MAX_DESCRIPTION, MAX_COMPATIBILITY = 64, 1024, 500
MAX_BYTES = 256 * 1024
NOT_CONTENT = {".git", "__pycache__"}
FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)


class Skill(BaseModel):
    """A skill version: the SKILL.md text and the other files of its folder, by relative path."""

    model_config = ConfigDict(frozen=True)

    name: str
    description: str
    text: str
    files: dict[str, bytes] = {}

    @property
    def front_matter(self) -> str:
        """The front matter block, delimiters included, as it stands in the file."""
        match = FRONT_MATTER.match(self.text)
        return match.group(0) if match else ""

    @property
    def body(self) -> str:
        return self.text[len(self.front_matter) :]

    @property
    def hash(self) -> str:
        """sha256 over all files: what a rollout with this skill depends on."""
        total = hashlib.sha256(self.text.encode())
        for path, data in sorted(self.files.items()):
            total.update(f"\0{path}\0".encode() + hashlib.sha256(data).digest())
        return total.hexdigest()

    def with_text(self, text: str) -> Skill:
        """The same folder with another SKILL.md; raises SkillError when that is not valid."""
        return parse_skill(text, self.files, self.name)


def parse_front_matter(text: str) -> dict[str, Any]:
    """The front matter as a mapping. Raises SkillError."""
    match = FRONT_MATTER.match(text)
    if match is None:
        raise SkillError(
            "SKILL.md has no front matter.", "Start it with a block between two lines of three dashes (---)."
        )
    yaml = YAML(typ="safe")
    yaml.allow_duplicate_keys = False
    if re.search(r"(?m)(^|[\s:\[{,])[&*][A-Za-z0-9]", match.group(1)):
        raise SkillError("The front matter uses a YAML anchor or alias.", "Write the value out.")
    try:
        data = yaml.load(StringIO(match.group(1)))
    except (YAMLError, RecursionError, ValueError) as error:
        reason = " ".join(str(getattr(error, "problem", None) or error).split())
        raise SkillError(f"The front matter of SKILL.md is not valid YAML: {reason}.", "Mend it.") from error
    if not isinstance(data, dict):
        raise SkillError(
            "The front matter of SKILL.md is not a mapping.", "Write lines such as: name: my-skill"
        )
    return data


def check_field(data: dict[str, Any], key: str, limit: int) -> str:
    value = data.get(key)
    if not isinstance(value, str) or not value.strip():
        raise SkillError(f"The front matter has no {key}.", f"Add a line such as: {key}: ...")
    if len(value) > limit:
        raise SkillError(f"The {key} has {len(value)} characters; {limit} are allowed.", "Shorten it.")
    return value


def parse_skill(text: str, files: dict[str, bytes] | None = None, folder: str | None = None) -> Skill:
    """Validate by the specification's rules. Raises SkillError with one sentence and the remedy."""
    if "\0" in text:
        raise SkillError("SKILL.md holds NUL bytes.", "Save it as UTF-8 text.")
    if len(text.encode()) > MAX_BYTES:
        raise SkillError("SKILL.md is larger than 256 KiB.", "Move detail into files beside it.")
    data = parse_front_matter(text)
    name = check_field(data, "name", MAX_NAME)
    if not NAME.match(name):
        raise SkillError(f"The skill name {name!r} is not allowed.", "Use a-z, 0-9 and single hyphens.")
    if folder is not None and folder != name:
        raise SkillError(f"The skill is named {name} but its folder {folder}.", "Make the two names equal.")
    if "compatibility" in data:
        check_field(data, "compatibility", MAX_COMPATIBILITY)
    return Skill(
        name=name, description=check_field(data, "description", MAX_DESCRIPTION), text=text, files=files or {}
    )


def load_skill(folder: Path) -> Skill:
    """Read a skill folder. Raises SkillError when it is missing, unreadable or not valid."""
    path = folder / "SKILL.md"
    if not path.is_file():
        raise SkillError(f"There is no skill at {folder}.", "Name a folder that holds a SKILL.md.")
    try:
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SkillError(f"{path} cannot be read: {error}.", "Save it as UTF-8 text.") from error
    files = {name: data for name, data in read_files(folder).items() if name != path.name}
    try:
        return parse_skill(text, files, folder.resolve().name)
    except SkillError as error:
        raise SkillError(f"{path}: {error.message}", error.remedy) from error


def read_files(folder: Path) -> dict[str, bytes]:
    """Relative path -> content, less what git and Python keep in a folder. Raises SkillError."""
    files = {}
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if NOT_CONTENT & set(inside.parts) or path.is_symlink() or not path.is_file():
            continue
        try:
            inside.as_posix().encode()
            files[inside.as_posix()] = path.read_bytes()
        except UnicodeEncodeError as error:
            raise SkillError(
                f"The file name {inside.as_posix()!a} in {folder} is not valid UTF-8.", "Rename that file."
            ) from error
        except OSError as error:
            raise SkillError(
                f"{path} cannot be read: {error.strerror}.", "Check its permissions, or move it away."
            ) from error
    return files
