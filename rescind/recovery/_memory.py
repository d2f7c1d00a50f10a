"""What Temporal remembers of the ledger: how many looks of the sweeper it had counted."""

from __future__ import annotations

from collections.abc import Sequence

from temporalio.api.common.v1 import Payload, Payloads
from temporalio.client import Client, ScheduleActionExecutionStartWorkflow
from temporalio.service import RPCError, RPCStatusCode

from rescind.recovery._sweep import Swept
from rescind.recovery._sweeping import SWEEP_ID

_NOT_TOLD = (RPCStatusCode.NOT_FOUND, RPCStatusCode.PERMISSION_DENIED, RPCStatusCode.UNIMPLEMENTED)


async def remembered(client: Client) -> int | None:
    """The count after the last look that went well; None where the server has or tells none.

    Raises:
        temporalio.service.RPCError: The server does not answer.
    """
    try:
        recent = (await client.get_schedule_handle(SWEEP_ID).describe()).info.recent_actions
        if not recent or not isinstance(recent[-1].action, ScheduleActionExecutionStartWorkflow):
            return None
        return await _carried(client, recent[-1].action)
    except RPCError as error:
        if error.status in _NOT_TOLD:
            return None
        raise


async def _carried(client: Client, look: ScheduleActionExecutionStartWorkflow) -> int | None:
    """The count in the result of a look, or else in what it was handed by the last one that went well."""
    count: int | None = None
    handle = client.get_workflow_handle(look.workflow_id, run_id=look.first_execution_run_id)
    async for event in handle.fetch_history_events():
        match event.WhichOneof("attributes"):
            case "workflow_execution_started_event_attributes":
                told = event.workflow_execution_started_event_attributes.last_completion_result
            case "workflow_execution_completed_event_attributes":
                told = event.workflow_execution_completed_event_attributes.result
            case _:
                continue
        count = await _read(client, told) or count
    return count


async def _read(client: Client, told: Payloads) -> int | None:
    payloads: Sequence[Payload] = told.payloads
    if not payloads:
        return None
    swept: Swept = (await client.data_converter.decode(payloads[:1], [Swept]))[0]
    return swept.looks
