"""The Python scripts that the general worker writes: names at the top, a body, an ending that saves."""

from __future__ import annotations

LOOK = """\
from pathlib import Path

paths = [p for p in sorted(Path(".").rglob("*")) if p.is_file() and not p.name.startswith(".")]
for path in paths[:60]:
    print("==", path, path.stat().st_size, "bytes")
    if path.suffix == ".xlsx":
        import openpyxl

        for sheet in openpyxl.load_workbook(path):
            print("sheet", sheet.title, sheet.dimensions)
            for row in sheet.iter_rows(max_row=12, values_only=True):
                print(row)
    elif path.suffix in (".txt", ".csv", ".md", ".json", ".log", ".sh"):
        with open(path, encoding="utf-8", errors="replace") as file:
            for number, line in zip(range(1, 13), file):
                print(f"{number}: {line.rstrip()[:200]!r}")
"""
LINES = """\
lines = Path(source).read_text(encoding="utf-8").splitlines()
"""
NOT_BLANK = """\
lines = [line for line in lines if line.strip()]
"""
NOT_COMMENT = """\
lines = [line for line in lines if not line.lstrip().startswith("#")]
"""
NOT_HEADER = """\
lines = lines[1:]
"""
COUNT = """\
answer = str(len(lines))
"""
WORDS = """\
answer = str(sum(len(line.split()) for line in lines))
"""
NO_COMMAS = """\
lines = [re.sub(r"(?<=\\d),(?=\\d{3})", "", line) for line in lines]
"""
ADD_UP = """\
numbers = [float(found) for line in lines for found in re.findall(r"-?\\d+(?:\\.\\d+)?", line)]
answer = f"{sum(numbers):.10g}"
"""
ROWS = """\
with open(source, newline="", encoding="utf-8-sig") as file:
    rows = list(csv.DictReader(file))
"""
COLUMN = """\
values = [float(row[column]) for row in rows if row[column].strip()]
"""
TOTAL = """\
answer = f"{sum(values):.10g}"
"""
LARGEST = """\
answer = "\\n".join(f"{value:.10g}" for value in sorted(values, reverse=True)[:count])
"""
SUMMARY = """\
summary = {"count": len(values), "min": min(values), "max": max(values)}
summary["mean"] = round(sum(values) / len(values), 2)
answer = json.dumps(summary)
"""
GROUPED = """\
sums = {}
for row in rows:
    sums[row[key]] = sums.get(row[key], 0) + float(row[column])
answer = json.dumps(sums, ensure_ascii=False)
"""
KEEP_COLUMNS = """\
rows = [{name: row[name] for name in columns} for row in rows]
"""
TYPED = """\
def typed(text):
    return json.loads(text) if re.fullmatch(r"-?(0|[1-9]\\d*)(\\.\\d+)?", text) else text

rows = [{name: typed(text) for name, text in row.items()} for row in rows]
"""
AS_JSON = """\
answer = json.dumps(rows, ensure_ascii=False, indent=2)
"""
FIND_LINE = """\
answer = ""
with open(source, encoding="utf-8", errors="replace") as file:
    for line in file:
        if word in line:
            answer = re.findall(r"\\d+", line)[-1]
"""
FOLDER_SUM = """\
total = 0.0
for path in sorted(Path(folder).iterdir()):
    total += sum(float(word) for word in path.read_text(encoding="utf-8").split())
answer = f"{total:.10g}"
"""
FIELD_SUM = """\
total = 0.0
for path in sorted(Path(folder).iterdir()):
    lines = path.read_text(encoding="utf-8").splitlines()
    fields = dict(line.split(": ", 1) for line in lines if ": " in line)
    if fields.get(key) == value:
        total += float(fields[column])
answer = f"{total:.10g}"
"""
RESUME = """\
left = json.loads(Path("progress.json").read_text())["left"]
done = Path(target).read_text(encoding="utf-8")
lines = []
for month in left:
    with open(f"{folder}/{month}.csv", newline="") as file:
        lines.append(f"{month},{sum(float(row[column]) for row in csv.DictReader(file)):.10g}")
answer = done.rstrip("\\n") + "\\n" + "\\n".join(lines)
"""
CLEAN = """\
for path in sorted(Path(folder).rglob("*"), reverse=True):
    path.rmdir() if path.is_dir() else path.unlink()
names = [p.as_posix() for p in Path(".").rglob("*") if p.is_file() and p.as_posix() != target]
answer = "\\n".join(sorted(names))
"""
COPY = """\
answer = Path(source).read_text(encoding="utf-8").rstrip("\\n")
"""
SHEET_SUM = """\
import openpyxl

book = openpyxl.load_workbook(source)
rows = list(book[sheet].iter_rows(values_only=True))
place = rows[0].index(column)
answer = f"{sum(row[place] for row in rows[1:] if isinstance(row[place], (int, float))):.10g}"
"""
SHEET_SAVE = """\
book[sheet][cell] = float(answer)
Path(target).parent.mkdir(parents=True, exist_ok=True)
book.save(target)
print("ANSWER:", answer)
"""
FENCE = """\
answer = "```\\n" + answer + "\\n```"
"""
SAVE = """\
Path(target).parent.mkdir(parents=True, exist_ok=True)
Path(target).write_text(answer + "\\n", encoding="utf-8")
"""
SAY = """\
print("ANSWER:", answer)
"""


def script(*parts: str, **names: object) -> str:
    """One script: imports that the parts need, the names with their values, the parts."""
    body = "".join(parts)
    modules = [name for name in ("csv", "json", "re") if f"{name}." in body]
    head = [f"import {name}" for name in modules]
    head.append("from pathlib import Path\n")
    head += [f"{name} = {value!r}" for name, value in names.items()]
    return "\n".join(head) + "\n" + body
