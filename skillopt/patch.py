"""Edit and Patch: small bounded edits of a skill's body, applied by literal anchors."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from difflib_rs import unified_diff
from pydantic import BaseModel, ConfigDict, ValidationError

from harness.errors import SetupError
from harness.skill import Skill
from harness.task import digest, explain

LINE = re.compile(r"[^\n]*\n|[^\n]+")
HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")
ADDS = (" ", "-", "+", "\n", "\r")
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
    """The candidate. Front matter and line ends stay as they are. Raises PatchError or SkillError."""
    body = skill.body
    crlf = 0 < body.count("\n") == body.count("\r\n")
    if crlf:
        body = body.replace("\r\n", "\n")
    for edit in patch.edits:
        body = apply_edit(body, with_line_feeds(edit) if crlf else edit)
    return skill.with_text(skill.front_matter + (body.replace("\n", "\r\n") if crlf else body))


def with_line_feeds(edit: Edit) -> Edit:
    anchor, text = (value.replace("\r\n", "\n") for value in (edit.anchor, edit.text))
    return edit.model_copy(update={"anchor": anchor, "text": text})


def diff(old: str, new: str, old_name: str, new_name: str) -> str:
    """Unified diff of two texts."""
    lines = unified_diff(old.splitlines(), new.splitlines(), old_name, new_name, lineterm="")
    return "\n".join(line.rstrip("\n") for line in lines)


def whole_text_patch(skill: Skill, text: str, origin: str) -> Patch:
    """A hand-made candidate as one edit of the body. Raises PatchError when it changes the front matter."""
    candidate = skill.with_text(text)
    if candidate.front_matter != skill.front_matter:
        raise PatchError("The candidate changes the front matter.", "Only the body of a skill is optimised.")
    if not skill.body.strip():
        return Patch(edits=(Edit(op="append", text=candidate.body),), origin=origin)
    return Patch(edits=(Edit(op="replace", anchor=skill.body, text=candidate.body),), origin=origin)


def read_patch(path: Path, skill: Skill) -> Patch:
    """A patch file: JSON with `edits`, or a unified diff of the SKILL.md. Raises PatchError."""
    try:
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PatchError(f"The patch {path} cannot be read: {error}.", "Check the path.") from error
    if text.lstrip().startswith("{"):
        try:
            patch = Patch.model_validate({**json.loads(text), "origin": f"file {path.name}"})
        except ValidationError as error:
            raise PatchError(f"{path} is not a patch: {explain(error)}.", "Mend that field.") from error
        except (ValueError, RecursionError) as error:
            raise PatchError(f"{path} is not valid JSON: {error}.", "Mend it.") from error
    else:
        if "\r\n" in skill.text and "\r\n" not in text:
            text = text.replace("\n", "\r\n")
        patch = whole_text_patch(skill, apply_diff(skill.text, text, path), f"file {path.name}")
    if apply_patch(skill, patch).text == skill.text:
        raise PatchError(f"{path} changes nothing.", "Check that it is not applied already.")
    return patch


@dataclass
class Hunk:
    """One hunk of a unified diff: where it stood in the old file (from 0), and its lines."""

    place: int
    old_left: int
    new_left: int
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    last: str = " "


def apply_diff(text: str, patch: str, path: Path) -> str:
    """Apply a unified diff of one file. Raises PatchError when a hunk does not fit."""
    lines, result, place = lines_of(text), [], 0
    hunks = parse_hunks(patch, path)
    if not hunks:
        raise PatchError(f"{path} holds no change.", "Make it with: git diff -- SKILL.md")
    shift = 0
    for hunk in hunks:
        start = find_lines(lines, hunk.before, place, hunk.place + shift)
        if start is None:
            shown = (hunk.before or hunk.after)[0].strip()[:60]
            raise PatchError(
                f"{path} does not apply: the lines around {shown!r} do not stand in the skill.",
                "Make it again from the version it is meant for.",
            )
        shift = start - hunk.place
        result += lines[place:start] + hunk.after
        place = start + len(hunk.before)
    return "".join(result + lines[place:])


def lines_of(text: str) -> list[str]:
    """Lines with their ends. Only a line feed ends one, as in git."""
    return LINE.findall(text)


def parse_hunks(patch: str, path: Path) -> list[Hunk]:
    """The hunks of a diff. Raises PatchError when it is about several files or is cut short."""
    hunks: list[Hunk] = []
    files = 0
    for line in lines_of(patch):
        last = hunks[-1] if hunks else None
        head = HUNK.match(line)
        if last is not None and (last.old_left or last.new_left) and line[:1] in ADDS:
            add_line(last, line)
        elif line.startswith("\\") and last is not None:
            drop_line_end(last)
        elif head is not None:
            start, old, new = int(head[1]), int(head[2] or 1), int(head[3] or 1)
            hunks.append(Hunk(start - 1 if old else start, old, new))
        elif line.startswith("+++ "):
            files += 1
        elif last is not None and line[:1] in ("+", "-") and not line.startswith(("--- ", "-- ")):
            last.new_left = -1
    if files > 1:
        raise PatchError(f"{path} changes {files} files.", "Make it with: git diff -- SKILL.md")
    if any(hunk.old_left or hunk.new_left for hunk in hunks):
        raise PatchError(
            f"{path} is damaged: a hunk has more or fewer lines than its head says.",
            "Make it with: git diff -- SKILL.md",
        )
    return hunks


def add_line(hunk: Hunk, line: str) -> None:
    """Add a line to the sides it stands on. An empty line is an empty context line without its blank."""
    mark, content = (line[0], line[1:]) if line[0] in " -+" else (" ", line)
    content = content if content.endswith("\n") else content + "\n"
    if mark != "+":
        hunk.before.append(content)
        hunk.old_left -= 1
    if mark != "-":
        hunk.after.append(content)
        hunk.new_left -= 1
    hunk.last = mark


def drop_line_end(hunk: Hunk) -> None:
    """`No newline at end of file`: of the line before it, on the sides it stands on."""
    for mark, side in (("+", hunk.before), ("-", hunk.after)):
        if hunk.last != mark and side:
            side[-1] = side[-1].removesuffix("\n")


def find_lines(lines: list[str], wanted: list[str], start: int, near: int) -> int | None:
    """Where the wanted lines stand at or after `start`, nearest to `near`; their ends may differ."""
    plain, sought = ([line.rstrip("\r\n") for line in group] for group in (lines, wanted))
    last = len(lines) - len(wanted)
    places = [i for i in range(start, last + 1) if plain[i : i + len(wanted)] == sought]
    return min(places, key=lambda place: abs(place - near), default=None)
