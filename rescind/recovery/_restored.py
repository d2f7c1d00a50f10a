"""Brings a ledger that was restored from an older backup back in step with Temporal, before effects start again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from pydantic import ValidationError
from temporalio.api.common.v1 import Payload
from temporalio.client import Client, WorkflowHandle

from rescind._states import Outcome
from rescind._wire import ForwardOrder
from rescind.ledger import EffectAddress, Ledger

_ENDED = (
    "activity_task_completed_event_attributes",
    "activity_task_failed_event_attributes",
    "activity_task_timed_out_event_attributes",
    "activity_task_canceled_event_attributes",
)


@dataclass(frozen=True, slots=True)
class _Scheduled:
    order: ForwardOrder
    start_to_close: float


async def put_in_doubt(client: Client, ledger: Ledger, namespace_id: str) -> list[str]:
    """Put every step in doubt that a running workflow waits for and that the ledger does not know.

    It may have been called: its attempts were lost with the newer ledger, so that the next one must not call again
    unseen. It can be run again. Answers with their keys.

    Args:
        client: A client of the namespace, with the application's data converter.
        ledger: The restored ledger.
        namespace_id: The namespace's id.

    Raises:
        temporalio.service.RPCError: The server does not answer; what was put in doubt until then stays so.
        rescind.ledger.LedgerError: The ledger does not; the same holds.
    """
    doubtful: list[str] = []
    async for run in client.list_workflows("ExecutionStatus = 'Running'"):
        handle = client.get_workflow_handle(run.id, run_id=run.run_id)
        waits_for = [each async for each in _awaited(client, handle)]
        lost = set(await ledger.missing(each.order.key for each in waits_for))
        for each in waits_for:
            if each.order.key in lost:
                order = each.order
                at = EffectAddress(f"{namespace_id}/{order.saga}", order.epoch, order.key, order.seq)
                why = "it was under way when the ledger was lost"
                await ledger.finish(at, 1, Outcome.UNKNOWN, late=each.start_to_close, error=why)
                doubtful.append(order.key)
    return doubtful


async def _awaited(client: Client, handle: WorkflowHandle[object, object]) -> AsyncIterator[_Scheduled]:
    """The steps that a workflow has scheduled and that have not ended."""
    open_: dict[int, _Scheduled] = {}
    async for event in handle.fetch_history_events():
        kind = event.WhichOneof("attributes")
        if kind == "activity_task_scheduled_event_attributes":
            scheduled = event.activity_task_scheduled_event_attributes
            order = await _order(client, scheduled.input.payloads)
            if order is not None:
                limit = scheduled.start_to_close_timeout.ToTimedelta().total_seconds()
                open_[event.event_id] = _Scheduled(order, limit)
        elif kind in _ENDED:
            open_.pop(getattr(event, kind).scheduled_event_id, None)
    for each in open_.values():
        yield each


async def _order(client: Client, payloads: Sequence[Payload]) -> ForwardOrder | None:
    """The order of a step that has a record; None for every other activity."""
    if len(payloads) != 1:
        return None
    try:
        order: ForwardOrder = (await client.data_converter.decode(payloads, [ForwardOrder]))[0]
    except (ValidationError, RuntimeError):
        return None
    return order if order.seq else None
