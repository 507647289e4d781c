"""Write docs/reference.md from the code: `make docs`, or `python docs/generate_reference.py`.

Nothing of the reference is written by hand, so it cannot fall behind. A test compares the file with what
this makes.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
import textwrap
import typing
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from types import NoneType, UnionType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import typer  # noqa: E402
from pydantic import BaseModel  # noqa: E402

from harness import errors  # noqa: E402
from harness.sandboxes.base import Limits  # noqa: E402
from harness.task import Budget, Manifest, SplitShares, Task, VerifierSpec  # noqa: E402
from harness.tools.registry import TOOLSETS  # noqa: E402
from harness.verifiers import FIELDS, get_verifier, known_verifiers  # noqa: E402
from harness.verifiers.spec import Settings  # noqa: E402
from skillopt.cli import app  # noqa: E402
from skillopt.commands.common import DEFAULT_CONCURRENCY, INTERRUPTED, NO, OK, SETUP  # noqa: E402
from skillopt.gates.screen import CODES  # noqa: E402
from skillopt.gates.selection import GateRule  # noqa: E402
from skillopt.improve import Plan  # noqa: E402

REFERENCE = ROOT / "docs" / "reference.md"
EXIT_CODES = {
    OK: "accepted, or done",
    NO: "the gate said no, or the run accepted nothing",
    SETUP: "wrong use, a set-up fault, a stopped run, or nothing was measured",
    INTERRUPTED: "interrupted; what was recorded is kept",
}
LOADED = {(Task, "id"): "the name of the file", (Task, "split"): "by a hash of the id"}
"""Defaults that the reading of a task file gives, not the model."""
HEAD = """# Reference

