"""Small facts about Temporal's workflow side: eviction, shielding, and what failures say."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, FailureError

T = TypeVar("T")


def raise_if_evicted() -> None:
    """End here when the workflow is only leaving the worker's cache.

    Eviction runs every `finally` and cancels every task. The SDK refuses each change of the
    workflow then by an exception of its own, and setting the details to what they are asks for it.
    """
    workflow.set_current_details(workflow.get_current_details())


async def undisturbed(work: Coroutine[Any, Any, T]) -> T:
    """Run work to its end as one task, whatever is cancelled."""
    return await shielded(asyncio.ensure_future(work), lambda: None)


async def shielded(task: asyncio.Task[T], cancelled: Callable[[], None]) -> T:
    """Wait for a task, whose shield is awaited again after every cancellation; `cancelled` is called at each."""
    while True:
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            raise_if_evicted()
            if task.done():
                raise
            cancelled()


def type_of_failure(error: BaseException) -> str | None:
    """The type that an activity gave its failure, or None when it did not give one."""
    cause = error.cause if isinstance(error, ActivityError) else error
    return cause.type if isinstance(cause, ApplicationError) else None


def deepest(error: BaseException) -> str:
    """The words of the first error in a chain of causes: mostly the provider's own."""
    while error.__cause__ is not None:
        error = error.__cause__
    return (error.message if isinstance(error, FailureError) else str(error)) or type(error).__name__
