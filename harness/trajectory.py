"""What happened in one rollout: events, tool calls, artifacts, usage, scores."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

StopReason = Literal["finished", "max_turns", "max_tokens", "timeout", "context_overflow", "gave_up"]
EventKind = Literal["message", "tool_call", "tool_result", "model_error", "note"]
Family = Literal["exact", "artifact", "execution", "trace", "policy", "judge"]


class Usage(BaseModel):
    """Tokens and money. `cost` is None where the price of the model is not known."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    requests: int = 0
    cost: float | None = None

    def plus(self, other: Usage) -> Usage:
        costs = [cost for cost in (self.cost, other.cost) if cost is not None]
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            requests=self.requests + other.requests,
            cost=sum(costs) if costs else None,
        )

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


class Event(BaseModel):
    """One thing that happened, in order. `data` is what the model saw or what the tool returned."""

    kind: EventKind
    turn: int
    data: dict[str, Any]


class PolicyEvent(BaseModel):
    """A label on something the agent did: evidence for the safety gate, not a barrier."""

    model_config = ConfigDict(frozen=True)

    rule: str
    severity: Literal["violation", "notice"]
    detail: str
    turn: int = 0


class Artifact(BaseModel):
    """A file of the work folder after the agent had ended. `blob` is its content's sha256."""

    path: str
    size: int
    blob: str = ""
    refused: str = ""


class VerifierResult(BaseModel):
    """What one verifier found. `feedback` may be shown to the optimizer for train tasks: no answers in it."""

    name: str
    family: Family
    passed: bool
    score: float = Field(ge=0, le=1)
    feedback: tuple[str, ...] = ()
    evidence: dict[str, Any] = {}


class Breakdown(BaseModel):
    """Scores by family; None where no verifier of that family ran."""

    final_answer_score: float | None = None
    artifact_score: float | None = None
    execution_score: float | None = None
    trace_score: float | None = None
    policy_score: float | None = None
    judge_score: float | None = None
    regression_risk: float | None = None


class Trajectory(BaseModel):
    """The record of the agent's work, before any verifier looked at it."""

    events: list[Event] = []
    final_answer: str = ""
    stop_reason: StopReason = "finished"
    usage: Usage = Usage()
    artifacts: list[Artifact] = []
    policy_events: list[PolicyEvent] = []

    def tool_calls(self) -> list[Event]:
        return [event for event in self.events if event.kind == "tool_call"]


class RunResult(BaseModel):
    """One rollout. `score` is None exactly when the rollout is missing data (`error` says why)."""

    run_id: str
    key: str
    task_id: str
    model: str
    skill_version: str
    toolset: tuple[str, ...]
    stream: str
    attempt: int
    completed: bool
    score: float | None
    breakdown: Breakdown = Breakdown()
    stop_reason: str = ""
    error: str = ""
    tool_stats: dict[str, int] = {}
    artifacts: list[Artifact] = []
    trajectory_path: str = ""
    duration_ms: float = 0.0
    token_usage: Usage = Usage()
    policy_events: list[PolicyEvent] = []
    verifier_results: list[VerifierResult] = []
