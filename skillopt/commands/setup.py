"""init, doctor, apprentice serve: getting started."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from skillopt.commands.common import SETUP, BaseUrl, Json, Model, Sandbox, make_screen, print_json

Check = Callable[[], str]
LEAST_DISK = 200 << 20


def init(
    name: Annotated[str, typer.Argument(help="Name of the new skill: a-z, 0-9 and hyphens.")],
    as_json: Json = False,
) -> None:
    """Make a skill with a three-task set that runs as it is."""
    from skillopt.places import ensure_repository
    from skillopt.scaffold import scaffold

    screen = make_screen(as_json)
    root = Path.cwd()
    made = scaffold(name, root)
    notes: list[str] = []
    ensure_repository(root, notes)
    for note in notes:
        screen.line(note)
    for path in made:
        screen.line(f"made {path.relative_to(root)}")
    screen.line(f"Run it as it is: skillopt improve {name}")
    screen.line(
        "Then put your own tasks beside the three: about 30 for train, 50 for selection, 40 for test."
    )
    if as_json:
        print_json({"made": [str(path) for path in made]})


def doctor(
    model: Model = "apprentice", base_url: BaseUrl = "", sandbox: Sandbox = "local", as_json: Json = False
) -> None:
    """Check sandbox, git, endpoint and disk; each fault comes with the line that mends it."""
    from harness.errors import HarnessError

    screen = make_screen(as_json)
    checks: dict[str, Check] = {
        "sandbox": lambda: check_sandbox(sandbox),
        "git": check_git,
        "endpoint": lambda: check_endpoint(model, base_url),
        "disk": check_disk,
    }
    rows = []
    for name, check in checks.items():
        try:
            rows.append({"check": name, "ok": True, "detail": check(), "remedy": ""})
        except HarnessError as error:
            rows.append({"check": name, "ok": False, "detail": error.message, "remedy": error.remedy})
    for row in rows:
        mark = "ok  " if row["ok"] else "FAIL"
        screen.line(
            f"{mark} {row['check']}: {row['detail']} {row['remedy']}".rstrip(), "" if row["ok"] else "red"
        )
    if as_json:
        print_json(rows)
    if not all(row["ok"] for row in rows):
        raise typer.Exit(SETUP)


def check_sandbox(kind: str) -> str:
    from harness.sandboxes.pool import SandboxPool

    async def run() -> None:
        async with SandboxPool(kind, 1) as pool:
            await pool.check()

    asyncio.run(run())
    return f"{kind} works" + (" (agents are NOT confined)" if kind == "none" else "")


def check_git() -> str:
    from harness.errors import SetupError

    if shutil.which("git") is None:
        raise SetupError("git is not installed.", "Install it, for example with: apt-get install git")
    import git

    try:
        repo = git.Repo(Path.cwd(), search_parent_directories=True)
    except git.InvalidGitRepositoryError:
        raise SetupError("This folder is in no git repository.", "Run: git init") from None
    return f"repository {repo.git_dir}"


def check_endpoint(model: str, base_url: str) -> str:
    from harness.models.chat import RetryPolicy
    from harness.models.endpoints import make_endpoint, open_model

    endpoint = make_endpoint(model, base_url)
    chat = open_model(endpoint, os.environ, policy=RetryPolicy(attempts=2))
    asyncio.run(chat.complete([{"role": "user", "content": "Answer with the word ok."}]))
    return f"{chat.label} answers ({endpoint.address})"


def check_disk() -> str:
    from harness.errors import SetupError

    free = shutil.disk_usage(Path.cwd()).free
    if free < LEAST_DISK:
        raise SetupError(f"Only {free >> 20} MiB are free here.", "Make room: a run needs some 100 MiB.")
    return f"{free >> 20} MiB free"


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8765,
) -> None:
    """Offer the apprentice over HTTP, as an OpenAI-compatible endpoint."""
    from harness.errors import SetupError
    from harness.models.apprentice import LABEL, MODEL_NAME
    from harness.models.apprentice.transport import make_server

    try:
        server = make_server(host, port)
    except OSError as error:
        raise SetupError(
            f"{host}:{port} cannot be used: {error.strerror}.", "Choose another --port."
        ) from error
    address = f"http://{host}:{server.server_address[1]}/v1"
    typer.echo(f"{LABEL}: {address} (model {MODEL_NAME}); stop with Ctrl-C")
    server.serve_forever()
