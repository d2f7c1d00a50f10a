"""A long unwinding: another workflow takes it back page by page, while the saga's own workflow waits for it."""

from __future__ import annotations

from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ApplicationError, ChildWorkflowError, WorkflowAlreadyStartedError

from rescind._counts import Counts
from rescind._errors import SagaTakenOver
from rescind._failures import TAKEN_OVER
from rescind._listing import counted
from rescind._operations_queue import OPERATIONS_QUEUE
from rescind._record import Record, SagaReport, StepReport
from rescind._stack import Stack
from rescind._states import RecordState
from rescind._workflow import deepest
from rescind.recovery._orders import UNDO_SAGA, UndoSagaOrder, undo_id

_TRIES = 3
"""How often the other workflow is started, where somebody has ended it; each goes on where the last one was."""

_BEFORE_ANOTHER = timedelta(seconds=10)

_NOT_UNDONE = (
    "the workflow that undoes it was ended from outside; the sweeper starts it again, or `starter.py undo`"
)


async def undo_elsewhere(stack: Stack, error: BaseException) -> None:
    """Have everything that stands undone by `rescind.UndoSaga`, a child workflow that continues as new.

    It works in this workflow's epoch and on the ledger alone. Afterwards the stack has the records that are worth
    listing, and the counts of all others; where it could not be done, everything counts as standing.

    Raises:
        SagaTakenOver: Somebody else undoes this saga now.
    """
    stack.show(f"being undone by the workflow {undo_id(stack.saga)}")
    for tried in range(1, _TRIES + 1):
        report = await _undone_by_child(stack, error)
        if report is not None:
            _take_in(stack, report)
            return
        if tried < _TRIES:
            await workflow.sleep(_BEFORE_ANOTHER)
    _take_as_standing(stack)


async def _undone_by_child(stack: Stack, error: BaseException) -> SagaReport | None:
    """The report of what was undone, or None where the child has ended without one."""
    order = UndoSagaOrder(
        saga=stack.saga,
        who="the saga's own workflow",
        why=deepest(error)[:200],
        task_queue=stack.task_queue,
        epoch=stack.epoch,
    )
    try:
        done: SagaReport = await workflow.execute_child_workflow(
            UNDO_SAGA,
            order,
            id=undo_id(stack.saga),
            task_queue=OPERATIONS_QUEUE,
            result_type=SagaReport,
            static_summary=f"take back what {workflow.info().workflow_id} did, last first"[:200],
        )
    except WorkflowAlreadyStartedError:
        return None
    except ChildWorkflowError as failed:
        return _told_by(failed)
    return done


def _told_by(failed: ChildWorkflowError) -> SagaReport | None:
    cause = failed.cause
    if isinstance(cause, ApplicationError) and cause.type == TAKEN_OVER:
        raise SagaTakenOver(deepest(failed)) from failed
    if isinstance(cause, ApplicationError) and cause.type == "UndoIncomplete":
        return SagaReport.model_validate(cause.details[0])
    workflow.logger.error("the undo in another workflow has ended without a report: %s", deepest(failed))
    return None


def _take_in(stack: Stack, report: SagaReport) -> None:
    """Make the report's steps the stack's records; those that this run has words for keep them."""
    known = {record.step: record for record in stack.records}
    told = {step.step for step in report.steps}
    not_told = [record for record in stack.records if record.step not in told and record.state in _UNTOLD]
    stack.records = [_record(known.get(step.step), step) for step in report.steps] + not_told
    stack.beyond = report.tally - counted(stack.records)


def _record(record: Record | None, step: StepReport) -> Record:
    if record is None:
        record = Record(step=step.step, seq=(0,), tool=step.tool, summary=step.summary)
    record.state, record.changed, record.restoration = step.state, step.changed, step.restoration
    record.error = step.error or record.error
    return record


_UNTOLD = frozenset({RecordState.IN_DOUBT, RecordState.ABSENT})
"""What this run alone may know: a step that the ledger has lost, and one that was refused before it was begun."""


def _take_as_standing(stack: Stack) -> None:
    """Nobody has said what was undone; whatever this workflow knows to stand may still do so."""
    expected = stack.handed_on().changes()
    for record in stack.records:
        if record.step in expected:
            record.error = _NOT_UNDONE
    own = counted(stack.records)
    stack.beyond = Counts(steps=stack.earlier.steps, standing=len(expected)) - Counts(standing=own.standing)
