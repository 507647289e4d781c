"""Writes the runtime suite: python -m tasksets.runtime.generate [FOLDER]. Same seeds, same bytes.

Ten ordinary jobs that any skill must leave intact: failing tools, large output, resuming, many small
files, odd file names, exact formats, and writing exactly where asked.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

from tasksets.writer import Draft, write_suite

MANIFEST = """\
# Shared by all skills: a skill edit must not break how the agent uses its tools.
name = "runtime"
description = "Tool calls, large output, resuming, many files, odd names, exact formats."
"""
CITIES = ("Lyon", "Graz", "Porto", "Gdansk", "Turku", "Ghent")
NAMES = ("Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gita", "Hugo", "Ines", "Jon", "Kira", "Leo")


def seeded(task_id: str) -> random.Random:
    return random.Random(f"runtime {task_id}")


def number_in(path: str, expected: float) -> dict[str, Any]:
    return {"name": "exact", "file": path, "mode": "number", "expected": expected, "tolerance": 0.005}


def text_in(path: str, answer: str) -> dict[str, Any]:
    return {"name": "exact", "file": path, "mode": "text", "answer": answer}


def csv_text(header: str, rows: list[tuple[Any, ...]]) -> str:
    return "\n".join([header, *(",".join(str(cell) for cell in row) for row in rows)]) + "\n"


def failing_command() -> Draft:
    rng = seeded("failing-command")
    amounts = [rng.randint(20, 900) for _ in range(24)]
    rows = [(1000 + number, rng.choice(CITIES), amount) for number, amount in enumerate(amounts)]
    script = "echo 'reading orders.csv ...'\necho 'rates table not found, cannot go on' >&2\nexit 3\n"
    return Draft(
        "r-failing-command",
        "The command `sh tools/total.sh` should print the total of the column `amount` of `orders.csv`. "
        "If it does not work, find the total another way. Write the number to `out/total.txt`.",
        {"orders.csv": csv_text("order,city,amount", rows), "tools/total.sh": script},
        [number_in("out/total.txt", sum(amounts)), {"name": "trace", "max_calls": 12}],
    )


def large_log() -> Draft:
    rng = seeded("large-log")
    lines = [
        f"2024-05-{1 + number // 1300:02d} {number % 1300:04d} INFO worker-{number % 7} request served, cache hit"
        for number in range(32_000)
    ]
    code = rng.randint(10_000, 99_999)
    lines[rng.randint(14_000, 18_000)] = f"2024-05-13 0041 ERROR worker-3 disk quota reached, incident {code}"
    return Draft(
        "r-large-log",
        "The log `server.log` is large. One line in it contains the word `ERROR`. Write the incident number "
        "of that line to `out/incident.txt`.",
        {"server.log": "\n".join(lines) + "\n"},
        [number_in("out/incident.txt", code)],
    )


def resume() -> Draft:
    rng = seeded("resume")
    months = ["2024-01", "2024-02", "2024-03", "2024-04", "2024-05"]
    amounts = {month: [rng.randint(100, 999) for _ in range(8)] for month in months}
    # The finished rows were checked by hand and differ from the data: redoing them would show.
    kept = [(month, sum(amounts[month]) - 7) for month in months[:3]]
    rest = [(month, sum(amounts[month])) for month in months[3:]]
    files = {f"data/{month}.csv": csv_text("amount", [(a,) for a in amounts[month]]) for month in months}
    files["progress.json"] = json.dumps({"done": months[:3], "left": months[3:]}, indent=2) + "\n"
    files["out/ledger.csv"] = csv_text("month,total", kept)
    return Draft(
        "r-resume",
        "This job stopped half way. `progress.json` says which months are done and which are left; their rows "
        "stand in `out/ledger.csv` and were checked by hand. Finish the months that are left: for each, append "
        "a row with the month and the total of the column `amount` of its file in `data/`. Leave the rows "
        "that are done as they are.",
        files,
        [text_in("out/ledger.csv", "ledger.csv")],
        {"ledger.csv": csv_text("month,total", kept + rest)},
    )


def many_files() -> Draft:
    rng = seeded("many-files")
    open_hours, files = 0, {}
    for number in range(40):
        hours, state = rng.randint(1, 30), rng.choice(("open", "closed"))
        open_hours += hours if state == "open" else 0
        files[f"notes/ticket-{number:02d}.txt"] = (
            f"owner: {rng.choice(NAMES)}\nstatus: {state}\nhours: {hours}\ncity: {rng.choice(CITIES)}\n"
        )
    return Draft(
        "r-many-files",
        "Each file in the folder `notes` describes one ticket in lines such as `hours: 5`. Add up `hours` over the "
        "tickets whose `status` is `open`. Write the sum to `out/hours.txt`.",
        files,
        [number_in("out/hours.txt", open_hours)],
    )


def odd_names() -> Draft:
    rng = seeded("odd-names")
    names = ("Umsatz März 2024.txt", "naïve – notes (final).txt", "支店 売上.txt", "plain.txt")
    numbers = {name: [rng.randint(1, 500) for _ in range(6)] for name in names}
    files = {f"data/{name}": "\n".join(map(str, numbers[name])) + "\n" for name in names}
    total = sum(sum(numbers[name]) for name in names)
    return Draft(
        "r-odd-names",
        "Every file in the folder `data` holds one number on each line. Some names have spaces. Add up all numbers "
        "of all files and write the sum to `out/sum of all.txt`.",
        files,
        [number_in("out/sum of all.txt", total)],
    )


def exact_json() -> Draft:
    rng = seeded("exact-json")
    values = [rng.randint(10, 400) for _ in range(25)]
    expected = {"count": 25, "min": min(values), "max": max(values), "mean": round(sum(values) / 25, 2)}
    return Draft(
        "r-exact-json",
        "Summarise the column `weight` of `parcels.csv`. Write a JSON object with exactly the keys `count`, `min`, "
        "`max` and `mean` (mean rounded to 2 decimals) to `out/summary.json`. The file must hold nothing else.",
        {"parcels.csv": csv_text("parcel,weight", list(enumerate(values, 1)))},
        [{"name": "exact", "file": "out/summary.json", "mode": "json", "answer": "summary.json"}],
        {"summary.json": json.dumps(expected)},
    )


def asked_place() -> Draft:
    rng = seeded("asked-place")
    values = rng.sample(range(100, 9_000), 30)
    top = sorted(values, reverse=True)[:3]
    return Draft(
        "r-asked-place",
        "Take the 3 largest values of the column `amount` of `bids.csv`, largest first, one on each line, and write "
        "them to `results/2024/top.txt`.",
        {"bids.csv": csv_text("bid,amount", list(enumerate(values, 1)))},
        [text_in("results/2024/top.txt", "top.txt")],
        {"top.txt": "\n".join(map(str, top)) + "\n"},
    )


def slow_script() -> Draft:
    rng = seeded("slow-script")
    rows = [(f"P-{number:03d}", rng.randint(1, 60)) for number in range(30)]
    return Draft(
        "r-slow-script",
        "How many parts are in stock? The script `rebuild.sh` works it out but takes an hour, so do not run it: the "
        "same figures stand in `stock.csv`. Write the sum of the column `count` of `stock.csv` to `out/parts.txt`.",
        {"rebuild.sh": "sleep 3600\necho done\n", "stock.csv": csv_text("part,count", rows)},
        [number_in("out/parts.txt", sum(count for _, count in rows))],
    )


def grouped_sums() -> Draft:
    rng = seeded("grouped-sums")
    rows = [(f'"{rng.choice(NAMES)}, Ltd"', rng.choice(CITIES), rng.randint(5, 500)) for _ in range(40)]
    sums: dict[str, int] = {}
    for _, city, amount in rows:
        sums[city] = sums.get(city, 0) + amount
    return Draft(
        "r-grouped-sums",
        "For each `city` in `sales.csv`, add up the column `amount`. Some client names hold a comma. Write the sums as one "
        "JSON object, city to sum, to `out/cities.json`.",
        {"sales.csv": csv_text("client,city,amount", rows)},
        [{"name": "exact", "file": "out/cities.json", "mode": "json", "answer": "cities.json"}],
        {"cities.json": json.dumps(sums)},
    )


def short_answer() -> Draft:
    rng = seeded("short-answer")
    words = [rng.choice(("amber", "birch", "cedar", "delta", "ember")) for _ in range(160)]
    lines = [" ".join(words[start : start + 8]) for start in range(0, 160, 8)]
    return Draft(
        "r-short-answer",
        "How many words are in `poem.txt`? Give the number alone as your final answer.",
        {"poem.txt": "\n".join(lines) + "\n"},
        [{"name": "exact", "mode": "number", "expected": 160}],
    )


JOBS = (
    failing_command, large_log, resume, many_files, odd_names, exact_json, asked_place, slow_script, grouped_sums,
    short_answer,
)  # fmt: skip


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    write_suite(target, MANIFEST, "runtime", [job() for job in JOBS], {})
