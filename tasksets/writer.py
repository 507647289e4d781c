"""Writes a regression suite's folder: tasks as TOML, fixtures, home folders and hidden answers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Files = Mapping[str, bytes | str]


@dataclass(frozen=True)
class Draft:
    """One task before it is written. `verifiers` are tables; `answers` are files only they may read."""

    id: str
    prompt: str
    files: Files
    verifiers: Sequence[Mapping[str, Any]]
    answers: Files = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)


def toml_value(value: Any) -> str:
    """A TOML value; JSON's strings, numbers, arrays and booleans are TOML's too."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {toml_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def task_toml(draft: Draft, domain: str) -> str:
    """The text of a critical regression task."""
    head = {"id": draft.id, "split": "regression", "critical": True, "domain": domain, "timeout_sec": 60}
    lines = [f"{key} = {toml_value(value)}" for key, value in {**head, **draft.extra}.items()]
    lines.append(f'prompt = """\n{draft.prompt.strip()}\n"""')
    for verifier in draft.verifiers:
        lines += ["", "[[verifiers]]", *(f"{key} = {toml_value(value)}" for key, value in verifier.items())]
    return "\n".join(lines) + "\n"


def write_files(folder: Path, files: Files) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def write_suite(root: Path, manifest: str, domain: str, drafts: Sequence[Draft], homes: Files) -> None:
    """Replace what the generator made before under `root`; other files there are left alone."""
    for name in ("tasks", "fixtures", "home", "answers"):
        shutil.rmtree(root / name, ignore_errors=True)
    write_files(root, {"taskset.toml": manifest})
    write_files(root / "home", homes)
    for draft in drafts:
        write_files(root / "tasks", {f"{draft.id}.toml": task_toml(draft, domain)})
        write_files(root / "fixtures" / draft.id, draft.files)
        write_files(root / "answers" / draft.id, draft.answers)
