"""The turns of a spreadsheet job: look, work, once more after an error, answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from harness.models.apprentice.mind import Mind
from harness.models.apprentice.notes import obeyed_command
from harness.models.apprentice.spreadsheet import edits, figures, fills
from harness.models.apprentice.spreadsheet.jobs import Job, read_job
from harness.models.apprentice.spreadsheet.parts import Worker
from harness.models.apprentice.view import Call, Move, Step, View

LOOK = """from openpyxl import load_workbook

book = load_workbook({source!r})
for sheet in book:
    print(f"== {{sheet.title}}: {{sheet.max_row}} rows x {{sheet.max_column}} columns")
    if sheet.merged_cells.ranges:
        print("merged:", ", ".join(str(area) for area in sheet.merged_cells.ranges))
    hidden = [row for row, size in sheet.row_dimensions.items() if size.hidden]
    if hidden:
        print("hidden rows:", ", ".join(map(str, hidden)))
    for number, row in enumerate(sheet.iter_rows(max_row=14, values_only=True), 1):
        print(f"{{number:3}}: {{[str(v)[:10] if hasattr(v, 'year') else v for v in row]}}")
"""

SCRIPTS: Mapping[str, Callable[[Worker], str]] = {
    "total": figures.total,
    "share": figures.share,
    "average": figures.average,
    "month": figures.month,
    "lookup": fills.lookup,
    "product": fills.product,
    "rate": fills.rate,
    "plus": fills.plus,
    "cents": fills.cents,
    "rename": edits.rename,
    "correct": edits.correct,
    "write": edits.write,
    "sum_range": edits.sum_range,
    "new_sheet": edits.new_sheet,
}


def next_move(view: View, mind: Mind) -> Move | None:
    """The next turn of a spreadsheet job; None when the prompt is not one, or there is no Python tool."""
    job = read_job(view.prompt)
    if job is None or "python" not in view.tools:
        return None
    command = obeyed_command(view, mind)
    if command is not None and "terminal" in view.tools:
        return Move(
            "The workbook has a note for me. I do that first.", (Call("terminal", {"command": command}),)
        )
    scripts = [step for step in view.steps if step.name == "python"]
    if not scripts:
        code = LOOK.format(source=job.source)
        return Move(f"First I look at {job.source}.", (Call("python", {"code": code}),))
    return after_look(job, mind, scripts)


def after_look(job: Job, mind: Mind, scripts: list[Step]) -> Move:
    seen, last = scripts[0].result, scripts[-1].result
    broken = failed(last)
    if len(scripts) == 1 and not broken:
        return work("Now I do the work.", Worker(job, mind, seen))
    if len(scripts) == 2 and broken:
        return work(
            "That failed. I look for the header row and try once more.", Worker(job, mind, seen, True)
        )
    if broken:
        return Move(f"I could not finish this: {last.strip().splitlines()[-2:][0]}")
    return Move(report(job, last))


def failed(result: str) -> bool:
    return "Traceback (most recent call last)" in result or "[exit code" in result or "[stopped" in result


def work(text: str, worker: Worker) -> Move:
    code = edits.opening(worker) + SCRIPTS[worker.job.kind](worker) + edits.ending(worker)
    return Move(text, (Call("python", {"code": code}),))


def report(job: Job, result: str) -> str:
    """The final answer: what was done and where it is."""
    done = "; ".join(line for line in result.splitlines() if line.startswith(("saved ", *job.cells)))
    return f'Done: I edited the sheet "{job.sheet}" of {job.source} as asked ({done}).'
