"""What the commands share: options, consoles, opening a project, JSON."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from pydantic import BaseModel

    from skillopt.report.terminal import Screen
    from skillopt.session import Options, Project

OK, NO, SETUP, INTERRUPTED = 0, 1, 2, 130
DEFAULT_CONCURRENCY = max(2, min(8, 2 * (os.cpu_count() or 2)))

SkillName = Annotated[str, typer.Argument(help="Name of a skill in ./skills, or the path of its folder.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout, logs on stderr.")]
Tasks = Annotated[str, typer.Option(help="Task set: name or path. Default: the skill's name.")]
Model = Annotated[str, typer.Option(help="Model of the agent. `apprentice` is the embedded, scripted one.")]
OptimizerModel = Annotated[
    str, typer.Option(help="Model that proposes edits. Default: the agent's model at the same endpoint.")
]
BaseUrl = Annotated[
    str, typer.Option(envvar="OPENAI_BASE_URL", help="OpenAI-compatible endpoint; the key is OPENAI_API_KEY.")
]
Price = Annotated[
    str, typer.Option(help="Price of the model in US dollars per million tokens: PROMPT,COMPLETION")
]
Sandbox = Annotated[str, typer.Option(help="Where agents work: local (bubblewrap) or none (unconfined).")]
Concurrency = Annotated[int, typer.Option(min=1, max=256, help="Rollouts at the same time.")]
Seed = Annotated[int, typer.Option(help="Seed of sampling; another seed is another run.")]
MaxRollouts = Annotated[int | None, typer.Option(min=1, help="Stop after so many rollouts.")]
MaxTokens = Annotated[int | None, typer.Option(min=1, help="Stop after so many tokens.")]
MaxMoney = Annotated[float | None, typer.Option(min=0.0, help="Stop after so many US dollars.")]


def make_screen(as_json: bool) -> Screen:
    """Lines on stdout, or on stderr when stdout is for JSON."""
    from rich.console import Console

    from skillopt.report.terminal import Screen

    return Screen(Console(stderr=as_json, highlight=False))


def print_json(value: BaseModel | dict[str, Any] | list[Any]) -> None:
    data = value if isinstance(value, dict | list) else value.model_dump(mode="json")
    sys.stdout.write(json.dumps(data, indent=1) + "\n")


def open_named(skill: str, tasks: str = "", screen: Screen | None = None) -> Project:
    """The project of a skill; says what was copied out of the package."""
    from skillopt.places import find_place
    from skillopt.session import open_project

    place = find_place(skill, Path.cwd(), tasks)
    for note in place.notes:
        if screen is not None:
            screen.line(note)
    return open_project(place, os.environ)


def make_options(
    *,
    model: str,
    base_url: str,
    optimizer: str,
    price: str,
    sandbox: str,
    concurrency: int,
    seed: int,
    rollouts: int | None = None,
    tokens: int | None = None,
    money: float | None = None,
) -> Options:
    """Options of a session. Raises SetupError for a limit of money on a model without a price."""
    from harness.errors import SetupError
    from harness.models.endpoints import make_endpoint
    from skillopt.evaluate import RunBudget
    from skillopt.session import Options

    prices = read_price(price)
    agent = make_endpoint(model, base_url, prices)
    if money is not None and prices is None and not agent.embedded:
        raise SetupError(
            f"The price of {model} is not known, so --max-money could not stop anything.",
            "Give it with --price PROMPT,COMPLETION, or use --max-tokens.",
        )
    return Options(
        agent=agent,
        optimizer=make_endpoint(optimizer or model, base_url, prices),
        sandbox=sandbox,
        concurrency=concurrency,
        seed=seed,
        budget=RunBudget(rollouts=rollouts, tokens=tokens, money=money),
    )


def read_price(text: str) -> Any:
    from harness.errors import SetupError
    from harness.models.chat import Prices

    if not text:
        return None
    try:
        prompt, completion = (float(part) for part in text.split(","))
    except ValueError:
        raise SetupError(f"{text!r} is not a price.", "Write it as two numbers: --price 0.5,1.5") from None
    return Prices(prompt=prompt, completion=completion)
