"""Which steps a workflow has called for and what its history shows of their ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from pydantic import ValidationError
from temporalio.api.common.v1 import Payload
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client

from rescind._states import GONE
from rescind._wire import FailedAttempt, ForwardOrder, StepAnswer

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Called:
    """A step that a workflow has scheduled, and the seconds that an attempt of it may take."""

    order: ForwardOrder
    start_to_close: float


async def called_for(client: Client, workflow_id: str, run_id: str) -> list[Called]:
    """The steps of one run that may stand, as far as its history tells.

    Left out are those that are proven there to have done nothing, and those that were undone.

    Raises:
        temporalio.service.RPCError: The server does not answer.
    """
    history = _History(client)
    async for event in client.get_workflow_handle(workflow_id, run_id=run_id).fetch_history_events():
        await history.read(event)
    return list(history.called.values())


class _History:
    """What one run's events have told so far."""

    def __init__(self, client: Client) -> None:
        self.called: dict[str, Called] = {}
        self._client = client
        self._ids: dict[int, str] = {}

    async def read(self, event: HistoryEvent) -> None:
        """Take one more event in."""
        match event.WhichOneof("attributes"):
            case "activity_task_scheduled_event_attributes":
                await self._scheduled(event)
            case "activity_task_completed_event_attributes":
                done = event.activity_task_completed_event_attributes
                await self._completed(self._ids[done.scheduled_event_id], done.result.payloads)
            case "activity_task_failed_event_attributes":
                failed = event.activity_task_failed_event_attributes
                details = failed.failure.application_failure_info.details.payloads
                await self._failed(self._ids[failed.scheduled_event_id], details)
            case _:
                return

    async def _scheduled(self, event: HistoryEvent) -> None:
        scheduled = event.activity_task_scheduled_event_attributes
        self._ids[event.event_id] = scheduled.activity_id
        order = await self._decoded(scheduled.input.payloads, ForwardOrder)
        if order is not None and order.seq:  # a read-only step has no place in the order, and no record
            limit = scheduled.start_to_close_timeout.ToTimedelta().total_seconds()
            self.called[scheduled.activity_id] = Called(order, limit)

    async def _completed(self, activity_id: str, result: Sequence[Payload]) -> None:
        step, _, what = activity_id.rpartition("/")
        if what.startswith("undo"):
            self.called.pop(step, None)
        elif what.startswith("settle"):
            answer = await self._decoded(result, StepAnswer)
            if answer is not None and answer.state in GONE:
                self.called.pop(step, None)

    async def _failed(self, activity_id: str, details: Sequence[Payload]) -> None:
        left = await self._decoded(details, FailedAttempt)
        if left is not None and left.state in GONE:
            self.called.pop(activity_id, None)

    async def _decoded(self, payloads: Sequence[Payload], kind: type[T]) -> T | None:
        """The one value of this kind; None where it is none."""
        if len(payloads) != 1:
            return None
        try:
            value: T = (await self._client.data_converter.decode(payloads, [kind]))[0]
        except (ValidationError, RuntimeError):
            return None
        return value
