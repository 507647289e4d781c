"""The command line: a thin typer app. This module is the boundary where errors become one sentence."""

from __future__ import annotations

import sys
import traceback

import typer

from skillopt import __version__
from skillopt.commands import history, running, setup
from skillopt.commands.common import INTERRUPTED, SETUP

app = typer.Typer(
    name="skillopt",
    help="Improve an agent skill (SKILL.md) and prove the improvement.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
apprentice = typer.Typer(
    help="The embedded default model: scripted, offline.", no_args_is_help=True, rich_markup_mode=None
)
app.command()(running.improve)
app.command("try")(running.try_)
app.command("eval")(running.eval_)
for command in (history.log, history.show, history.diff, history.rollback, history.adopt, history.rejected):
    app.command()(command)
app.command()(setup.init)
app.command()(setup.doctor)
apprentice.command()(setup.serve)
app.add_typer(apprentice, name="apprentice")


def show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"skillopt {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(
        False, "--version", callback=show_version, is_eager=True, help="Say the version."
    ),
) -> None:
    """Improve an agent skill (SKILL.md) and prove the improvement."""


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit: 0 accepted or done, 1 the gate said no, 2 set-up or use, 130 interrupt."""
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run a command; returns its exit code."""
    from harness.errors import HarnessError

    command = typer.main.get_command(app)
    try:
        result = command.main(arguments, prog_name="skillopt", standalone_mode=False)
    except HarnessError as error:
        return fail(str(error))
    except (KeyboardInterrupt, typer.Abort):
        result = INTERRUPTED
    except Exception as error:  # The boundary: a fault of ours must not look like a verdict (exit code 1).
        if hasattr(error, "format_message"):
            return fail_use(error.format_message())
        traceback.print_exc()
        return fail("This is a fault in skillopt; what was recorded is kept.")
    if result == INTERRUPTED:
        return fail(
            "Interrupted. What is recorded is kept: the same command goes on from there.", INTERRUPTED
        )
    return result if isinstance(result, int) else 0


def fail_use(text: str) -> int:
    """A wrong command line; the help alone when nothing was asked."""
    if text.startswith("Usage:"):
        sys.stderr.write(text + "\n")
        return SETUP
    return fail(f"{text.rstrip('.')}. See: skillopt --help")


def fail(text: str, code: int = SETUP) -> int:
    """Say what is wrong in one line, whatever line ends a path or another program's words hold."""
    sys.stderr.write(f"skillopt: {' '.join(text.split())}\n")
    return code


if __name__ == "__main__":
    main()
