"""Comparing what the agent gave with what was expected. Each function returns "" or what is wrong.

The texts of an agent are untrusted: sizes and depths are capped, and no message holds the expected value.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any, Literal, NoReturn

Space = Literal["trim", "collapse", "exact"]
MAX_TEXT = 1 << 20
MAX_DEPTH = 64
NUMBER = re.compile(r"(?<![\w.,])[-+]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d{1,4})?(?!\w)")
MARKS = str.maketrans("", "", ",_ $€£¥")
BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


class BadValue(ValueError):
    """A text that is not a value of the kind that was asked for; the message says why."""


def decode(data: bytes) -> str:
    """UTF-8 text without a byte-order mark. Raises BadValue for other bytes or too many of them."""
    if len(data) > MAX_TEXT:
        raise BadValue("the text is too long to be an answer")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadValue("the text is not valid UTF-8") from None


def tidy(text: str, case: bool, space: Space) -> str:
    """The text in the form in which it is compared."""
    if space == "trim":
        text = "\n".join(line.rstrip() for line in text.splitlines()).strip()
    elif space == "collapse":
        text = " ".join(text.split())
    return text if case else text.casefold()


def text_fault(got: str, expected: str, case: bool = True, space: Space = "trim") -> str:
    if tidy(got, case, space) == tidy(expected, case, space):
        return ""
    return "the text is not the right one" if got.strip() else "the text is empty"


def contains_fault(got: str, expected: Sequence[str], case: bool = True, space: Space = "trim") -> str:
    whole = tidy(got, case, space)
    missing = sum(tidy(part, case, space) not in whole for part in expected)
    return f"{missing} of {len(expected)} required texts are missing" if missing else ""


def one_of_fault(got: str, expected: Sequence[str], case: bool = True, space: Space = "trim") -> str:
    accepted = {tidy(option, case, space) for option in expected}
    return "" if tidy(got, case, space) in accepted else "the text is not one of the accepted ones"


def parse_number(text: str) -> float:
    """The number that the text is, or the only number of its last line. Raises BadValue."""
    plain = text.strip().rstrip(".").translate(MARKS)
    try:
        value = float(plain)
    except ValueError:
        lines = [line for line in text.splitlines() if line.strip()]
        found = NUMBER.findall(lines[-1][:1000]) if lines else []
        if len(found) != 1:
            raise BadValue("the answer does not end with one number") from None
        value = float(found[0].replace(",", ""))
    if not math.isfinite(value):
        raise BadValue("the answer is not a finite number")
    return value


def close(got: float, expected: float, tolerance: float) -> bool:
    """Equal within `tolerance`, absolute or relative to the expected value, whichever is wider."""
    return abs(got - expected) <= tolerance * max(1.0, abs(expected))


def number_fault(got: float, expected: float, tolerance: float) -> str:
    return "" if close(got, expected, tolerance) else f"the number is not the right one (got {got:g})"


def refuse_constant(name: str) -> NoReturn:
    raise BadValue(f"the JSON holds {name}")


def unique_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise BadValue("the JSON has an object with the same key twice")
    return dict(pairs)


def finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise BadValue("the JSON holds a number that is too large")
    return value


def parse_json(text: str) -> Any:
    """The value of a JSON text: at most 64 levels, no NaN, no doubled keys. Raises BadValue."""
    depth = 0
    for match in BRACKETS.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(match[0], 0)
        if depth > MAX_DEPTH:
            raise BadValue("the JSON is nested too deeply")
    try:
        return json.loads(
            text, parse_constant=refuse_constant, object_pairs_hook=unique_object, parse_float=finite
        )
    except BadValue:
        raise
    except (ValueError, RecursionError) as error:
        raise BadValue(f"the text is not valid JSON: {str(error)[:80]}") from None


def json_fault(got: Any, expected: Any, tolerance: float = 0.0, where: str = "$") -> str:
    """The first difference of two JSON values, as `path: what is wrong`."""
    if isinstance(expected, dict) and isinstance(got, dict):
        if got.keys() != expected.keys():
            return f"{where}: the keys are not the right ones"
        pairs = [(got[key], expected[key], f"{where}.{key}") for key in expected]
    elif isinstance(expected, list) and isinstance(got, list):
        if len(got) != len(expected):
            return f"{where}: the list has {len(got)} items, not the right number"
        pairs = [(g, e, f"{where}[{i}]") for i, (g, e) in enumerate(zip(got, expected, strict=True))]
    else:
        return "" if same_scalar(got, expected, tolerance) else f"{where}: the value is not the right one"
    return next(filter(None, (json_fault(g, e, tolerance, at) for g, e, at in pairs)), "")


def same_scalar(got: Any, expected: Any, tolerance: float) -> bool:
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in (got, expected))
    if numbers:
        return bool(got == expected) or close(float(got), float(expected), tolerance)
    return type(got) is type(expected) and bool(got == expected)
