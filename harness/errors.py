"""One error type per boundary crossed, and what each one means for a score.

| error               | boundary            | retried | meaning                                  |
|---------------------|---------------------|---------|------------------------------------------|
| TaskError           | task set on disk    | no      | set-up fault, the command stops          |
| SkillError          | skill on disk       | no      | set-up fault, the command stops          |
| StoreError          | SQLite file         | no      | set-up fault, the command stops          |
| SandboxUnavailable  | sandbox cannot run  | no      | set-up fault, the command stops          |
| SandboxError        | one sandbox failed  | yes     | missing data, never a score              |
| VerifierError       | verifier crashed    | yes     | missing data, never a score              |
| ModelUnavailable    | endpoint, transient | yes     | missing data, never a score              |
| EndpointDead        | endpoint, for good  | no      | the run stops, resumable                 |
| ModelRejected       | key, model name     | no      | the run stops, resumable                 |
| ContextOverflow     | the model's window  | no      | the agent failed: a score                |

Timeouts of the agent, giving up, running out of turns or of tokens are scores too; they are stop
reasons of a trajectory (`trajectory.StopReason`), not exceptions.
"""

from __future__ import annotations


class HarnessError(Exception):
    """Base of all errors of this package. `remedy` is one sentence that says what to do."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()


class SetupError(HarnessError):
    """Something the user must mend before anything can run."""


class TaskError(SetupError):
    """A task set that cannot be read or is not valid."""


class SkillError(SetupError):
    """A skill that cannot be read or is not valid."""


class StoreError(SetupError):
    """The record file cannot be opened, read or written."""


class SandboxUnavailable(SetupError):
    """This machine cannot run the sandbox that was asked for."""


class MissingData(HarnessError):
    """An infrastructure fault: retried, then the rollout is missing, never a score."""


class SandboxError(MissingData):
    """A sandbox died, did not start or broke the protocol."""


class VerifierError(MissingData):
    """A verifier crashed or could not run."""


class ModelUnavailable(MissingData):
    """The endpoint failed in a way that may pass: rate limit, server error, cut connection."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class RunStopped(HarnessError):
    """The whole run must stop; everything recorded so far is kept and a rerun goes on from it."""


class EndpointDead(RunStopped):
    """Too many requests in a row failed."""


class ModelRejected(RunStopped):
    """The endpoint refused the key or does not know the model."""


class ContextOverflow(HarnessError):
    """The conversation no longer fits the model's window: the agent failed, which is a score."""
