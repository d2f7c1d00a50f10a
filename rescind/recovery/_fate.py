"""What Temporal says of the workflow that had a saga."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from temporalio.client import Client, WorkflowExecutionDescription, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

_LIMIT = timedelta(seconds=5)
_RUNS = 50
"""Runs of one workflow id that are looked through for those of a saga, when another saga has the id by now."""


class Fate(StrEnum):
    """What became of a saga's workflow; CLOSED is any way but COMPLETED, GONE is one that Temporal does not know."""

    RUNNING = "running"
    COMPLETED = "completed"
    CLOSED = "closed"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Owner:
    """A saga's workflow.

    Attributes:
        fate: What became of it.
        words: How Temporal calls that.
        task_queue: Where its workers poll; None if it is gone.
        stalled: How often its present workflow task has failed: a bug, which undoes nothing.
    """

    fate: Fate
    words: str
    task_queue: str | None = None
    stalled: int = 0


async def owner_of(client: Client, saga: str) -> Owner:
    """Ask Temporal for the last run of a saga's workflow, be it reset or continued as new.

    Args:
        client: A client of the saga's namespace.
        saga: Workflow id and first run id, joined by '/'.

    Raises:
        temporalio.service.RPCError: The server does not answer.
    """
    workflow_id, _, first_run = saga.rpartition("/")
    last = await described(client, workflow_id)
    if last is not None and first_run_of(last) != first_run:
        last = await _last_of(client, workflow_id, first_run)
    if last is None:
        return Owner(Fate.GONE, "not known to Temporal any more")
    return _owner(last)


def first_run_of(run: WorkflowExecutionDescription) -> str:
    """The id of the first run in the chain of a run."""
    return run.raw_description.workflow_execution_info.first_run_id or run.run_id


async def described(
    client: Client, workflow_id: str, run_id: str | None = None
) -> WorkflowExecutionDescription | None:
    """A workflow's last run, or the one of this id; None if there is none."""
    try:
        return await client.get_workflow_handle(workflow_id, run_id=run_id).describe(rpc_timeout=_LIMIT)
    except RPCError as error:
        if error.status in (RPCStatusCode.NOT_FOUND, RPCStatusCode.INVALID_ARGUMENT):
            return None
        raise


async def _last_of(client: Client, workflow_id: str, first_run: str) -> WorkflowExecutionDescription | None:
    """The last run of a chain, where the workflow's id belongs to a later chain: its runs are all closed."""
    quoted = workflow_id.replace("\\", "\\\\").replace("'", "\\'")
    found = client.list_workflows(f"WorkflowId = '{quoted}'", limit=_RUNS)
    async for run in found:  # newest first
        one = await described(client, workflow_id, run.run_id)
        if one is not None and first_run_of(one) == first_run:
            return one
    return await described(client, workflow_id, first_run)


def _owner(run: WorkflowExecutionDescription) -> Owner:
    status = run.status or WorkflowExecutionStatus.RUNNING
    fate = {
        WorkflowExecutionStatus.RUNNING: Fate.RUNNING,
        WorkflowExecutionStatus.CONTINUED_AS_NEW: Fate.RUNNING,  # its next run is there in a moment
        WorkflowExecutionStatus.COMPLETED: Fate.COMPLETED,
    }.get(status, Fate.CLOSED)
    failures = max(0, run.raw_description.pending_workflow_task.attempt - 1)
    return Owner(fate, status.name.lower().replace("_", " "), run.task_queue, failures)
