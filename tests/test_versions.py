"""Versions of a skill in real git repositories: what is written, and what is never touched."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from harness.skill import Skill, parse_skill
from skillopt.versions import HistoryError, SkillHistory

REF = "refs/heads/skillopt/sheets"
FRONT = "---\nname: sheets\ndescription: Works on sheets.\n---\n"


def skill(body: str, files: dict[str, bytes] | None = None) -> Skill:
    return parse_skill(f"{FRONT}{body}\n", files)


def git(folder: Path, *arguments: str, check: bool = True) -> str:
    command = ["git", "-c", "user.name=me", "-c", "user.email=me@here", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=check)
    return done.stdout.decode()


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository with a skill folder in it, and no commit yet."""
    git(tmp_path, "init", "-q", "-b", "main")
    folder = tmp_path / "skills/sheets"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(skill("one").text)
    return tmp_path


def history(repo: Path) -> SkillHistory:
    return SkillHistory(repo / "skills/sheets", "sheets")


def evidence(patch: str, run: str = "r1", base: str = "sheets@v0") -> dict[str, str]:
    return {"run_id": run, "patch_id": patch, "base": base}


def test_a_history_is_empty_before_the_first_version(repo: Path) -> None:
    assert history(repo).versions() == []
    assert history(repo).head() is None
    with pytest.raises(HistoryError, match="no versions yet"):
        history(repo).get("v0")


def test_seed_and_accepted_versions_are_numbered_tagged_and_kept(repo: Path) -> None:
    h = history(repo)
    seed = h.commit(skill("one"), "seed", "the seed", {"note": "hello"})
    first = h.commit(skill("two"), "accepted", "better", evidence("p1"))
    assert (seed.label, first.label) == ("sheets@v0", "sheets@v1")
    assert [version.number for version in history(repo).versions()] == [0, 1]
    assert history(repo).head() == first
    assert history(repo).get("v0").skill == skill("one")
    assert first.evidence == {"kind": "accepted", "version": 1, **evidence("p1")}
    assert git(repo, "tag", "--list").split() == ["sheets/v0", "sheets/v1"]
    assert git(repo, "rev-parse", REF, "sheets/v1^0").split() == [first.commit, first.commit]
    assert git(repo, "rev-parse", f"{REF}^").strip() == seed.commit


@pytest.mark.parametrize("name", ["v1", "1", "sheets@v1", "head", "best"])
def test_a_version_has_several_names(repo: Path, name: str) -> None:
    h = history(repo)
    h.commit(skill("one"), "seed", "s", {})
    h.commit(skill("two"), "accepted", "a", evidence("p1"))
    assert h.get(name).number == 1


@pytest.mark.parametrize("name", ["v2", "v-1", "", "x", "v01", "HEAD", "main"])
def test_an_unknown_version_is_named_with_those_there_are(repo: Path, name: str) -> None:
    h = history(repo)
    h.commit(skill("one"), "seed", "s", {})
    with pytest.raises(HistoryError, match="v0 to v0"):
        h.get(name)


def test_plain_git_reads_a_version_and_its_evidence(repo: Path) -> None:
    h = history(repo)
    h.commit(skill("one", {"lib/a.py": b"x = 1\n"}), "seed", "s", {})
    made = h.commit(skill("zwei – ü"), "accepted", "accept patch p1", evidence("p1"))
    assert git(repo, "show", "sheets/v1:skill/SKILL.md") == skill("zwei – ü").text
    assert json.loads(git(repo, "show", "sheets/v1:evidence.json"))["patch_id"] == "p1"
    assert git(repo, "show", "sheets/v0:skill/lib/a.py") == "x = 1\n"
    message = git(repo, "log", "-1", "--format=%B", REF)
    assert message.startswith("sheets@v1: accept patch p1\n\n")
    assert f"Skill-Hash: {made.skill.hash}" in message
    assert git(repo, "log", "-1", "--format=%an", REF).strip() == "skillopt"
    assert git(repo, "diff", "--stat", "sheets/v0", "sheets/v1", "--", "skill/SKILL.md")
    assert "error" not in git(repo, "fsck", "--strict")


def snapshot(repo: Path) -> dict[str, bytes]:
    """Every file of the work tree and what git knows of branch and index."""
    kept = {
        path.relative_to(repo).as_posix(): path.read_bytes()
        for path in repo.rglob("*")
        if path.is_file() and ".git" not in path.parts
    }
    for name in ("HEAD", "index", "refs/heads/main", "logs/HEAD", "config", "ORIG_HEAD"):
        path = repo / ".git" / name
        kept[f".git/{name}"] = path.read_bytes() if path.exists() else b"none"
    return kept


def dirty(repo: Path) -> None:
    """One file committed and edited, one staged and edited again, one untracked."""
    (repo / "a.txt").write_text("committed")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "mine")
    (repo / "a.txt").write_text("edited")
    (repo / "b.txt").write_text("staged")
    git(repo, "add", "b.txt")
    (repo / "b.txt").write_text("staged and edited")
    (repo / "c.txt").write_text("untracked")


@pytest.mark.parametrize("state", ["without commits", "with staged and unstaged changes", "detached"])
def test_branch_index_and_work_tree_are_never_touched(repo: Path, state: str) -> None:
    if state != "without commits":
        dirty(repo)
    if state == "detached":
        git(repo, "checkout", "-q", "--detach")
    before, status = snapshot(repo), git(repo, "status", "--porcelain=v2", "--branch")
    before = snapshot(repo)
    h = history(repo)
    h.commit(skill("one"), "seed", "s", {})
    h.commit(skill("two"), "accepted", "a", evidence("p1"))
    h.rollback("v0")
    assert snapshot(repo) == before
    assert git(repo, "status", "--porcelain=v2", "--branch") == status


