"""`trace`: rules over the tool calls of the trajectory: which, in which order, how many, with what."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from pydantic import BaseModel, ConfigDict, Field, field_validator

from harness.sandboxes.pool import SandboxPool
from harness.task import Task, VerifierSpec
from harness.trajectory import Event, Family, Trajectory, VerifierResult
from harness.verifiers.spec import Settings, settings_of

MAX_ARGUMENTS = 1 << 16


class Rule(BaseModel):
    """A call of `tool` (any when empty) whose arguments match `pattern`. A bare string names the tool."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tool: str = ""
    pattern: str = ""

    @field_validator("pattern")
    @classmethod
    def compiles(cls, value: str) -> str:
        try:
            re.compile(value)
        except re.error as error:
            raise ValueError(f"not a regular expression: {error}") from error
        return value

    def label(self) -> str:
        return self.tool or "any tool"

    def matches(self, call: tuple[str, str]) -> bool:
        tool, arguments = call
        return self.tool in ("", tool) and re.search(self.pattern, arguments) is not None


class TraceSettings(Settings):
    """At least one rule. `order`: a first call that matches each rule comes after that of the rule before.

    `pattern`: some call's arguments match it; `must_not_match`: no call's arguments match it.
    Patterns are searched in the arguments' values, strings raw, one per line.
    """

    must_call: tuple[Rule, ...] = ()
    must_not_call: tuple[Rule, ...] = ()
    order: tuple[Rule, ...] = ()
    max_calls: int | None = Field(default=None, ge=0)
    pattern: str = ""
    must_not_match: str = ""

    @field_validator("must_call", "must_not_call", "order", mode="before")
    @classmethod
    def short_form(cls, value: object) -> object:
        if not isinstance(value, list | tuple):
            return value
        return [{"tool": rule} if isinstance(rule, str) else rule for rule in value]


def flat(event: Event) -> tuple[str, str]:
    """Tool name and the text of its arguments, as far as it is judged."""
    arguments = event.data.get("arguments", {})
    values = list(arguments.values()) if isinstance(arguments, Mapping) else [arguments]
    texts = [value if isinstance(value, str) else json.dumps(value, default=str) for value in values]
    return str(event.data.get("name", "")), "\n".join(texts)[:MAX_ARGUMENTS]


def in_order(rules: Sequence[Rule], calls: Sequence[tuple[str, str]]) -> bool:
    """Whether the first matches of the rules come one after the other."""
    firsts = [next((i for i, call in enumerate(calls) if rule.matches(call)), None) for rule in rules]
    known = [first for first in firsts if first is not None]
    return len(known) == len(rules) and all(a < b for a, b in pairwise(known))


def outcomes(settings: TraceSettings, calls: Sequence[tuple[str, str]]) -> list[str]:
    """One entry for each rule: "" when it holds, else what is wrong."""

    def seen(rule: Rule) -> bool:
        return any(rule.matches(call) for call in calls)

    found = [
        "" if seen(rule) else f"{rule.label()} was not called as required" for rule in settings.must_call
    ]
    found += [
        f"{rule.label()} was called but must not be" if seen(rule) else "" for rule in settings.must_not_call
    ]
    if settings.order:
        names = ", then ".join(rule.label() for rule in settings.order)
        found.append("" if in_order(settings.order, calls) else f"the calls were not in order: {names}")
    if settings.max_calls is not None:
        over = len(calls) > settings.max_calls
        found.append(f"{len(calls)} calls, more than {settings.max_calls}" if over else "")
    if settings.pattern:
        found.append("" if seen(Rule(pattern=settings.pattern)) else "no call had the required arguments")
    if settings.must_not_match:
        bad = seen(Rule(pattern=settings.must_not_match))
        found.append("a call had arguments that are not allowed" if bad else "")
    return found


class TraceVerifier:
    """Passes when every rule holds; the score is the share of rules that hold."""

    name = "trace"
    family: Family = "trace"

    async def check(
        self,
        spec: VerifierSpec,
        task: Task,
        trajectory: Trajectory,
        files: Mapping[str, bytes],
        checkers: SandboxPool,
    ) -> VerifierResult:
        """Raises TaskError when a rule is not valid."""
        settings = settings_of(TraceSettings, spec, task)
        calls = [flat(event) for event in trajectory.tool_calls()]
        found = outcomes(settings, calls)
        wrong = tuple(filter(None, found))
        return VerifierResult(
            name=self.name,
            family=self.family,
            passed=not wrong,
            score=1 - len(wrong) / len(found) if found else 1.0,
            feedback=wrong,
            evidence={"calls": len(calls), "rules": len(found)},
        )
