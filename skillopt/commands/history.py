"""log, show, diff, rollback, adopt, rejected: what was kept and what was not."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from skillopt.commands.common import OK, Json, SkillName, make_screen, open_named, print_json


def log(skill: SkillName, as_json: Json = False) -> None:
    """List the versions of a skill."""
    screen = make_screen(as_json)
    versions = open_named(skill, screen=screen).history.versions()
    rows = []
    for version in versions:
        decision = version.evidence.get("decision") or {}
        rows.append(
            {
                "version": version.label,
                "kind": version.evidence["kind"],
                "commit": version.commit,
                "selection_delta": decision.get("selection_delta"),
                "patch_id": version.evidence.get("patch_id"),
                "agent": version.evidence.get("agent"),
                "content_of": version.evidence.get("content_of"),
            }
        )
    if as_json:
        print_json(rows)
        return
    if not rows:
        screen.line(f"{skill} has no versions yet. Make some with: skillopt improve {skill}")
    for row in rows:
        delta = row["selection_delta"]
        gain = f"  {delta * 100:+.1f} points at acceptance, an optimistic figure" if delta is not None else ""
        by = f"  ({row['agent']})" if row["agent"] else ""
        same = f" (content of v{row['content_of']})" if row["content_of"] is not None else ""
        screen.line(f"{row['version']:<20} {str(row['commit'])[:10]}  {row['kind']}{same}{gain}{by}")


def show(
    skill: SkillName,
    version: Annotated[str, typer.Argument(help="A version such as v3.")] = "head",
    as_json: Json = False,
) -> None:
    """Show a version: its evidence and its text."""
    screen = make_screen(as_json)
    found = open_named(skill, screen=screen).history.get(version)
    if as_json:
        print_json(
            {
                "version": found.label,
                "commit": found.commit,
                "evidence": found.evidence,
                "text": found.skill.text,
            }
        )
        return
    screen.line(f"{found.label}  {found.commit}  {found.evidence['kind']}", "bold")
    decision = found.evidence.get("decision")
    if decision:
        screen.line(f"agent {found.evidence['agent']}, run {found.evidence['run_id']}")
        screen.on_patch({"patch": decision["patch"], "id": decision["patch_id"]})
        for look in (decision.get("selection") or {}).get("looks", []):
            screen.on_look({"look": look})
        screen.on_decision({"decision": decision, "version": found.label})
    screen.line("")
    screen.line(found.skill.text.rstrip())


def diff(
    skill: SkillName,
    old: Annotated[str, typer.Argument(help="A version; default: the first.")] = "v0",
    new: Annotated[str, typer.Argument(help="A version; default: the head.")] = "head",
) -> None:
    """Show what changed between two versions."""
    from skillopt.report.terminal import show_diff

    screen = make_screen(False)
    history = open_named(skill, screen=screen).history
    before, after = history.get(old), history.get(new)
    show_diff(screen, before.skill.text, after.skill.text, before.label, after.label)


def rollback(
    skill: SkillName,
    version: Annotated[str, typer.Argument(help="The version whose content comes back, such as v1.")],
    as_json: Json = False,
) -> None:
    """Make a new version with the content of an old one. History is never rewritten."""
    from skillopt.session import locked

    screen = make_screen(as_json)
    project = open_named(skill, screen=screen)
    with locked(project.place, project.name):
        made = project.history.rollback(version)
    screen.line(
        f"{made.label} has the content of v{made.evidence['content_of']}. "
        f"To write it to the work tree: skillopt adopt {skill}"
    )
    if as_json:
        print_json({"version": made.label, "commit": made.commit, "content_of": made.evidence["content_of"]})


def adopt(
    skill: SkillName,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the change only.")] = False,
    as_json: Json = False,
) -> None:
    """Write the head version into the work tree; refuses when the file there was edited since."""
    from harness.errors import SkillError
    from skillopt.report.terminal import show_diff

    screen = make_screen(as_json)
    project = open_named(skill, screen=screen)
    head = project.history.get("head")
    known = {version.skill.text for version in project.history.versions()}
    path = project.place.skill / "SKILL.md"
    if project.skill.text not in known:
        raise SkillError(
            f"{path} was edited since it was a version, so adopting would lose that.",
            f"Try the edit with: skillopt try {skill} --candidate {path}, or put the file back with git.",
        )
    changed = project.skill.text != head.skill.text
    if changed:
        show_diff(screen, project.skill.text, head.skill.text, str(path), head.label)
    if changed and not dry_run:
        write_whole(path, head.skill.text)
    state = "would be written" if dry_run else "was written"
    screen.line(f"{head.label} {state} to {path}" if changed else f"{path} is {head.label} already")
    if as_json:
        print_json(
            {"version": head.label, "path": str(path), "changed": changed, "written": changed and not dry_run}
        )


def write_whole(path: Path, text: str) -> None:
    """Replace a file in one step, keeping its mode: never half a file. Raises SkillError."""
    from harness.errors import SkillError

    partial = path.with_name(f".{path.name}.skillopt")
    try:
        partial.write_bytes(text.encode())
        partial.chmod(path.stat().st_mode & 0o777)
        os.replace(partial, path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise SkillError(f"{path} cannot be written: {error.strerror}.", "Check its permissions.") from error


def rejected(skill: SkillName, as_json: Json = False) -> None:
    """List refused patches, with the reasons and figures that only people see."""
    from skillopt.buffer.rejected import load_rejected

    screen = make_screen(as_json)
    project = open_named(skill, screen=screen)
    items = load_rejected(project.store, project.name)
    if as_json:
        print_json([item.model_dump(mode="json") for item in items])
        raise typer.Exit(OK)
    if not items:
        screen.line(f"No patch of {skill} was refused so far.")
    for item in items:
        delta = item.selection_score_delta
        figure = f" ({delta * 100:+.1f} points)" if delta is not None else ""
        lucky = ", lucky at first sight" if item.lucky else ""
        screen.line(f"{item.candidate_patch.id}  {item.verdict} at {item.stage}{figure}{lucky}", "bold")
        screen.show_patch(item.candidate_patch)
        screen.line(f"    {item.rejection_reason}")
