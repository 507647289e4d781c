"""The apprentice as an agent: the first worker that understands the task makes the next move."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from harness.models.apprentice.mind import Mind
from harness.models.apprentice.view import Move, View

Worker = Callable[[View, Mind], Move | None]
AT_A_LOSS = Move("I do not know how to do this task.")


@cache
def workers() -> tuple[Worker, ...]:
    from harness.models.apprentice.general import next_move as general
    from harness.models.apprentice.spreadsheet import next_move as spreadsheet

    return (spreadsheet, general)


def next_move(view: View) -> Move:
    """The next turn of a conversation in which the apprentice is the agent."""
    mind = Mind(view)
    for worker in workers():
        move = worker(view, mind)
        if move is not None:
            return move
    return AT_A_LOSS