def test_a_rollback_is_a_new_version_and_rewrites_nothing(repo: Path) -> None:
    h = history(repo)
    h.commit(skill("one", {"x.bin": b"\0"}), "seed", "s", {})
    first = h.commit(skill("two"), "accepted", "a", evidence("p1"))
    back = h.rollback("v0")
    assert (back.number, back.evidence["kind"], back.evidence["content_of"]) == (2, "rollback", 0)
    assert back.skill == skill("one", {"x.bin": b"\0"})
    assert git(repo, "rev-parse", f"{REF}^").strip() == first.commit
    assert len(h.versions()) == 3
    with pytest.raises(HistoryError, match="already has the content"):
        h.rollback("v0")
    assert h.rollback("v1").skill == first.skill


def test_the_same_accept_twice_is_one_version(repo: Path) -> None:
    h = history(repo)
    h.commit(skill("one"), "seed", "s", {})
    made = h.commit(skill("two"), "accepted", "a", evidence("p1"))
    assert history(repo).commit(skill("two"), "accepted", "a", evidence("p1")) == made
    assert h.commit(skill("two b"), "accepted", "a", evidence("p1", run="r2")).number == 2
    assert h.commit(skill("two c"), "accepted", "a", evidence("p1", base="sheets@v2")).number == 3
    assert h.commit(skill("two d"), "accepted", "a", evidence("p2")).number == 4
    assert len(h.versions()) == 5


class Raced(SkillHistory):
    """Another process adds a version while this one writes its tree."""

    def _tree(self, skill: Skill, evidence: dict[str, object]) -> object:
        SkillHistory(Path(self.repo.working_dir), "sheets").commit(
            parse_skill(FRONT + "x\n"), "seed", "o", {}
        )
        return super()._tree(skill, evidence)


@pytest.mark.parametrize("versions", [0, 1])
def test_a_move_of_the_branch_by_somebody_else_is_noticed(repo: Path, versions: int) -> None:
    for number in range(versions):
        history(repo).commit(skill(f"mine {number}"), "seed", "s", {})
    with pytest.raises(HistoryError, match="could not be written") as caught:
        Raced(repo, "sheets").commit(skill("late"), "accepted", "a", evidence("p1"))
    assert "\n" not in str(caught.value)
    found = history(repo).versions()
    assert [version.skill.body for version in found][versions:] == ["x\n"]
    assert len(git(repo, "tag", "--list").split()) == versions + 1


def test_a_tag_that_is_in_the_way_is_named_and_nothing_is_changed(repo: Path) -> None:
    h = history(repo)
    h.commit(skill("one"), "seed", "s", {})
    git(repo, "update-ref", "-d", REF)
    with pytest.raises(HistoryError, match="sheets/v0") as caught:
        history(repo).commit(skill("one"), "seed", "s", {})
    assert "\n" not in str(caught.value)
    assert history(repo).versions() == []


def test_no_repository_is_one_sentence_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "sheets").mkdir()
    with pytest.raises(HistoryError, match="not in a git repository") as caught:
        SkillHistory(tmp_path / "sheets", "sheets")
    assert caught.value.remedy == f"Run: git init {tmp_path}"
    git(tmp_path, "init", "-q")
    assert SkillHistory(tmp_path / "sheets", "sheets").versions() == []


def test_a_branch_of_that_name_that_is_not_ours_is_refused(repo: Path) -> None:
    dirty(repo)
    git(repo, "branch", "skillopt/sheets")
    with pytest.raises(HistoryError, match="not written by skillopt") as caught:
        history(repo).versions()
    assert "git branch -m" in caught.value.remedy


def test_another_skill_has_a_history_of_its_own(repo: Path) -> None:
    history(repo).commit(skill("one"), "seed", "s", {})
    other = parse_skill("---\nname: letters\ndescription: Writes.\n---\nhello\n")
    SkillHistory(repo, "letters").commit(other, "seed", "s", {})
    assert [len(SkillHistory(repo, name).versions()) for name in ("sheets", "letters")] == [1, 1]


def test_a_git_environment_of_another_repository_does_not_mislead(
    repo: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a git hook, which runs with GIT_DIR set."""
    other = tmp_path_factory.mktemp("other")
    git(other, "init", "-q")
    with monkeypatch.context() as patched:
        patched.setenv("GIT_DIR", str(other / ".git"))
        history(repo).commit(skill("one"), "seed", "s", {})
        history(repo).commit(skill("two"), "accepted", "a", evidence("p1"))
        assert len(history(repo).versions()) == 2
    assert git(repo, "tag", "--list").split() == ["sheets/v0", "sheets/v1"]
    assert git(other, "for-each-ref") == ""


def test_a_linked_work_tree_shares_the_history(repo: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    dirty(repo)
    tree = tmp_path_factory.mktemp("tree") / "linked"
    git(repo, "worktree", "add", "-q", "--detach", str(tree))
    SkillHistory(tree / "skills/sheets", "sheets").commit(skill("one"), "seed", "s", {})
    assert len(history(repo).versions()) == 1


def test_packed_refs_and_garbage_collection_keep_every_version(repo: Path) -> None:
    h = history(repo)
    h.commit(skill("one"), "seed", "s", {})
    h.commit(skill("two"), "accepted", "a", evidence("p1"))
    git(repo, "gc", "-q", "--prune=now")
    assert [version.skill.body for version in history(repo).versions()] == ["one\n", "two\n"]
    assert history(repo).commit(skill("three"), "accepted", "a", evidence("p2")).number == 2
