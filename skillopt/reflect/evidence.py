"""What the optimizer may see of train trajectories: quoted, cut to size, inside delimiters of one use."""

from __future__ import annotations

from collections.abc import Sequence

from harness.task import Task, digest
from harness.trajectory import RunResult, Trajectory

MAX_CODE, MAX_OUTPUT, MAX_PROMPT = 1600, 2400, 1500


def cut(text: str, limit: int) -> str:
    """The head of a text, with what was left out said."""
    text = text.strip()
    return text if len(text) <= limit else f"{text[:limit]}\n[... {len(text) - limit} more characters]"


def render_steps(trajectory: Trajectory) -> str:
    parts = []
    for event in trajectory.events:
        if event.kind == "tool_call":
            values = "\n".join(str(value) for value in event.data["arguments"].values())
            parts.append(f"-- call {event.data['name']}:\n{cut(values, MAX_CODE)}")
        elif event.kind == "tool_result":
            parts.append(f"-- result:\n{cut(event.data['content'], MAX_OUTPUT)}")
    return "\n".join(parts)


def render_run(task: Task, result: RunResult, trajectory: Trajectory, mark: str) -> str:
    """One train trajectory. The feedback lines are the verifiers' own and hold no answers."""
    outcome = "passed" if result.score and result.score >= 1 else "failed"
    feedback = [line for found in result.verifier_results for line in found.feedback if not found.passed]
    events = [f"policy: {event.rule}: {event.detail}" for event in result.policy_events]
    lines = "\n".join(f"- {line}" for line in [*feedback, *events][:20]) or "- none"
    body = (
        f"Task:\n{cut(task.prompt, MAX_PROMPT)}\n\nWork:\n{render_steps(trajectory)}\n\n"
        f"Answer:\n{cut(trajectory.final_answer, 600)}\n\nEnded: {result.stop_reason}\nFindings:\n{lines}"
    )
    return f"<trajectory-{mark} outcome={outcome}>\n{body.replace(mark, '')}\n</trajectory-{mark}>"


def one_use_mark(seed: int, texts: Sequence[str]) -> str:
    """A delimiter that the quoted texts cannot have known."""
    return digest([seed, *texts])[:12]
