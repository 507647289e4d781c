"""The documents: made from the code where they can be, and nothing in them that does not exist."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer

from harness.skill import load_skill
from harness.verifiers import known_verifiers
from skillopt.cli import app
from skillopt.patch import PatchError, apply_patch, read_patch

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES += sorted((ROOT / "examples").glob("*.md"))
EXAMPLES = sorted((ROOT / "examples").glob("*.diff"))
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
INLINE = re.compile(r"`(skillopt [^`\n]+)`")
PLACEHOLDER = re.compile(r"\.\.\.|…|<[a-z-]+>|\[OPTIONS\]|\[[A-Z]+\]")


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_reference", ROOT / "docs/generate_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def prose_and_code(text: str) -> tuple[str, list[str]]:
    """The text outside code fences, and the lines inside them."""
    prose, code, inside = [], [], False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            inside = not inside
        elif inside:
            code.append(line)
        else:
            prose.append(line)
    return "\n".join(prose), code


def command_lines(text: str) -> Iterator[list[str]]:
    """The words after `skillopt` of every command line: in code fences, and in code spans of the prose."""
    prose, code = prose_and_code(text)
    lines = [line.strip().removeprefix("$ ") for line in code]
    found = [line for line in lines if re.match(r"([A-Z_]+=\S+ )*(\S*/)?skillopt( |$)", line)]
    for line in [*found, *INLINE.findall(prose)]:
        words = shlex.split(line, comments=True)
        # `skillopt improve` in a sentence names the command only.
        bare = line not in found and len(words) == 2 and not words[1].startswith("-")
        if bare:
            assert words[1] in typer.main.get_command(app).commands, line  # type: ignore[attr-defined]
        elif not PLACEHOLDER.search(line):
            start = next(number for number, word in enumerate(words) if word.endswith("skillopt"))
            end = next((n for n, word in enumerate(words) if word in ("&&", "|", ">", "2>", "&", ";")), None)
            yield words[start + 1 : end]


def parse(words: list[str]) -> None:
    """Parse a command line as the program would, without running it. Raises what the parser raises."""
    command: Any = typer.main.get_command(app)
    if words in (["--help"], ["--version"]):
        return
    while words and hasattr(command, "commands"):
        assert words[0] in command.commands, f"there is no command {words[0]}"
        command, words = command.commands[words[0]], words[1:]
    if not hasattr(command, "commands"):
        command.make_context("skillopt", list(words))


def anchors(page: Path) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_the_reference_is_what_the_code_makes_now() -> None:
    module = generator()
    assert module.REFERENCE.read_text() == module.render(), "run: make docs"


def test_the_reference_holds_every_command_option_and_verifier() -> None:
    text = (ROOT / "docs/reference.md").read_text()
    groups: list[Any] = [typer.main.get_command(app)]
    seen = 0
    while groups:
        command = groups.pop()
        groups += getattr(command, "commands", {}).values()
        if hasattr(command, "commands"):
            continue
        section = re.search(
            rf"^### skillopt (?:\w+ )?{command.name}\n(.*?)^##", text, re.DOTALL | re.MULTILINE
        )
        assert section is not None, command.name
        for parameter in command.params:
            names = [name for name in parameter.opts if name.startswith("--") and name != "--help"]
            seen += len(names)
            assert all(f"`{name}`" in section.group(1) for name in names), (command.name, names)
    assert seen > 50
    assert all(f"\n### {name}\n" in text for name in known_verifiers())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_relative_links_resolve(page: Path) -> None:
    prose, _ = prose_and_code(page.read_text())
    for target in LINK.findall(prose):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{page.name}: {target}"
        if anchor:
            assert anchor in anchors(there), f"{page.name}: {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_named_in_the_documents_parse(page: Path) -> None:
    for words in command_lines(page.read_text()):
        try:
            parse(words)
        except Exception as error:
            message = getattr(error, "message", str(error))
            raise AssertionError(f"{page.name}: skillopt {shlex.join(words)}: {message}") from error


def test_the_check_of_commands_sees_commands_and_finds_wrong_ones() -> None:
    lines = list(command_lines((ROOT / "docs/guide.md").read_text()))
    assert len({words[0] for words in lines if words}) >= 11
    assert list(command_lines("```\n$ A=1 .venv/bin/skillopt log x | cat\n```\n`skillopt nope x`")) == [
        ["log", "x"],
        ["nope", "x"],
    ]
    for wrong in (["nope"], ["log"], ["improve", "x", "--no-such-option"], ["eval", "x", "--rounds", "many"]):
        with pytest.raises(Exception, match=r".*"):
            parse(wrong)


def test_the_readme_and_the_guide_name_every_document() -> None:
    named = set(LINK.findall((ROOT / "README.md").read_text()))
    assert {f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")} <= named


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_each_example_patch_applies_to_the_shipped_skill(path: Path) -> None:
    skill = load_skill(ROOT / "skills" / "spreadsheet")
    patch = read_patch(path, skill)
    added = [line[1:] for line in path.read_text().splitlines() if line[:1] == "+" and line[:3] != "+++"]
    new = apply_patch(skill, patch)
    assert added
    assert all(line in new.body.splitlines() for line in added)
    with pytest.raises(PatchError):
        read_patch(path, new)


def test_the_examples_named_in_the_guide_are_all_there_are() -> None:
    named = set(re.findall(r"examples/([\w-]+\.diff)", (ROOT / "docs/guide.md").read_text()))
    assert named == {path.name for path in EXAMPLES}
    assert len(EXAMPLES) == 3


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_documents_name_no_path_of_one_machine(page: Path) -> None:
    assert not re.search(r"(?<![\w.])/(?:work/\w|tmp/|root/|home/(?!agent))", page.read_text())


def test_the_bench_prints_both_arms_and_the_ratio() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "bench/rollouts.py"), "--n", "4", "--concurrency", "2"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    rows = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()[1:]}
    assert list(rows) == ["arm", "warm", "naive", "ratio"]
    assert rows["warm"][3:] == rows["naive"][3:], "the two arms did not do the same work"
    assert float(rows["warm"][1]) < float(rows["naive"][1])
    assert "apprentice: scripted, offline" in done.stdout
