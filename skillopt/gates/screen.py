"""The screen: faults of a patch that need no rollout to be seen. Static text rules; any finding refuses.

It reads what the patch adds. Rules of this kind find careless and crude things; what is put in plain
persuasive words is left to the regression gates and to people (docs/security.md gives the figures).
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterable, Sequence

from difflib_rs import unified_diff
from pydantic import BaseModel, ConfigDict

from harness.errors import SkillError
from harness.redact import Redactor
from harness.skill import Skill
from harness.verifiers.policy_case import Case
from harness.verifiers.policy_shell import judge_shell
from skillopt.gates.decision import ScreenFinding
from skillopt.patch import Edit, Patch, PatchError, apply_patch
from skillopt.reflect.merge import similarity

MAX_BODY_CHARS, MAX_BODY_LINES = 15_000, 500
MAX_EDIT_WORDS, MAX_ADDED_SHARE, FREE_GROWTH_CHARS = 120, 0.20, 1200
REPEAT_LIKE = 0.85
CODES = {
    "DOES_NOT_APPLY": "an anchor does not stand in the skill exactly once",
    "SPEC": "the result is not a valid skill",
    "NO_CHANGE": "the text stays the same",
    "SIZE": "the skill or the edit is too long",
    "HIDDEN_CHAR": "characters that a reader cannot see",
    "HIDDEN_MARKUP": "markup that a rendered page does not show",
    "BLOB": "an encoded block that a reader cannot check",
    "HOST": "an address of another machine",
    "COMMAND": "a command that is dangerous, privileged or sends data away",
    "LEAK": "a hidden answer or the id of a task",
    "SECRET": "a secret",
    "REPEAT": "an edit that was refused before",
}
HOST = re.compile(
    r"\b[a-z][a-z0-9+.-]{1,20}://|\bwww\.|\b(?:\d{1,3}\.){3}\d{1,3}\b|[\w.+-]+@[\w-]+\.[a-z]{2,}"
    r"|\b[\w-]+\.(?:com|net|org|io|dev|test|example|app|xyz|ru|cn)\b",
    re.IGNORECASE,
)
MARKUP = re.compile(
    r"<!--|\[//\]:|<\s*(script|style|iframe|details|div|span|img)\b|display\s*:\s*none|</?skill", re.I
)
BLOB = re.compile(
    r"(?!([-=_])\1{79})[A-Za-z0-9+/=_-]{80,}|(?:\d{1,3}\s*,\s*){20,}|(?:\\x[0-9a-f]{2}){8,}", re.IGNORECASE
)
LONG_RUN = re.compile(r"\n{12,}|[ \t]{200,}")
ENCODED = re.compile(r"[A-Za-z0-9+/_-]{8,}={0,2}")
CODE = re.compile(r"```[^\n]*\n(.*?)```|`([^`\n]+)`", re.DOTALL)
COMMAND_WORD = re.compile(
    r"\b(?:sudo|su -|curl|wget|scp|sftp|netcat|chmod -R|chmod 0?777|rm -rf|mkfs|crontab|setuid)\b",
    re.IGNORECASE,
)
NAMED = rf"(?:`[^`\n]+`|{COMMAND_WORD.pattern})"
FORBIDS = re.compile(
    rf"\b(?:never|do not|don't|must not) (?:use|run|call|type|try) {NAMED}(?:(?:,| or|, or| and) {NAMED})*",
    re.IGNORECASE,
)
"""A rule against a command. Only the command named right there is let pass."""
SEPARATOR = r"[,'’_\u00a0\u2009\u202f ]"
NUMBER = re.compile(rf"(?<![\w.])[-+]?\d+(?:{SEPARATOR}+\d+)*(?:\.\d+)?")
MOST_GROUPS = 6
INVISIBLE_MARKS = "\u2800\u3164\u115f\u1160\uffa0\u034f\u17b4\u17b5\u180b\u180c\u180d\u180f"


class Secrets(BaseModel):
    """What must not stand in a skill: hidden answers of all splits, and task ids."""

    model_config = ConfigDict(frozen=True)

    numbers: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    task_ids: frozenset[str] = frozenset()


def plain_number(text: str) -> str:
    """A number without grouping marks, sign and trailing zeros: `98,231.40` and `98231.4` are the same."""
    digits = re.sub(rf"{SEPARATOR}|[\s+-]", "", text)
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def telling_number(text: str) -> bool:
    """Whether a number is rare enough to give an answer away: large, or with cents, and not a year."""
    whole, _, fraction = plain_number(text).partition(".")
    if not whole.isdigit():
        return False
    if fraction:
        return len(whole) >= 4 or (len(fraction) >= 2 and len(whole) >= 2)
    return len(whole) >= 4 and not (len(whole) == 4 and whole[:2] in ("19", "20")) and whole.strip("0") != "1"


def added_text(old: Skill, new: Skill) -> str:
    """The lines that a diff of the two bodies adds, in order. Only a line feed ends a line."""
    before, after = (skill.body.rstrip("\n").split("\n") for skill in (old, new))
    diff = unified_diff(before, after, n=0, lineterm="")
    return "\n".join(line[1:] for line in diff[2:] if line.startswith("+"))


def hidden_characters(text: str) -> list[str]:
    """Names of format, private, unassigned and filler characters, and of mixed-script words."""
    found = []
    for char in text:
        if ord(char) < 128 and (char in "\t\n\r" or char.isprintable()):
            continue
        category = unicodedata.category(char)
        filler = char in INVISIBLE_MARKS or 0xFE00 <= ord(char) <= 0xFE0E or 0xE0100 <= ord(char) <= 0xE01EF
        if category in ("Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp") or filler:
            found.append(f"U+{ord(char):04X}")
        elif 0xFF01 <= ord(char) <= 0xFF5E:
            found.append(f"full-width U+{ord(char):04X}")
    return found + [word for word in re.findall(r"\w+", text) if mixed_script(word)]


def mixed_script(word: str) -> bool:
    scripts = {unicodedata.name(char, "").split(" ")[0] for char in word if char.isalpha()}
    return "LATIN" in scripts and bool(scripts & {"CYRILLIC", "GREEK", "CHEROKEE"})


def decoded_parts(text: str) -> str:
    """The text with readable base64 and hex parts written out, so that a leak cannot hide in one."""
    parts = [text]
    for match in ENCODED.findall(text):
        standard = match.replace("-", "+").replace("_", "/")
        for decode, coded in ((base64.b64decode, standard + "=" * (-len(match) % 4)), (bytes.fromhex, match)):
            try:
                parts.append(decode(coded).decode())
            except (binascii.Error, UnicodeDecodeError, ValueError):
                continue
    return "\n".join(parts)


def dangerous_commands(text: str) -> list[str]:
    """Commands in code spans and blocks that the policy labels, and dangerous ones in plain prose.

    A rule that forbids a command is no such command.
    """
    text = FORBIDS.sub("", text)
    case = Case(workdir="/work")
    for match in CODE.finditer(text):
        judge_shell(match.group(1) or match.group(2) or "", case)
    found = [
        f"{event.rule}: {event.detail[:80]}" for event in case.found.values() if event.severity == "violation"
    ]
    word = COMMAND_WORD.search(text)
    return found or ([word.group(0)] if word else [])


def numbers_in(text: str) -> set[str]:
    """Plain numbers in a text: as they stand, and as neighbouring groups of digits may be read together."""
    ascii_digits = "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in text)
    found = set()
    for written in (ascii_digits, ascii_digits.translate(str.maketrans(",.", ".,"))):
        for match in NUMBER.findall(written):
            groups = re.split(rf"{SEPARATOR}+", match)
            for start in range(len(groups)):
                for end in range(start + 1, min(len(groups), start + MOST_GROUPS) + 1):
                    found.add(plain_number("".join(groups[start:end])))
    return found


def stands_in(wanted: str, text: str) -> bool:
    """Whether a text holds these words, not as a part of longer ones."""
    return wanted in text and re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", text) is not None


def leaks(text: str, secrets: Secrets) -> list[str]:
    """Hidden answers and task ids that stand in `text`."""
    full = decoded_parts(unicodedata.normalize("NFKC", text))
    lowered = " ".join(full.lower().split())
    found = [f"the number {n}" for n in sorted(numbers_in(full) & secrets.numbers)]
    found += [f"the text {t!r}" for t in sorted(secrets.texts) if stands_in(t, lowered)]
    return found + [f"the task id {t}" for t in sorted(secrets.task_ids) if stands_in(t, lowered)]


def check_size(old: Skill, new: Skill, patch: Patch) -> list[str]:
    found = []
    if len(new.body) > MAX_BODY_CHARS or len(new.body.splitlines()) > MAX_BODY_LINES:
        found.append(f"the skill would have {len(new.body)} characters ({MAX_BODY_CHARS} are allowed)")
    if patch.origin == "reflection":
        longest = max((len(edit.text.split()) for edit in patch.edits), default=0)
        if longest > MAX_EDIT_WORDS:
            found.append(f"an edit has {longest} words ({MAX_EDIT_WORDS} are allowed)")
        growth = len(new.body) - len(old.body)
        if growth > FREE_GROWTH_CHARS + MAX_ADDED_SHARE * len(old.body):
            found.append(f"the patch adds {growth} characters")
    return found


def is_repeat(patch: Patch, refused: Sequence[Patch]) -> bool:
    """Whether this patch was refused, or one edit much like it.

    An edit whose gain alone could not be seen may come again in a larger patch: that is another question.
    """
    if any(known.id == patch.id for known in refused):
        return True
    singles = [known.edits[0] for known in refused if len(known.edits) == 1]
    return len(patch.edits) == 1 and any(like(patch.edits[0], known) for known in singles)


def like(left: Edit, right: Edit) -> bool:
    if left.op == "delete" or right.op == "delete":
        return left.op == right.op and left.anchor == right.anchor
    return similarity(left.text, right.text) >= REPEAT_LIKE


def check_text(text: str, secrets: Secrets, redactor: Redactor) -> Iterable[tuple[str, str]]:
    """(code, detail) of every fault in an added text."""
    hidden = hidden_characters(text)
    if hidden or LONG_RUN.search(text):
        yield "HIDDEN_CHAR", ", ".join(hidden[:5]) or "a long run of blank"
    plain = unicodedata.normalize("NFKC", text)
    for code, pattern in (("HIDDEN_MARKUP", MARKUP), ("BLOB", BLOB), ("HOST", HOST)):
        match = pattern.search(plain)
        if match:
            yield code, match.group(0)[:60]
    for command in dangerous_commands(plain):
        yield "COMMAND", command
    for leak in leaks(text, secrets):
        yield "LEAK", leak
    if redactor.text(text) != text:
        yield "SECRET", "a known secret or something of its shape"


def screen(
    old: Skill, patch: Patch, secrets: Secrets, refused: Sequence[Patch], redactor: Redactor
) -> tuple[Skill | None, list[ScreenFinding]]:
    """The candidate, None when there is none, and the faults. No fault at all: it may be tested."""
    try:
        new = apply_patch(old, patch)
    except PatchError as error:
        return None, [ScreenFinding(code="DOES_NOT_APPLY", detail=error.message)]
    except SkillError as error:
        return None, [ScreenFinding(code="SPEC", detail=error.message)]
    faults: list[tuple[str, str]] = []
    if " ".join(new.text.split()) == " ".join(old.text.split()):
        faults.append(("NO_CHANGE", CODES["NO_CHANGE"]))
    faults += [("SIZE", detail) for detail in check_size(old, new, patch)]
    faults += check_text(added_text(old, new), secrets, redactor)
    if is_repeat(patch, refused):
        faults.append(("REPEAT", CODES["REPEAT"]))
    return new, [ScreenFinding(code=code, detail=detail) for code, detail in faults]
