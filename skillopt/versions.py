"""SkillHistory: accepted versions of a skill as git commits with their evidence.

Everything is written straight to `refs/heads/skillopt/<skill>` and tags `<skill>/v<N>`: the user's branch,
index and work tree are never touched. History is never rewritten; a rollback is a new commit.

A commit's tree holds the skill folder's files under `skill/` and its evidence as `evidence.json`.
"""

from __future__ import annotations

import json
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any

import git
from git.objects.fun import tree_to_stream
from gitdb import IStream
from pydantic import BaseModel, ConfigDict

from harness.errors import SetupError
from harness.skill import Skill, parse_skill

FILE_MODE, TREE_MODE = 0o100644, 0o040000
AUTHOR = git.Actor("skillopt", "skillopt@localhost")


class HistoryError(SetupError):
    """The history cannot be read or written, or does not hold what was asked for."""


class Version(BaseModel):
    """One version. `number` 0 is the seed; `evidence` is what was recorded with it."""

    model_config = ConfigDict(frozen=True)

    skill_name: str
    number: int
    commit: str
    skill: Skill
    evidence: dict[str, Any]

    @property
    def label(self) -> str:
        return f"{self.skill_name}@v{self.number}"


class SkillHistory:
    """The versions of one skill in the git repository that holds `folder`. Raises HistoryError."""

    def __init__(self, folder: Path, skill_name: str) -> None:
        self.skill_name = skill_name
        self.ref = f"refs/heads/skillopt/{skill_name}"
        try:
            self.repo = git.Repo(folder, search_parent_directories=True)
        except (git.InvalidGitRepositoryError, git.NoSuchPathError):
            raise HistoryError(
                f"{folder} is not in a git repository, where accepted versions are kept.",
                f"Run: git init {folder.parent}",
            ) from None
        except (git.GitError, OSError) as error:
            raise HistoryError(
                f"The git repository of {folder} cannot be opened: {reason(error)}.", "Check git."
            ) from error

    def versions(self) -> list[Version]:
        """All versions, oldest first; empty before the first run."""
        commit = self._head_commit()
        if commit is None:
            return []
        chain = [commit, *commit.iter_parents()]
        return [self._read(c) for c in reversed(chain)]

    def head(self) -> Version | None:
        commit = self._head_commit()
        return self._read(commit) if commit is not None else None

    def get(self, name: str) -> Version:
        """The version named `v3`, `3`, `spreadsheet@v3` or `head`."""
        versions = self.versions()
        if not versions:
            raise HistoryError(
                f"{self.skill_name} has no versions yet.",
                f"Make some with: skillopt improve {self.skill_name}",
            )
        if name in ("head", "best"):
            return versions[-1]
        text = name.rpartition("@")[2].removeprefix("v")
        for version in versions:
            if text == str(version.number):
                return version
        raise HistoryError(
            f"{self.skill_name} has no version {name}.",
            f"It has v0 to v{versions[-1].number} (skillopt log).",
        )

    def commit(self, skill: Skill, kind: str, summary: str, evidence: dict[str, Any]) -> Version:
        """Add a version after the head. `kind` is seed, accepted or rollback. Safe to repeat by patch id."""
        for known in reversed(self.versions()):
            if kind == "accepted" and same_origin(known.evidence, evidence):
                return known
        head = self.head()
        number = head.number + 1 if head else 0
        record = {"kind": kind, "version": number, **evidence}
        message = f"{self.skill_name}@v{number}: {summary}\n\nSkill-Hash: {skill.hash}\nKind: {kind}\n"
        try:
            made = git.Commit.create_from_tree(
                self.repo,
                self._tree(skill, record),
                message,
                parent_commits=[self.repo.commit(head.commit)] if head else [],
                author=AUTHOR,
                committer=AUTHOR,
            )
            self._move_refs(made.hexsha, head.commit if head else "0" * 40, number)
        except (git.GitError, OSError, ValueError) as error:
            remedy = (
                f"Tags of an older history are in the way; see: git tag --list '{self.skill_name}/v*'"
                if "refs/tags/" in str(error)
                else "Check that no other run works on this skill and that the repository is writable."
            )
            raise HistoryError(
                f"The version could not be written to git: {reason(error)}; nothing was changed.", remedy
            ) from error
        return self._read(self.repo.commit(made.hexsha))

    def _move_refs(self, new: str, old: str, number: int) -> None:
        """Branch and tag in one transaction, only if nobody else moved the branch."""
        tag = f"refs/tags/{self.skill_name}/v{number}"
        with tempfile.TemporaryFile() as commands:
            commands.write(f"update {self.ref} {new} {old}\ncreate {tag} {new}\n".encode())
            commands.seek(0)
            self.repo.git.update_ref("--stdin", istream=commands)

    def _head_commit(self) -> git.Commit | None:
        try:
            return self.repo.commit(self.ref)
        except (git.BadName, ValueError):
            return None
        except (git.GitError, OSError) as error:
            raise HistoryError(
                f"The git history cannot be read: {reason(error)}.", "Check git status."
            ) from error

    def _blob(self, data: bytes) -> bytes:
        sha: bytes = self.repo.odb.store(IStream(b"blob", len(data), BytesIO(data))).binsha
        return sha

    def _write_tree(self, entries: dict[str, tuple[int, bytes]]) -> bytes:
        stream = BytesIO()
        ordered = sorted(entries.items(), key=lambda item: item[0] + ("/" if item[1][0] == TREE_MODE else ""))
        tree_to_stream([(sha, mode, name) for name, (mode, sha) in ordered], stream.write)
        length = stream.tell()
        stream.seek(0)
        sha: bytes = self.repo.odb.store(IStream(b"tree", length, stream)).binsha
        return sha

    def _folder_tree(self, files: dict[str, bytes]) -> bytes:
        entries: dict[str, tuple[int, bytes]] = {}
        folders: dict[str, dict[str, bytes]] = {}
        for path, data in files.items():
            first, _, rest = path.partition("/")
            if rest:
                folders.setdefault(first, {})[rest] = data
            else:
                entries[first] = (FILE_MODE, self._blob(data))
        for name, inside in folders.items():
            entries[name] = (TREE_MODE, self._folder_tree(inside))
        return self._write_tree(entries)

    def _tree(self, skill: Skill, evidence: dict[str, Any]) -> git.Tree:
        files = {f"skill/{path}": data for path, data in skill.files.items()}
        files["skill/SKILL.md"] = skill.text.encode()
        files["evidence.json"] = (json.dumps(evidence, indent=1, sort_keys=True) + "\n").encode()
        return git.Tree(self.repo, self._folder_tree(files))

    def _read(self, commit: git.Commit) -> Version:
        try:
            evidence = json.loads((commit.tree / "evidence.json").data_stream.read())
            files = {
                str(blob.path).removeprefix("skill/"): blob.data_stream.read()
                for blob in (commit.tree / "skill").traverse()
                if isinstance(blob, git.Blob)
            }
            text = files.pop("SKILL.md").decode()
        except (KeyError, ValueError, git.GitError) as error:
            raise HistoryError(
                f"Commit {commit.hexsha[:10]} of {self.ref} was not written by skillopt: {reason(error)}.",
                f"Move that branch away: git branch -m skillopt/{self.skill_name} other-name",
            ) from error
        return Version(
            skill_name=self.skill_name,
            number=int(evidence["version"]),
            commit=commit.hexsha,
            skill=parse_skill(text, files),
            evidence=evidence,
        )

    def rollback(self, name: str) -> Version:
        """A new version with the content of an old one. Raises HistoryError when nothing would change."""
        target = self.get(name)
        head = self.get("head")
        if target.skill.hash == head.skill.hash:
            raise HistoryError(
                f"The head {head.label} already has the content of {target.label}.",
                "There is nothing to roll back.",
            )
        return self.commit(
            target.skill, "rollback", f"roll back to v{target.number}", {"content_of": target.number}
        )


def reason(error: Exception) -> str:
    """What git said, or the error itself, in one line."""
    said = error.stderr if isinstance(error, git.CommandError) else ""
    return " ".join((said or str(error) or type(error).__name__).split()).removeprefix("stderr: ").strip("'.")


def same_origin(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Whether a version was made by the same patch of the same run: the repeat of a resumed commit."""
    return all(old.get(name) == new.get(name) for name in ("run_id", "patch_id", "base"))
