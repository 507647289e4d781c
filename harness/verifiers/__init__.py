"""Verifiers by name, and how their results become one score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from harness.errors import HarnessError, TaskError, VerifierError
from harness.trajectory import Breakdown, Family, Trajectory, VerifierResult

if TYPE_CHECKING:
    from harness.protocols import Verifier
    from harness.sandboxes.pool import SandboxPool
    from harness.task import Task

__all__ = ["combine", "get_verifier", "known_verifiers", "verify"]

REGISTRY: Mapping[str, str] = {
    "exact": "harness.verifiers.exact:ExactVerifier",
    "execution": "harness.verifiers.execution:ExecutionVerifier",
    "file": "harness.verifiers.file:FileVerifier",
    "policy": "harness.verifiers.policy:PolicyVerifier",
    "trace": "harness.verifiers.trace:TraceVerifier",
    "workbook": "harness.verifiers.workbook:WorkbookVerifier",
}

FIELDS: Mapping[Family, str] = {
    "exact": "final_answer_score",
    "artifact": "artifact_score",
    "execution": "execution_score",
    "trace": "trace_score",
    "policy": "policy_score",
    "judge": "judge_score",
}


def known_verifiers() -> tuple[str, ...]:
    """The registered names, sorted."""
    return tuple(sorted(REGISTRY))


def get_verifier(name: str) -> Verifier:
    """The verifier of that name, imported now. Raises TaskError, with the known names, for another."""
    if name not in REGISTRY:
        raise TaskError(
            f"There is no verifier named {name!r}.", f"Choose one of: {', '.join(known_verifiers())}."
        )
    module, _, attribute = REGISTRY[name].partition(":")
    verifier: Verifier = getattr(import_module(module), attribute)()
    return verifier


async def verify(
    task: Task, trajectory: Trajectory, files: Mapping[str, bytes], checkers: SandboxPool
) -> list[VerifierResult]:
    """One result for each verifier of the task, in its order.

    Raises TaskError when the task's own settings are wrong, and MissingData when a verifier cannot tell.
    """
    results = []
    for spec in task.verifiers:
        verifier = get_verifier(spec.name)
        try:
            results.append(await verifier.check(spec, task, trajectory, files, checkers))
        except HarnessError:
            raise
        except Exception as error:  # The boundary: a crash of a verifier is missing data, never a score.
            raise VerifierError(
                f"The verifier {spec.name} crashed on task {task.id}: {type(error).__name__}: {error}"
            ) from error
    return results


def combine(task: Task, results: Sequence[VerifierResult]) -> tuple[float, Breakdown]:
    """The task's score from 0 to 1, and the mean score of each family that ran.

    Scoring `all` gives 1 when every verifier passed, else 0; `mean` gives the mean of their scores.
    Raises VerifierError when nothing was verified.
    """
    if not results:
        raise VerifierError(f"No verifier ran on task {task.id}.")
    by_family: dict[str, list[float]] = {}
    for result in results:
        by_family.setdefault(FIELDS[result.family], []).append(result.score)
    breakdown = Breakdown.model_validate({field: mean(scores) for field, scores in by_family.items()})
    if task.scoring == "all":
        return float(all(result.passed for result in results)), breakdown
    return mean([result.score for result in results]), breakdown


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
