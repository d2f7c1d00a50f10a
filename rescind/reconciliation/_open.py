"""How a reconciliation is opened: by the workflow that could not undo everything, or by a client."""

from __future__ import annotations

from temporalio import workflow
from temporalio.client import Client, WorkflowHandle
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import FailureError, WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode
from temporalio.workflow import ChildWorkflowCancellationType, ParentClosePolicy

from rescind._operations_queue import OPERATIONS_QUEUE, operation_id
from rescind.reconciliation._case import Reconciled, ReconcileOrder

RECONCILE = "rescind.Reconcile"
LOOK_AGAIN = "look_again"
_TRIES = 3


def reconciliation_id(saga: str) -> str:
    """The id of a saga's reconciliation.

    Args:
        saga: Workflow id and first run id, joined by '/'.
    """
    return operation_id("rescind-reconcile", saga)


async def open_reconciliation(saga: str, *, task_queue: str | None, reference: str | None) -> None:
    """Open a saga's reconciliation from a workflow, or tell the open one to look again.

    It does not wait for its end, and never fails its caller: what is not opened here, the sweeper opens.

    Args:
        saga: Workflow id and first run id, joined by '/'.
        task_queue: The queue of the workers that know the saga's tools; None where that is not known.
        reference: What the business calls the case.
    """
    order = ReconcileOrder(saga=saga, task_queue=task_queue, reference=reference)
    for _ in range(_TRIES):
        try:
            await workflow.start_child_workflow(
                RECONCILE,
                order,
                id=reconciliation_id(saga),
                task_queue=OPERATIONS_QUEUE,
                parent_close_policy=ParentClosePolicy.ABANDON,
                cancellation_type=ChildWorkflowCancellationType.ABANDON,
                id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
                static_summary=summary(order),
                static_details=_details(saga),
            )
        except WorkflowAlreadyStartedError:
            if await _told_to_look(saga):
                return
        except FailureError as error:
            workflow.logger.error("the reconciliation of %s was not opened: %s", saga, error)
            return
        else:
            return


async def _told_to_look(saga: str) -> bool:
    """Whether the open reconciliation has heard; one that has just ended has not."""
    try:
        await workflow.get_external_workflow_handle(reconciliation_id(saga)).signal(LOOK_AGAIN)
    except FailureError:
        return False
    return True


async def ensure_reconciliation(
    client: Client, saga: str, *, reference: str | None = None
) -> WorkflowHandle[object, Reconciled]:
    """Open a saga's reconciliation from a client, or tell the open one to look again.

    Args:
        client: A client of the saga's namespace, with the plugin or with Pydantic's data converter.
        saga: Workflow id and first run id, joined by '/'.
        reference: What the business calls the case.

    Raises:
        temporalio.service.RPCError: The server does not answer.
    """
    order = ReconcileOrder(saga=saga, task_queue=await queue_of(client, saga), reference=reference)
    return await client.start_workflow(
        RECONCILE,
        order,
        id=reconciliation_id(saga),
        task_queue=OPERATIONS_QUEUE,
        result_type=Reconciled,
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
        start_signal=LOOK_AGAIN,
        static_summary=summary(order),
        static_details=_details(saga),
    )


async def queue_of(client: Client, saga: str) -> str | None:
    """The task queue of the workflow that had the saga; None where Temporal has forgotten it.

    Raises:
        temporalio.service.RPCError: The server does not answer.
    """
    workflow_id, _, run = saga.rpartition("/")
    try:
        described = await client.get_workflow_handle(workflow_id, run_id=run).describe()
    except RPCError as error:
        if error.status in (RPCStatusCode.NOT_FOUND, RPCStatusCode.INVALID_ARGUMENT):
            return None
        raise
    return described.task_queue


def summary(order: ReconcileOrder) -> str:
    """One line for the Web UI."""
    return f"{order.reference or order.saga.rpartition('/')[0]} needs a person"[:200]


def _details(saga: str) -> str:
    """What the Web UI says of it as long as no worker lives."""
    workflow_id, _, run = saga.rpartition("/")
    return (
        f"The saga of the workflow `{workflow_id}`, run `{run}`, could not be undone completely. The current details "
        "say what is open and what to do; the Updates retry, resolve, waive, confirm and absent take a person's word: "
        '`{"step": "...", "who": "...", "note": "..."}`.'
    )
