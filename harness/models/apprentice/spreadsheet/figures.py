"""Scripts for one figure from a list."""

from __future__ import annotations

from harness.models.apprentice.spreadsheet.jobs import MONTH, MONTHS
from harness.models.apprentice.spreadsheet.parts import Worker

MONTH_OF = """
def month_of(value):
    if hasattr(value, "month"):
        return value.year, value.month
    {order}, year = (int(part) for part in str(value).strip().replace("-", "/").replace(".", "/").split("/"))
    if month > 12:
        day, month = month, day
    return year, month

"""


def put(worker: Worker, expression: str) -> str:
    cell = worker.job.cells[0]
    return f'sheet["{cell}"] = {expression}\nprint("{cell} =", sheet["{cell}"].value)\n'


def add_up(name: str, condition: str = "") -> str:
    return f"sum(number(at(row, {name!r})) or 0 for row in rows{condition})"


def total(worker: Worker) -> str:
    """The total of a column, or of its rows with a value in another column."""
    names = worker.job.names
    if len(names) >= 3:
        column, group, value = names[:3]
        lines = worker.finds(column, group) + worker.counts(column) + worker.values()
        return lines + put(
            worker, f"round({add_up(column, f' if text(at(row, {group!r})) == text({value!r})')}, 2)"
        )
    lines = worker.finds(names[0]) + worker.counts(names[0]) + worker.values()
    return lines + put(worker, f"round({add_up(names[0])}, 2)")


def share(worker: Worker) -> str:
    """The part of a total that belongs to one group."""
    column, group, value = worker.job.names[:3]
    factor = "" if worker.careful("percent_fraction") else " * 100"
    return (
        worker.finds(column, group)
        + worker.counts(column)
        + worker.values()
        + f"part = {add_up(column, f' if text(at(row, {group!r})) == text({value!r})')}\n"
        + f"whole = {add_up(column)}\n"
        + put(worker, f"part / whole{factor}")
    )


def average(worker: Worker) -> str:
    """The mean of a column."""
    name = worker.job.names[0]
    value = f"at(row, {name!r})" + ("" if worker.careful("blank_not_zero") else " or 0")
    take = (
        f"found = [number({value}) for row in rows]\n"
        "found = [value for value in found if value is not None]\n"
    )
    return (
        worker.finds(name)
        + worker.counts(name)
        + worker.values()
        + take
        + put(worker, "sum(found) / len(found)")
    )


def month(worker: Worker) -> str:
    """The total of one month."""
    column, when = worker.job.names[:2]
    match = MONTH.search(worker.job.prompt)
    assert match is not None
    wanted = int(match.group(2)), MONTHS.index(match.group(1)) + 1
    order = "day, month" if worker.careful("date_order") and day_first(worker) else "month, day"
    return (
        worker.finds(column, when)
        + worker.counts(column)
        + worker.values()
        + MONTH_OF.format(order=order)
        + put(worker, f"round({add_up(column, f' if month_of(at(row, {when!r})) == {wanted}')}, 2)")
    )


def day_first(worker: Worker) -> bool:
    """The order of dates that the prompt or the sheet states; the day first where neither does."""
    text = f"{worker.job.prompt}\n{worker.seen}".casefold()
    return not any(phrase in text for phrase in ("month/day", "mm/dd", "month first"))
