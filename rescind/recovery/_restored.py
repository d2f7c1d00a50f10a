"""Brings a ledger that was restored from an older backup back in step with Temporal, before effects start again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

from temporalio.client import Client, WorkflowExecutionStatus

from rescind._states import RecordState
from rescind.ledger import EffectAddress, Ledger
from rescind.recovery._called import Called, called_for
from rescind.recovery._fate import Fate, owner_of

_CLOCKS = timedelta(minutes=10)
"""By so much the clocks of Temporal and of the ledger differ at most."""

_WHY = "the ledger was restored from an older backup; it may have been called in the time that was lost"


async def mistrust_what_was_lost(client: Client, ledger: Ledger, namespace_id: str) -> dict[str, RecordState]:
    """Mistrust what a restored ledger says of the steps that workflows have called for, where it knows no end of them.

    Those are the steps of which it has no record, and those that it believes to be never called or proven empty: their
    attempts, and what became of them, were lost with the newer ledger. Looked at are the workflows that run, and those
    that closed since the ledger's newest saga began; what a completed one did is wanted and is left alone. Where a
    history shows that a step is proven to have done nothing, or was undone, the ledger is believed.

    It can be run again.

    Args:
        client: A client of the namespace, with the application's data converter.
        ledger: The restored ledger.
        namespace_id: The namespace's id.

    Returns:
        The keys with their states: `in_doubt`, for a person, or `intended`, to be settled like a call whose reply was
        lost.

    Raises:
        temporalio.service.RPCError: The server does not answer; what was mistrusted until then stays so.
        rescind.ledger.LedgerError: The ledger does not; the same holds.
    """
    mistrusted: dict[str, RecordState] = {}
    async for called in _called(client, await _last_known(ledger, namespace_id)):
        order = called.order
        at = EffectAddress(f"{namespace_id}/{order.saga}", order.epoch, order.key, order.seq)
        state = await ledger.mistrust(at, late=called.start_to_close, why=_WHY)
        if state is not None:
            mistrusted[order.key] = state
    return mistrusted


async def _last_known(ledger: Ledger, namespace_id: str) -> datetime:
    """A time before which nothing can be missing in the ledger, by Temporal's clock."""
    newest = await ledger.sagas(f"{namespace_id}/", limit=1)
    return newest[0].started - _CLOCKS if newest else datetime.fromtimestamp(0, UTC)


async def _called(client: Client, since: datetime) -> AsyncIterator[Called]:
    time = since.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    query = f"ExecutionStatus = 'Running' or (ExecutionStatus != 'Completed' and CloseTime >= '{time}')"
    async for run in client.list_workflows(query):
        steps = await called_for(client, run.id, run.run_id)  # all of one saga, as a workflow has no other
        running = run.status is WorkflowExecutionStatus.RUNNING
        if running or (steps and (await owner_of(client, steps[0].order.saga)).fate is not Fate.COMPLETED):
            for called in steps:
                yield called
