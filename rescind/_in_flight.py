"""What a saga waits for; cancellations are passed on in the order of the steps."""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar

from rescind._workflow import shielded

T = TypeVar("T")


class InFlight:
    """The activities and the workflows of child sagas that are waited for, by step, in the order of their start.

    A task group cancels its tasks in the order of a set, which is another one at each replay, and Temporal compares
    the order of what a workflow asks for. So a cancellation waits here until all of its moment have come.
    """

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[Any]] = {}
        self._cancelled: set[str] = set()

    async def answer(self, step: str, task: asyncio.Task[T]) -> T:
        """Wait for what a step waits for, as `await task` does."""
        self._tasks[step] = task
        return await shielded(task, lambda: self._cancel_soon(step))

    def cancel(self, step: str) -> None:
        """Ask what this step waits for to stop; it is waited for all the same."""
        self._tasks[step].cancel()

    def _cancel_soon(self, step: str) -> None:
        if not self._cancelled:
            asyncio.get_running_loop().call_soon(self._cancel_all)
        self._cancelled.add(step)

    def _cancel_all(self) -> None:
        for step, task in self._tasks.items():
            if step in self._cancelled:
                task.cancel()
        self._cancelled.clear()
