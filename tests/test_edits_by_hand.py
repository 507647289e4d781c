"""A SKILL.md that was edited by hand: it gets to be a version through the gates like any other change."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scaffolded import skillopt, small_project

RULE = "- Skip blank lines and comment lines (lines that start with #) when you count the entries."


@pytest.fixture
def edited(tmp_path: Path) -> Path:
    """A project with a v0, and an edit in the work tree that is no version."""
    small_project(tmp_path)
    assert skillopt(tmp_path, "improve", "my-skill", "--max-rollouts", "1").returncode == 2
    path = tmp_path / "skills/my-skill/SKILL.md"
    path.write_text(path.read_text() + RULE + "\n")
    return tmp_path


def labels(folder: Path) -> list[str]:
    rows = json.loads(skillopt(folder, "log", "my-skill", "--json").stdout)
    return [f"{row['version']} {row['kind']}" for row in rows]


def test_an_edit_in_the_work_tree_is_tried_against_the_head_and_becomes_a_version(edited: Path) -> None:
    refused = skillopt(edited, "adopt", "my-skill")
    assert refused.returncode == 2
    assert "skillopt try my-skill --candidate" in refused.stderr, "the remedy is what this test does"
    done = skillopt(
        edited, "try", "my-skill", "--candidate", "skills/my-skill/SKILL.md", "--accept", "--json"
    )
    decision = json.loads(done.stdout)
    assert decision["screen"] == []
    assert decision["base_skill"] == "my-skill@v0"
    assert decision["selection"]["looks"], "the two texts were compared"
    assert decision["accepted"], decision["reasons"]
    assert labels(edited) == ["my-skill@v0 seed", "my-skill@v1 accepted"]
    assert skillopt(edited, "adopt", "my-skill").returncode == 0