Made from the code by `docs/generate_reference.py`. Do not edit it; run `make docs`.
"""


def commands(group: typer.Typer = app, prefix: str = "skillopt") -> Iterator[tuple[str, Any]]:
    """(full name, function) of every command, groups walked through."""
    for info in group.registered_commands:
        function = info.callback
        assert function is not None
        yield f"{prefix} {info.name or function.__name__.replace('_', '-')}", function
    for sub in group.registered_groups:
        assert sub.typer_instance is not None
        yield from commands(sub.typer_instance, f"{prefix} {sub.name}")


def parameters(function: Any) -> Iterator[tuple[str, Any, Any, Any]]:
    """(name on the command line, type, default, typer's info) of each parameter of a command."""
    hints = typing.get_type_hints(function, include_extras=True)
    for name, parameter in inspect.signature(function).parameters.items():
        kind, info = typing.get_args(hints[name])[:2]
        shown = name.upper()
        if isinstance(info, typer.models.OptionInfo):
            # typer keeps the first name of an annotated option in `default`.
            names = [str(text) for text in (info.default, *(info.param_decls or ())) if str(text)[:2] == "--"]
            shown = names[0] if names else f"--{name.replace('_', '-')}"
        yield shown, kind, parameter.default, info


def kind_of(annotation: Any) -> str:
    """A type in plain words."""
    if typing.get_origin(annotation) is typing.Literal:
        return " or ".join(f"`{value}`" for value in typing.get_args(annotation) if value)
    if typing.get_origin(annotation) is typing.Annotated:
        return kind_of(typing.get_args(annotation)[0])
    if typing.get_origin(annotation) in (typing.Union, UnionType):
        parts = [part for part in typing.get_args(annotation) if part is not NoneType]
        return " or ".join(kind_of(part) for part in parts)
    if typing.get_origin(annotation) is tuple:
        return f"list of {kind_of(typing.get_args(annotation)[0])}"
    if typing.get_origin(annotation) is dict:
        key, value = typing.get_args(annotation)
        return f"table: {kind_of(key)} to {kind_of(value)}"
    words = {str: "text", int: "integer", float: "number", bool: "true or false", Path: "path", Any: "any"}
    return words.get(annotation) or getattr(annotation, "__name__", str(annotation))


def bounds_of(least: Any, most: Any) -> str:
    if least is not None and most is not None:
        return f", {least} to {most}"
    return f", from {least}" if least is not None else f", to {most}" if most is not None else ""


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(heads), *(list(row) for row in rows)]
    cells = [[cell.replace("|", "\\|").replace("\n", " ") for cell in line] for line in lines]
    cells.insert(1, ["---"] * len(cells[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in cells) + "\n"


def command_section(name: str, function: Any) -> str:
    rows = list(parameters(function))
    arguments = [
        shown if default is inspect.Parameter.empty else f"[{shown}]"
        for shown, _, default, info in rows
        if isinstance(info, typer.models.ArgumentInfo)
    ]
    line = " ".join([name, *arguments, "[OPTIONS]"])
    text = inspect.cleandoc(function.__doc__)
    found = [[f"`{shown}`", option_kind(kind, info), option_default(shown, default, info), info.help or ""]
             for shown, kind, default, info in rows]  # fmt: skip
    return f"### {name}\n\n    {line}\n\n{text}\n\n{table(['option', 'value', 'default', 'what'], found)}"


def option_kind(kind: Any, info: Any) -> str:
    return "flag" if kind is bool else kind_of(kind) + bounds_of(info.min, info.max)


def option_default(shown: str, default: Any, info: Any) -> str:
    if default is inspect.Parameter.empty:
        return "required"
    if shown == "--concurrency" and default == DEFAULT_CONCURRENCY:
        return "2 per CPU, from 2 to 8"
    if info.envvar:
        return f"`${info.envvar}`"
    return "" if default is None or default is False or default == "" else f"`{default}`"


def field_notes(model: type[BaseModel]) -> dict[str, str]:
    """The text that stands below each field in the source."""
    body = ast.parse(textwrap.dedent(inspect.getsource(model))).body[0]
    assert isinstance(body, ast.ClassDef)
    notes = {}
    for statement, after in zip(body.body, body.body[1:], strict=False):
        note = after.value if isinstance(after, ast.Expr) else None
        if isinstance(statement, ast.AnnAssign) and isinstance(note, ast.Constant):
            notes[ast.unparse(statement.target)] = " ".join(str(note.value).split())
    return notes


def constraint_of(metadata: Iterable[Any]) -> str:
    signs = {
        "gt": "over",
        "ge": "from",
        "lt": "under",
        "le": "to",
        "min_length": "at least",
        "pattern": "form",
    }
    found = [
        f"{word} `{getattr(item, name)}`"
        for item in metadata
        for name, word in signs.items()
        if getattr(item, name, None) is not None
    ]
    return f" ({', '.join(found)})" if found else ""


def shown_default(field: Any) -> str:
    if field.is_required():
        return "required"
    value = field.default
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json")
        return "see below" if value else ""
    return f"`{json.dumps(value)}`" if value not in ("", None, (), {}) else ""


def model_section(model: type[BaseModel], title: str = "", level: int = 3) -> str:
    """Doc string and fields of a model; fields that are not written to files are left out."""
    notes = field_notes(model)
    rows = []
    for name, field in model.model_fields.items():
        if field.exclude or (name == "name" and issubclass(model, Settings)):
            continue
        kind = kind_of(field.annotation) + constraint_of(field.metadata)
        default = LOADED.get((model, name)) or shown_default(field)
        rows.append([f"`{field.alias or name}`", kind, default, notes.get(name, "")])
    if not any(row[3] for row in rows):
        rows = [row[:3] for row in rows]
    heads = ["field", "value", "default", "what"][: len(rows[0])] if rows else []
    text = inspect.cleandoc(model.__doc__ or "")
    body = table(heads, rows) if rows else "No fields.\n"
    return f"{'#' * level} {title or model.__name__}\n\n{text}\n\n{body}"


def below(model: type[BaseModel], seen: set[type[BaseModel]]) -> Iterator[type[BaseModel]]:
    """The models that the fields of a model use, each once."""
    for field in model.model_fields.values():
        stack = [field.annotation]
        while stack:
            item: Any = stack.pop()
            stack += typing.get_args(item)
            if isinstance(item, type) and issubclass(item, BaseModel) and item not in seen:
                seen.add(item)
                yield item
                yield from below(item, seen)


def verifier_section(name: str) -> str:
    module = import_module(type(get_verifier(name)).__module__)
    text = inspect.cleandoc(module.__doc__ or "").split(": ", 1)[1]
    verifier = get_verifier(name)
    parts = [
        f"### {name}\n\n{text[0].upper()}{text[1:]}\n\n{inspect.cleandoc(type(verifier).__doc__ or '')}\n\n"
        f"Its score goes to `{FIELDS[verifier.family]}`.\n"
    ]
    models = [item for item in vars(module).values() if inspect.isclass(item)]
    own = [item for item in models if item.__module__ == module.__name__ and issubclass(item, BaseModel)]
    settings = [item for item in own if issubclass(item, Settings)]
    answers = [item for item in own if item.__name__.endswith("Answer") and item.__name__ != "CellAnswer"]
    seen: set[type[BaseModel]] = set()
    for model in [*settings, *answers]:
        title = "Settings" if model in settings else f"Answer file: {model.__name__}"
        parts.append(model_section(model, title, 4))
        parts += [model_section(nested, level=4) for nested in below(model, seen)]
    return "\n".join(parts)


def error_table() -> str:
    """The table of harness/errors.py, as it stands there."""
    lines = (errors.__doc__ or "").splitlines()
    rows = [re.sub(r" +", " ", line) for line in lines if line.startswith("|")]
    rows[1] = re.sub(r"-+", "---", rows[1])
    tail = (errors.__doc__ or "").rpartition("|")[2].strip()
    return "\n".join(rows) + f"\n\n{tail}\n"


def tool_table() -> str:
    rows = [
        [
            f"`{toolset}`",
            f"`{name}`",
            ", ".join(f"`{field}`" for field in model.model_fields),
            model.__doc__ or "",
        ]
        for toolset, tools in TOOLSETS.items()
        for name, model in tools.items()
    ]
    return table(["toolset", "tool", "arguments", "what"], rows)


def render() -> str:
    """The whole reference."""
    verifiers = known_verifiers()
    return "\n".join(
        [
            HEAD,
            "## Commands\n",
            *(command_section(name, function) for name, function in commands()),
            "## Exit codes\n",
            table(["code", "meaning"], ([str(code), text] for code, text in EXIT_CODES.items())),
            "## Task sets\n",
            inspect.cleandoc(import_module("harness.task").__doc__ or "").partition("\n\n")[2] + "\n",
            model_section(Manifest, "taskset.toml"),
            model_section(SplitShares),
            model_section(Task, "tasks/ID.toml"),
            model_section(Budget),
            model_section(VerifierSpec),
            "## Toolsets\n",
            tool_table(),
            "## Verifiers\n",
            f"Registered: {', '.join(f'`{name}`' for name in verifiers)}.\n",
            *(verifier_section(name) for name in verifiers),
            "## Errors\n",
            error_table(),
            "## Codes of the screen\n",
            table(["code", "meaning"], ([f"`{code}`", text] for code, text in CODES.items())),
            "## Defaults of a run\n",
            model_section(Plan),
            model_section(GateRule),
            model_section(Limits, "Limits of a sandbox call"),
        ]
    )


def main() -> None:
    REFERENCE.write_text(render(), encoding="utf-8")
    print(f"wrote {REFERENCE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
