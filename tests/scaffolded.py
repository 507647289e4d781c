"""A scaffolded project in a folder of its own, and the command line run in it as a user runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from skillopt.places import ensure_repository
from skillopt.scaffold import scaffold

ROOT = Path(__file__).parent.parent
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}


def skillopt(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """One command in a process of its own, with `variables` added to an environment without an endpoint."""
    env = {**CLEAN, "PYTHONPATH": str(ROOT), **variables}
    command = [sys.executable, "-m", "skillopt.cli", *arguments]
    return subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False
    )


def small_project(root: Path, name: str = "my-skill") -> Path:
    """What `skillopt init` makes, without the two shared suites: a run is some dozen rollouts."""
    scaffold(name, root)
    ensure_repository(root, [])
    manifest = root / "tasksets" / name / "taskset.toml"
    manifest.write_text(manifest.read_text().partition("[regression]")[0])
    return root
