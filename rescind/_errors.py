"""Every error that Rescind raises to people, each with what happened, how the world is, and what to do."""

from collections.abc import Mapping

from temporalio.exceptions import ApplicationError


class RescindError(Exception):
    """The root of the errors that are raised outside a workflow."""


class ToolRefused(RescindError, TypeError):
    """A tool's declaration breaks the contract. Nothing was registered and no worker was started."""

    def __init__(self, tool: str, problems: list[str]) -> None:
        listed = "\n".join(f"  - {problem}" for problem in problems)
        super().__init__(f"the tool {tool!r} breaks the contract:\n{listed}")
        self.tool = tool
        self.problems = problems


class SagaRefused(ApplicationError):
    """A saga, or one step of it, was refused before anything was done for it.

    It is never retried: the same code would be refused again.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message, type="SagaRefused", non_retryable=True)


class StepFailed(ApplicationError):
    """A step did not succeed. Its cause chain ends in the provider's own words.

    A workflow may catch it and go on only while `absent` is true: then the step is proven to
    have done nothing. Otherwise `commit` refuses.

    Attributes:
        step: The step's name.
        absent: True when every attempt of the step is proven to have done nothing.
    """

    def __init__(self, message: str, *, step: str, absent: bool) -> None:
        super().__init__(message, type="StepFailed", non_retryable=True)
        self.step = step
        self.absent = absent


class RollbackIncomplete(ApplicationError):
    """A savepoint was not reached: something of its part stands, or may stand, so the saga can't go on.

    Every further step and the commit are refused; when it leaves the saga's block, the rest is undone.

    Attributes:
        steps: The steps that stand or may stand.
    """

    def __init__(self, left: Mapping[str, str]) -> None:
        listed = "; ".join(f"{step} {why}" for step, why in left.items())
        super().__init__(
            f"the savepoint was not reached: {listed}. The saga can't go on; a person is needed for that, and the "
            "rest is undone when the saga's block is left",
            type="RollbackIncomplete",
            non_retryable=True,
        )
        self.steps = tuple(left)


class SagaTakenOver(ApplicationError):
    """Another run, an undo or the sweeper works on this saga now; this run must not go on."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"this saga is not this run's any more: {why}. Nothing more is done by this run; what the saga "
            "did is undone by its new owner. To do the work again, start a new workflow",
            type="SagaTakenOver",
            non_retryable=True,
        )


class SagaUndone(ApplicationError):
    """The saga failed and every step of it was undone. `details[0]` is its `SagaReport`."""

    def __init__(self, message: str, report: object) -> None:
        super().__init__(message, report, type="SagaUndone", non_retryable=True)


class UndoIncomplete(ApplicationError):
    """The saga failed and something of it stands, or may stand. `details[0]` is its `SagaReport`."""

    def __init__(self, message: str, report: object) -> None:
        super().__init__(message, report, type="UndoIncomplete", non_retryable=True)
