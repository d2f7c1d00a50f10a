"""One look at a running saga: what its worker says, or its history when no worker answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from temporalio.api.enums.v1 import PendingWorkflowTaskState
from temporalio.api.failure.v1 import Failure
from temporalio.client import WorkflowExecutionDescription, WorkflowHandle, WorkflowQueryFailedError
from temporalio.service import RPCError, RPCStatusCode

from rescind._record import SagaReport
from rescind.cli._history import report_from_history
from rescind.cli._server import RPC_LIMIT, Server, idle_queues
from rescind.saga import QUERY

QUERY_LIMIT = timedelta(seconds=3)
NOT_NOW = (RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.CANCELLED, RPCStatusCode.FAILED_PRECONDITION)


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen.

    Attributes:
        report: The steps so far.
        by_worker: Whether a worker has answered; otherwise the steps are those of the history.
        taken_up: Whether any worker has ever begun to work on the workflow.
        remarks: What is under way, by step: failed attempts and their errors.
        trouble: What keeps the saga from going on, for people; mostly None.
    """

    report: SagaReport
    by_worker: bool
    taken_up: bool
    remarks: Mapping[str, str] = field(default_factory=dict[str, str])
    trouble: str | None = None


async def look(server: Server, handle: WorkflowHandle[Any, Any], *, ask_worker: bool = True) -> Look:
    """Look at a saga; nothing is written to its history.

    Args:
        server: The server.
        handle: The workflow.
        ask_worker: Ask a worker first, for three seconds at most.

    Raises:
        temporalio.service.RPCError: The server does not answer.
    """
    described = await handle.describe(rpc_timeout=RPC_LIMIT)
    taken_up = _taken_up(described)
    report, answered = await _told_by_worker(handle) if ask_worker and taken_up else (None, False)
    trouble = None if answered else await _trouble(server, described)
    return Look(
        report=report or await told_by_history(server, handle, described),
        by_worker=answered,
        taken_up=taken_up,
        remarks=_remarks(described),
        trouble=trouble,
    )


async def _told_by_worker(handle: WorkflowHandle[Any, Any]) -> tuple[SagaReport | None, bool]:
    """The report, and whether a worker has answered at all."""
    try:
        return await handle.query(QUERY, result_type=SagaReport, rpc_timeout=QUERY_LIMIT), True
    except WorkflowQueryFailedError:
        return None, True  # it has not come to its saga yet
    except RPCError as error:
        if error.status in NOT_NOW:
            return None, False
        raise


async def told_by_history(
    server: Server, handle: WorkflowHandle[Any, Any], described: WorkflowExecutionDescription
) -> SagaReport:
    """What the history tells of a saga's steps."""
    first_run = described.raw_description.workflow_execution_info.first_run_id
    saga = f"{described.id}/{first_run or described.run_id}"
    return await report_from_history(handle, server.client.data_converter, saga)


def _taken_up(described: WorkflowExecutionDescription) -> bool:
    pending = described.raw_description.pending_workflow_task
    waiting = pending.state == PendingWorkflowTaskState.PENDING_WORKFLOW_TASK_STATE_SCHEDULED
    return described.history_length > 2 or not (waiting and pending.attempt <= 1)


async def _trouble(server: Server, described: WorkflowExecutionDescription) -> str | None:
    """Why no worker answers, so far as the server knows."""
    pending = described.raw_description.pending_workflow_task
    if pending.attempt > 1:
        return (
            f"the workflow's own code does not go on (attempt {pending.attempt}): a bug, or a worker of another "
            "version. Nothing is undone by it; mend the code and the saga goes on"
        )
    if idle := await idle_queues(server.client, described.task_queue):
        return f"no worker polls the task queue {described.task_queue!r} for {' or '.join(idle)} tasks"
    return f"no worker of the task queue {described.task_queue!r} answers"


def _remarks(described: WorkflowExecutionDescription) -> dict[str, str]:
    pending = described.raw_description.pending_activities
    return {
        activity.activity_id.partition("/")[0]: f"try {activity.attempt}: {_deepest(activity.last_failure)}"
        for activity in pending
        if activity.attempt > 1 and activity.HasField("last_failure")
    }


def _deepest(failure: Failure) -> str:
    while failure.HasField("cause"):
        failure = failure.cause
    return failure.message
