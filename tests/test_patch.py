"""Edits and patch files: what they change, what they leave alone byte for byte, what is refused."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from harness.errors import SkillError
from harness.skill import parse_skill
from skillopt.patch import (
    Edit,
    Patch,
    PatchError,
    apply_edit,
    apply_patch,
    diff,
    read_patch,
    whole_text_patch,
)

FRONT = "---\nname: sheets\ndescription: >-\n  Works on\n  sheets.   # odd  but kept\nx-team: [a,   b]\n---\n"
BODY = "# Sheets\n\n- Read all.\n- Save.\n- Check.\n"
SKILL = parse_skill(FRONT + BODY)


@pytest.mark.parametrize(
    ("edit", "body"),
    [
        (Edit(op="append", text="- New."), BODY + "- New.\n"),
        (Edit(op="append", text="\n- New.\n\n"), BODY + "- New.\n"),
        (
            Edit(op="insert_after", anchor="Read", text="- New."),
            "# Sheets\n\n- Read all.\n- New.\n- Save.\n- Check.\n",
        ),
        (Edit(op="insert_after", anchor="- Check.", text="- New."), BODY + "- New.\n"),
        (
            Edit(op="replace", anchor="- Save.", text="- Save twice."),
            "# Sheets\n\n- Read all.\n- Save twice.\n- Check.\n",
        ),
        (Edit(op="delete", anchor="- Save.\n"), "# Sheets\n\n- Read all.\n- Check.\n"),
        (Edit(op="replace", anchor="- Save.\n- Check.", text="- End."), "# Sheets\n\n- Read all.\n- End.\n"),
    ],
)
def test_each_edit_changes_only_its_place(edit: Edit, body: str) -> None:
    assert apply_edit(BODY, edit) == body


def test_an_edit_of_a_body_without_a_last_line_end_does_not_glue_lines() -> None:
    assert apply_edit("- A.", Edit(op="append", text="- B.")) == "- A.\n- B.\n"
    assert apply_edit("- A.", Edit(op="insert_after", anchor="A", text="- B.")) == "- A.\n- B.\n"


@pytest.mark.parametrize("op", ["insert_after", "replace", "delete"])
@pytest.mark.parametrize(
    ("anchor", "said"), [("-", "3 times"), ("gone", "0 times"), ("", "no anchor"), (" \n", "no")]
)
def test_an_anchor_must_stand_exactly_once(op: str, anchor: str, said: str) -> None:
    edit = Edit.model_validate({"op": op, "anchor": anchor, "text": "x"})
    with pytest.raises(PatchError, match=said) as caught:
        apply_edit(BODY, edit)
    assert caught.value.remedy


def test_an_anchor_is_literal_and_its_replacement_too() -> None:
    body = "- Use .* and \\1.\n"
    assert apply_edit(body, Edit(op="replace", anchor=".*", text=r"\g<0>")) == "- Use \\g<0> and \\1.\n"


def test_edits_of_a_patch_apply_one_after_the_other() -> None:
    edits = (
        Edit(op="append", text="- First."),
        Edit(op="insert_after", anchor="- First.", text="- Second."),
        Edit(op="delete", anchor="- Read all.\n"),
    )
    new = apply_patch(SKILL, Patch(edits=edits))
    assert new.body == "# Sheets\n\n- Save.\n- Check.\n- First.\n- Second.\n"


def test_front_matter_is_no_place_for_an_edit() -> None:
    with pytest.raises(PatchError, match="0 times"):
        apply_patch(SKILL, Patch(edits=(Edit(op="replace", anchor="name: sheets", text="name: x"),)))
    new = apply_patch(SKILL, Patch(edits=(Edit(op="append", text="---\nname: evil\n---"),)))
    assert new.name == "sheets"
    assert new.text.startswith(FRONT)


FRONTS = {
    "comments and unknown keys": FRONT,
    "CRLF": FRONT.replace("\n", "\r\n"),
    "blanks after the dashes": "---  \nname: sheets\ndescription: d\n--- \t\n",
    "quotes and order": "---\ndescription: 'it''s'\nversion: 1.10\nname: \"sheets\"\n---\n",
}


@pytest.mark.parametrize("front", FRONTS.values(), ids=FRONTS)
def test_front_matter_keeps_every_byte(front: str) -> None:
    skill = parse_skill(front + BODY)
    edits = (Edit(op="append", text="- New."), Edit(op="replace", anchor="Read all", text="Read"))
    new = apply_patch(skill, Patch(edits=edits))
    assert new.text == front + "# Sheets\n\n- Read.\n- Save.\n- Check.\n- New.\n"


def test_line_ends_of_the_body_stay_as_they_are() -> None:
    skill = parse_skill((FRONT + BODY).replace("\n", "\r\n"))
    edits = (
        Edit(op="append", text="- One.\n- Two."),
        Edit(op="insert_after", anchor="# Sheets", text="Intro."),
        Edit(op="replace", anchor="- Save.\n- Check.", text="- Save.\r\n- Look."),
    )
    new = apply_patch(skill, Patch(edits=edits))
    expected = "# Sheets\nIntro.\n\n- Read all.\n- Save.\n- Look.\n- One.\n- Two.\n"
    assert new.text == (FRONT + expected).replace("\n", "\r\n")


def test_a_body_of_mixed_line_ends_changes_only_where_the_edit_is() -> None:
    skill = parse_skill(FRONT + "- A.\r\n- B.\n")
    new = apply_patch(skill, Patch(edits=(Edit(op="replace", anchor="B", text="C"),)))
    assert new.text == FRONT + "- A.\r\n- C.\n"


def test_the_same_edits_are_the_same_patch_whoever_asked_for_them() -> None:
    one = Patch(edits=(Edit(op="append", text="x", why="a", support=3, sources=("t",)),), origin="reflection")
    two = Patch(edits=(Edit(op="append", text="x", why="b"),), origin="file p.json")
    assert one.id == two.id
    assert one.id != Patch(edits=(Edit(op="append", text="y"),)).id


def test_other_files_of_the_skill_come_along() -> None:
    skill = parse_skill(FRONT + BODY, {"a/b.bin": b"\0\xff"})
    assert apply_patch(skill, Patch(edits=(Edit(op="append", text="x"),))).files == {"a/b.bin": b"\0\xff"}


def test_a_result_that_is_no_skill_is_refused() -> None:
    with pytest.raises(SkillError):
        apply_patch(SKILL, Patch(edits=(Edit(op="append", text="x\0"),)))


def test_a_diff_is_what_patch_understands() -> None:
    shown = diff("a\nb\nc\n", "a\nB\nc\n", "v0", "v1")
    assert shown.splitlines() == ["--- v0", "+++ v1", "@@ -1,3 +1,3 @@", " a", "-b", "+B", " c"]


# Whole texts.


@pytest.mark.parametrize("body", ["# New\n", BODY + "- More.\n", "no line end", "# A\r\nmixed\n"])
def test_a_whole_text_becomes_exactly_that_text(body: str) -> None:
    patch = whole_text_patch(SKILL, FRONT + body, "file SKILL.md")
    assert apply_patch(SKILL, patch).text == FRONT + body


@pytest.mark.parametrize("body", ["", "\n"])
def test_a_skill_without_a_body_can_get_one(body: str) -> None:
    skill = parse_skill(FRONT + body)
    patch = whole_text_patch(skill, FRONT + "# New\n", "file SKILL.md")
    assert apply_patch(skill, patch).body.strip() == "# New"


def test_a_whole_text_with_another_front_matter_is_refused() -> None:
    with pytest.raises(PatchError, match="front matter"):
        whole_text_patch(SKILL, FRONT.replace("odd", "new") + BODY, "file")
    with pytest.raises(SkillError, match="front matter"):
        whole_text_patch(SKILL, BODY, "file")


# Patch files.


def git_diff(folder: Path, old: str, new: str, *options: str) -> Path:
    """What `git diff` prints for a SKILL.md that was committed as `old` and is now `new`."""
    folder.mkdir()

    def git(*arguments: str) -> bytes:
        command = [
            "git",
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b.c",
            "-c",
            "core.autocrlf=false",
            *arguments,
        ]
        return subprocess.run(command, cwd=folder, capture_output=True, check=True).stdout

    git("init", "-q")
    (folder / "SKILL.md").write_bytes(old.encode())
    git("add", ".")
    git("commit", "-qm", "old")
    (folder / "SKILL.md").write_bytes(new.encode())
    path = folder / "change.diff"
    path.write_bytes(git("diff", *options))
    return path


LONG = "# Sheets\n\n" + "".join(f"- Rule {number}.\n\n- Same.\n\n" for number in range(30))
CHANGES = {
    "one line": (BODY, BODY.replace("Save", "Save twice")),
    "several hunks": (
        LONG,
        LONG.replace("Rule 3.", "Rule three.").replace("Rule 25.\n", "Rule 25.\n- More.\n"),
    ),
    "repeated context": (LONG, LONG.replace("- Same.\n\n- Rule 20.", "- Same.\n\n- Other.\n\n- Rule 20.")),
    "looks like a header": (BODY + "-- old\n", BODY + "++ new\n"),
    "no line end before": ("- A.\n- B.", "- A.\n- B.\n"),
    "no line end after": ("- A.\n- B.\n", "- A.\n- C."),
    "no line end at all": ("- A.\n- B.", "- A.\n- C."),
    "first and last line": (BODY, "# Tables" + BODY[8:-9] + "- Look.\n"),
    "only additions": (BODY, BODY + "\n## More\n\n- One.\n"),
    "only deletions": (BODY, "# Sheets\n\n- Check.\n"),
    "blank lines": (BODY, BODY.replace("\n\n", "\n\n\n\n")),
    "form feed in a line": ("- A\x0cB.\n- C.\n", "- A\x0cB.\n- D.\n"),
}


@pytest.mark.parametrize(
    "options", [(), ("-U0",), ("--no-prefix",), ("-U1", "--src-prefix=old/")], ids=" ".join
)
@pytest.mark.parametrize("change", CHANGES)
def test_what_git_diff_prints_applies(tmp_path: Path, change: str, options: tuple[str, ...]) -> None:
    old, new = CHANGES[change]
    path = git_diff(tmp_path / "repo", FRONT + old, FRONT + new, *options)
    skill = parse_skill(FRONT + old)
    assert apply_patch(skill, read_patch(path, skill)).text == FRONT + new


def test_a_diff_of_a_skill_with_crlf_applies_also_when_the_diff_lost_them(tmp_path: Path) -> None:
    old, new = (FRONT + body for body in CHANGES["several hunks"])
    crlf = parse_skill(old.replace("\n", "\r\n"))
    path = git_diff(tmp_path / "repo", crlf.text, new.replace("\n", "\r\n"))
    assert apply_patch(crlf, read_patch(path, crlf)).text == new.replace("\n", "\r\n")
    path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n"))
    assert apply_patch(crlf, read_patch(path, crlf)).text == new.replace("\n", "\r\n")


def test_a_diff_still_applies_when_the_lines_have_moved(tmp_path: Path) -> None:
    old, new = CHANGES["several hunks"]
    path = git_diff(tmp_path / "repo", FRONT + old, FRONT + new)
    moved = parse_skill(FRONT + "Intro.\n" * 5 + old)
    assert apply_patch(moved, read_patch(path, moved)).text == FRONT + "Intro.\n" * 5 + new


def write(folder: Path, text: str) -> Path:
    path = folder / "change.patch"
    path.write_text(text)
    return path


HEAD = "--- a/SKILL.md\n+++ b/SKILL.md\n"
BAD = {
    "other version": (HEAD + "@@ -1,2 +1,2 @@\n # Sheets\n-- Gone.\n+- New.\n", "does not apply"),
    "no hunk": (HEAD, "holds no change"),
    "empty": ("", "holds no change"),
    "cut short": (HEAD + "@@ -10,3 +10,3 @@\n - Read all.\n-- Save.\n", "damaged"),
    "too many lines": (HEAD + "@@ -10,1 +10,1 @@\n-- Read all.\n+- Read.\n+- More.\n", "damaged"),
    "two files": (
        HEAD + "@@ -10 +10 @@\n-- Read all.\n+- R.\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
        "2 files",
    ),
    "front matter": (HEAD + "@@ -2 +2 @@\n-name: sheets\n+name: other\n", "sheets"),
    "applied already": (HEAD + "@@ -10 +10 @@\n-- Read all.\n+- Read all.\n", "changes nothing"),
    "no JSON": ('{"edits": [', "not valid JSON"),
    "too deep": ("{" + '"a":[' * 100_000, "not valid JSON"),
    "no edits": ("{}", "edits"),
    "bad op": ('{"edits": [{"op": "rewrite", "text": "x"}]}', "op"),
    "empty list": ('{"edits": []}', "changes nothing"),
    "same text": ('{"edits": [{"op": "replace", "anchor": "Save", "text": "Save"}]}', "changes nothing"),
    "anchor twice": ('{"edits": [{"op": "delete", "anchor": "- "}]}', "3 times"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_patch_file_is_refused_in_one_sentence_with_a_remedy(tmp_path: Path, case: str) -> None:
    text, said = BAD[case]
    with pytest.raises((PatchError, SkillError), match=said) as caught:
        read_patch(write(tmp_path, text), SKILL)
    assert caught.value.remedy
    assert "\n" not in str(caught.value)


def test_a_patch_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PatchError, match="cannot be read"):
        read_patch(tmp_path / "none.patch", SKILL)
    (tmp_path / "bin.patch").write_bytes(b"\xff\xfe")
    with pytest.raises(PatchError, match="cannot be read"):
        read_patch(tmp_path / "bin.patch", SKILL)


def test_a_json_patch_applies_and_says_where_it_is_from(tmp_path: Path) -> None:
    edits = [{"op": "append", "text": "- New.", "note": "unknown keys are fine"}]
    patch = read_patch(write(tmp_path, "\n" + json.dumps({"edits": edits, "origin": "reflection"})), SKILL)
    assert patch.origin == "file change.patch"
    assert apply_patch(SKILL, patch).body == BODY + "- New.\n"


def test_a_patch_without_edits_changes_nothing() -> None:
    assert apply_patch(SKILL, Patch(edits=())) == SKILL
