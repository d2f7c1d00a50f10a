"""Starts the undo of a saga."""

from __future__ import annotations

from temporalio.client import Client, WorkflowHandle
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy

from rescind._operations_queue import OPERATIONS_QUEUE
from rescind._record import SagaReport
from rescind.recovery._orders import UNDO_SAGA, UndoSagaOrder, undo_id


async def start_undo(
    client: Client, order: UndoSagaOrder, *, join: bool
) -> WorkflowHandle[object, SagaReport]:
    """Start the workflow that undoes a saga; one at a time runs for each.

    Args:
        client: A client of the saga's namespace.
        order: What is to be undone.
        join: Answer with the one that runs already, whatever it was asked for.

    Raises:
        temporalio.exceptions.WorkflowAlreadyStartedError: One runs, and `join` is not set.
        temporalio.service.RPCError: The server does not answer.
    """
    part = f", {len(order.steps)} steps of it" if order.steps is not None else ""
    conflict = WorkflowIDConflictPolicy.USE_EXISTING if join else WorkflowIDConflictPolicy.FAIL
    return await client.start_workflow(
        UNDO_SAGA,
        order,
        id=undo_id(order.saga),
        task_queue=OPERATIONS_QUEUE,
        result_type=SagaReport,
        id_conflict_policy=conflict,
        id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
        static_summary=f"undo {order.saga.rpartition('/')[0]}{part}"[:200],
        static_details=f"{order.who}: {order.why}",
    )
