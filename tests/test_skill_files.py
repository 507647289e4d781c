"""The files beside a SKILL.md: kept byte for byte in a version, or refused in one sentence."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from harness.errors import SkillError
from harness.skill import load_skill
from skillopt.versions import SkillHistory

TEXT = "---\nname: sheets\ndescription: Works on sheets.\n---\none\n"


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A skill folder, in a repository."""
    git(tmp_path, "init", "-q")
    folder = tmp_path / "sheets"
    folder.mkdir()
    (folder / "SKILL.md").write_text(TEXT)
    return folder


ODD = {
    "a b.txt": b"blank",
    "ünï–数.txt": b"accents",
    "new\nline\ttab.txt": b"control",
    "-dash": b"dash",
    "skill/skill/SKILL.md": b"nested",
    "evidence.json": b"{}",
    ".hidden/x": b"dot",
    "a": b"file before folder",
    "a-b/c": b"sorts between",
    "a0": b"sorts after",
    'quo"te\\s': b"quotes",
    "run.bin": bytes(range(256)) * 10,
    "empty": b"",
}


def test_odd_names_and_binary_files_come_back_byte_for_byte(repo: Path) -> None:
    folder = repo
    for name, data in ODD.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    (folder / "run.bin").chmod(0o755)
    found = load_skill(folder)
    made = SkillHistory(repo, "sheets").commit(found, "seed", "s", {})
    assert found.files == ODD
    assert SkillHistory(repo, "sheets").head() == made
    assert made.skill == found
    assert made.skill.hash == found.hash
    assert "error" not in git(repo, "fsck", "--strict")


def test_a_file_that_cannot_be_read_is_refused_in_one_sentence(repo: Path) -> None:
    (repo / "closed.txt").write_text("x")
    (repo / "closed.txt").chmod(0)
    if os.access(repo / "closed.txt", os.R_OK):
        pytest.skip("this user may read every file")
    with pytest.raises(SkillError, match=r"closed.txt cannot be read: Permission denied"):
        load_skill(repo)


def test_a_repository_inside_the_skill_folder_is_no_part_of_the_skill(tmp_path: Path) -> None:
    folder = tmp_path / "sheets"
    (folder / "__pycache__").mkdir(parents=True)
    (folder / "SKILL.md").write_text(TEXT)
    (folder / "__pycache__/x.pyc").write_bytes(b"x")
    git(folder, "init", "-q")
    h = SkillHistory(folder, "sheets")
    assert load_skill(folder).files == {}
    made = h.commit(load_skill(folder), "seed", "s", {})
    assert load_skill(folder).hash == made.skill.hash


def test_a_file_that_cannot_be_kept_is_refused_in_one_sentence(repo: Path) -> None:
    path = repo / os.fsdecode(b"bad-\xff.txt")
    try:
        path.write_text("x")
    except OSError:
        pytest.skip("this file system takes valid names only")
    with pytest.raises(SkillError, match="not valid UTF-8"):
        load_skill(repo)


def test_links_are_not_followed(repo: Path) -> None:
    (repo.parent / "secret.txt").write_text("x")
    (repo / "link").symlink_to(repo.parent / "secret.txt")
    (repo / "folder").symlink_to(repo.parent)
    assert load_skill(repo).files == {}
