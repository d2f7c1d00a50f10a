"""How a saga's block can be left, and what that asks for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from enum import Enum
from typing import cast

from temporalio import workflow
from temporalio.exceptions import ApplicationError

from rescind._errors import SagaTakenOver


class Ending(Enum):
    """What is to be done where no unwinding is called for."""

    SEAL = "seal"
    LEAVE = "leave"


def ending(error: BaseException | None, *, committed: bool) -> Ending | BaseException:
    """Decide what leaving the block means.

    Returns:
        SEAL after a commit; LEAVE for what is neither a failure nor a cancellation of the workflow (a bug that
        fails the workflow task, continue-as-new, a generator that is closed) and for a saga that was taken
        over; otherwise the error for which everything is undone.
    """
    if error is None:
        return Ending.SEAL if committed else _not_committed()
    leaves = list(_leaves(error))
    if not all(_ends_workflow(leaf) for leaf in leaves):
        return Ending.LEAVE
    if any(isinstance(leaf, SagaTakenOver) for leaf in leaves):
        return Ending.LEAVE
    failures = [leaf for leaf in leaves if not isinstance(leaf, asyncio.CancelledError)]
    return (failures or leaves)[0]


def raise_alone(error: BaseException | None) -> None:
    """Raise a takeover that came out of a task group by itself: a group would fail the workflow task for ever."""
    if not isinstance(error, BaseExceptionGroup):
        return
    leaves = list(_leaves(cast("BaseExceptionGroup[BaseException]", error)))
    taken_over = next((leaf for leaf in leaves if isinstance(leaf, SagaTakenOver)), None)
    if taken_over is not None and all(_ends_workflow(leaf) for leaf in leaves):
        raise taken_over


def _not_committed() -> ApplicationError:
    return ApplicationError(
        "the saga's block was left without a commit; call `await saga.commit()` as its last step",
        type="NotCommitted",
        non_retryable=True,
    )


def _ends_workflow(error: BaseException) -> bool:
    return isinstance(error, asyncio.CancelledError) or workflow.is_failure_exception(error)


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """The errors in a group, as they were raised; an error that is no group is its own."""
    if not isinstance(error, BaseExceptionGroup):
        yield error
        return
    for inner in cast("BaseExceptionGroup[BaseException]", error).exceptions:
        yield from _leaves(inner)
