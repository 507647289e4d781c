"""Edit and Patch: small bounded edits of a skill's body, applied by literal anchors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from difflib_rs import unified_diff
from pydantic import BaseModel, ConfigDict, ValidationError

from harness.errors import SetupError
from harness.skill import Skill
from harness.task import digest, explain

Op = Literal["append", "insert_after", "replace", "delete"]


class PatchError(SetupError):
    """A patch that cannot be read or does not apply."""


class Edit(BaseModel):
    """One edit. `anchor` is a literal text of the body that occurs exactly once (not used by append)."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    op: Op
    anchor: str = ""
    text: str = ""
    why: str = ""
    support: int = 1
    sources: tuple[str, ...] = ()
    """Train tasks whose failures asked for it."""


class Patch(BaseModel):
    """Edits that are proposed, tested and accepted together."""

    model_config = ConfigDict(frozen=True)

    edits: tuple[Edit, ...]
    origin: str = "reflection"

    @property
    def id(self) -> str:
        """A short content address: the same edits are the same patch."""
        return digest([(e.op, e.anchor, e.text) for e in self.edits])[:10]


def apply_edit(body: str, edit: Edit) -> str:
    """The body with one edit. Raises PatchError when the anchor does not stand there exactly once."""
    if edit.op == "append":
        return body.rstrip("\n") + "\n" + edit.text.strip("\n") + "\n"
    if not edit.anchor.strip():
        raise PatchError(f"A {edit.op} edit names no anchor.", "Name a text that stands in the skill.")
    count = body.count(edit.anchor)
    if count != 1:
        raise PatchError(
            f"The text {edit.anchor[:60]!r} stands {count} times in the skill, so the edit does not apply.",
            "Name a text that stands there exactly once.",
        )
    if edit.op == "delete":
        return body.replace(edit.anchor, "")
    if edit.op == "replace":
        return body.replace(edit.anchor, edit.text)
    end = body.index(edit.anchor) + len(edit.anchor)
    rest = body[end:]
    line_end = rest.find("\n")
    tail = rest[line_end:] if line_end >= 0 else "\n"
    head = body[:end] + (rest[:line_end] if line_end >= 0 else rest)
    return head + "\n" + edit.text.strip("\n") + tail


def apply_patch(skill: Skill, patch: Patch) -> Skill:
    """The candidate. Front matter is never touched. Raises PatchError or SkillError."""
    body = skill.body
    for edit in patch.edits:
        body = apply_edit(body, edit)
    return skill.with_text(skill.front_matter + body)


def diff(old: str, new: str, old_name: str, new_name: str) -> str:
    """Unified diff of two texts."""
    lines = unified_diff(old.splitlines(), new.splitlines(), old_name, new_name, lineterm="")
    return "\n".join(line.rstrip("\n") for line in lines)


def whole_text_patch(skill: Skill, text: str, origin: str) -> Patch:
    """A hand-made candidate as one edit of the body. Raises PatchError when it changes the front matter."""
    candidate = skill.with_text(text)
    if candidate.front_matter != skill.front_matter:
        raise PatchError("The candidate changes the front matter.", "Only the body of a skill is optimised.")
    return Patch(edits=(Edit(op="replace", anchor=skill.body, text=candidate.body),), origin=origin)


def read_patch(path: Path, skill: Skill) -> Patch:
    """A patch file: JSON with `edits`, or a unified diff of the SKILL.md. Raises PatchError."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PatchError(f"The patch {path} cannot be read: {error}.", "Check the path.") from error
    if text.lstrip().startswith("{"):
        try:
            patch = Patch.model_validate({**json.loads(text), "origin": f"file {path.name}"})
        except ValidationError as error:
            raise PatchError(f"{path} is not a patch: {explain(error)}.", "Mend that field.") from error
        except ValueError as error:
            raise PatchError(f"{path} is not valid JSON: {error}.", "Mend it.") from error
    else:
        patch = whole_text_patch(skill, apply_diff(skill.text, text, path), f"file {path.name}")
    if apply_patch(skill, patch).text == skill.text:
        raise PatchError(f"{path} changes nothing.", "Check that it is not applied already.")
    return patch


def apply_diff(text: str, patch: str, path: Path) -> str:
    """Apply a unified diff of one file. Raises PatchError when a hunk does not fit."""
    lines, result, place = text.splitlines(keepends=True), [], 0
    hunks = parse_hunks(patch)
    if not hunks:
        raise PatchError(f"{path} holds no change.", "Make it with: git diff -- SKILL.md")
    for before, after in hunks:
        start = find_lines(lines, before, place)
        if start is None:
            shown = (before[0] if before else after[0]).strip()[:60]
            raise PatchError(
                f"{path} does not apply: the lines around {shown!r} do not stand in the skill.",
                "Make it again from the version it is meant for.",
            )
        result += lines[place:start] + after
        place = start + len(before)
    return "".join(result + lines[place:])


def parse_hunks(patch: str) -> list[tuple[list[str], list[str]]]:
    """(old lines, new lines) of each hunk."""
    hunks: list[tuple[list[str], list[str]]] = []
    for line in patch.splitlines(keepends=True):
        if line.startswith("@@"):
            hunks.append(([], []))
        elif hunks and line[:1] in (" ", "-", "+", "\n"):
            kept = line if line.endswith("\n") else line + "\n"
            content = kept[1:] if kept != "\n" else kept
            if not line.startswith("+"):
                hunks[-1][0].append(content)
            if not line.startswith("-"):
                hunks[-1][1].append(content)
    return hunks


def find_lines(lines: list[str], wanted: list[str], start: int) -> int | None:
    for index in range(start, len(lines) - len(wanted) + 1):
        if [line.rstrip("\n") for line in lines[index : index + len(wanted)]] == [
            line.rstrip("\n") for line in wanted
        ]:
            return index
    return None
