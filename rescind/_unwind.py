"""The unwinding: settle what is not known, undo what stands, last first, and report."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import NoReturn

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

from rescind import _schedule
from rescind._errors import RollbackIncomplete, SagaTakenOver, SagaUndone, StepFailed, UndoIncomplete
from rescind._failures import TAKEN_OVER
from rescind._record import Outcome, Record, SagaReport, is_clean
from rescind._stack import Stack
from rescind._states import RecordState
from rescind._steps import settle
from rescind._survey import close_children, survey, survey_part
from rescind._undo_elsewhere import undo_elsewhere
from rescind._wire import ReportOrder, UndoOrder
from rescind._workflow import deepest, type_of_failure
from rescind.reconciliation._open import open_reconciliation

_NAMED = 10
"""Steps at most that a failure's message names."""


async def unwind(stack: Stack, error: BaseException) -> SagaReport:
    """Take back everything that stands, newest first, and hand the report to the ledger.

    It first waits for steps that are still running, since what they do has to be known. A step
    that can't be undone is left to a person, and the unwinding goes on with the next; where any is left, a
    reconciliation is opened, which outlives the workflow. Where more stands than one run undoes, it waits
    for another workflow that does.

    Raises:
        SagaTakenOver: Somebody else undoes this saga now.
    """
    stack.show("being undone")
    async with stack.undoing:
        await land(stack, stack.records)
        order = stack.survey_order()  # while the child sagas still count
        close_children(stack.records)
        if await survey(stack, order):
            await take_back(
                stack, [each for each in stack.newest_first() if each.state is RecordState.INTENDED]
            )
            await undo_elsewhere(stack, error)
        else:
            await take_back(stack, stack.newest_first())
        return await conclude(stack, error)


async def unwind_child(stack: Stack, error: BaseException) -> SagaReport:
    """Take back a child saga's own part, newest first, while its root stays open.

    Raises:
        SagaTakenOver: Somebody else undoes the root now.
    """
    under = stack.under
    assert under is not None  # noqa: S101  (the caller has looked)
    stack.show("being undone")
    async with stack.undoing:
        await land(stack, stack.records)
        close_children(stack.records)
        standing = {record.step: record for record in await survey_part(stack, under.step, under.seq)}
        for record in stack.records:
            if known := standing.pop(record.step, None):
                record.state, record.changed = known.state, known.changed
            elif record.stands:  # a no-op, which the survey has undone
                record.state = RecordState.UNDONE
        stack.records += standing.values()
        await take_back(stack, stack.newest_first())
        report = _reported(stack, error)
        stack.show(_HEADLINES[report.outcome])
        return report


async def take_back(stack: Stack, records: Iterable[Record]) -> None:
    """Settle and undo records of a stack, in this order; one that can't be undone is left to a person.

    Raises:
        SagaTakenOver: Somebody else undoes this saga now.
    """
    for record in records:
        if not is_clean(record):
            await take_back_one(stack, record, whole=stack.whole)


def raise_outcome(report: SagaReport, error: BaseException, raised: BaseException | None) -> None:
    """Raise what the workflow ends with; return when the original cancellation is to go on.

    Args:
        report: The saga's report.
        error: The error for which it was undone.
        raised: What left the block: the same, a group around it, or None when a commit was missing.
    """
    if report.outcome is Outcome.CANCELED:
        if raised is not None and is_cancelled_exception(raised):
            return
        raise asyncio.CancelledError from error
    _raise_failure(report, error)


def _raise_failure(report: SagaReport, error: BaseException) -> NoReturn:
    words = f"{report.failed_at} failed: {report.error}" if report.failed_at else f"{report.error}"
    if report.outcome is Outcome.INCOMPLETE:
        raise UndoIncomplete(
            f"{words}. The undo is NOT complete, a person is needed for: {_left_in_words(report)}. The rest is undone",
            report,
        ) from error
    raise SagaUndone(f"{words}. {_undone_in_words(report.tally.undone)}", report) from error


def _left_in_words(report: SagaReport) -> str:
    named = report.left[:_NAMED]
    words = [f"{step.summary} is {step.state.value}: {step.error or 'no reason known'}" for step in named]
    if more := report.tally.standing - len(named):
        words.append(f"and {more} more, which are in the ledger")
    return "; ".join(words)


def _undone_in_words(steps: int) -> str:
    if not steps:
        return "Nothing had been changed"
    return (
        "1 step had taken effect and is undone"
        if steps == 1
        else f"{steps} steps had taken effect and are undone"
    )


async def land(stack: Stack, records: Sequence[Record]) -> None:
    """Ask the running steps to stop, and wait until each is known to have ended one way or another."""
    for record in records:
        if record.running:
            stack.in_flight.cancel(record.step)
    await workflow.wait_condition(lambda: not any(record.running for record in records))


async def take_back_one(stack: Stack, record: Record, *, whole: bool) -> None:
    """Settle and undo one record.

    Raises:
        SagaTakenOver: Somebody else undoes this saga now.
    """
    try:
        if record.state is RecordState.INTENDED:
            await settle(stack, record)
        if _to_undo(record, whole=whole):
            await _undo(stack, record, UndoOrder(**stack.order(record).model_dump(), whole=whole))
    except ActivityError as error:
        if type_of_failure(error) == TAKEN_OVER:
            raise SagaTakenOver(deepest(error)) from error
        stack.turn(record, _left_in(record), error=deepest(error))
    _log(record)


def _to_undo(record: Record, *, whole: bool) -> bool:
    if record.state is RecordState.STUCK:
        return not record.undoings  # its tries are used up, or it met a conflict: a person has to look
    if record.state not in (RecordState.APPLIED, RecordState.UNDOING):
        return False
    no_op_to_ask_about = not whole and record.reversal is not None and record.reversal.compensate is not None
    return not is_clean(record) or no_op_to_ask_about


async def _undo(stack: Stack, record: Record, order: UndoOrder) -> None:
    if record.reversal is None or record.reversal.compensate is None:
        await _schedule.give_up(record, order, stack.task_queue)
        stack.turn(record, RecordState.STUCK, error=_why_not(record))
        return
    record.undoings += 1
    stack.turn(record, RecordState.UNDOING)
    record.restoration = await _schedule.undo(record, record.reversal, order, stack.task_queue)
    stack.turn(record, RecordState.UNDONE)


def _why_not(record: Record) -> str:
    if record.reversal is None:
        return f"no worker of its task queue knows the tool {record.tool!r}"
    return "it is a point of no return and can't be undone"


def _left_in(record: Record) -> RecordState:
    """A step whose undo failed for good is stuck; one whose settling did is in doubt."""
    return RecordState.IN_DOUBT if record.state is RecordState.INTENDED else RecordState.STUCK


def _log(record: Record) -> None:
    """One line a compensation: WARNING when it is done, ERROR when it is not."""
    if not is_clean(record):
        workflow.logger.error(
            "%s is %s, a person is needed: %s", record.step, record.state.value, record.error
        )
    elif record.restoration is not None:
        workflow.logger.warning("%s is undone, restoration %s", record.step, record.restoration.grade.value)


async def conclude(stack: Stack, error: BaseException) -> SagaReport:
    """Hand the report of an unwinding to the ledger, and open a reconciliation where anything is left.

    Raises:
        SagaTakenOver: Somebody else undoes this saga now.
    """
    report = _reported(stack, error)
    outcome = report.outcome
    stack.show(_HEADLINES[outcome])
    order = ReportOrder(
        saga=stack.saga,
        epoch=stack.epoch,
        report=report.model_dump(mode="json"),
        table=stack.table(_HEADLINES[outcome]),
    )
    try:
        await _schedule.report(order, _HEADLINES[outcome], stack.task_queue)
    except ActivityError as refused:
        raise SagaTakenOver(deepest(refused)) from refused
    if outcome is Outcome.INCOMPLETE:
        await open_reconciliation(stack.saga, task_queue=stack.task_queue, reference=stack.reference)
    return report


def _reported(stack: Stack, error: BaseException) -> SagaReport:
    words = "cancelled" if is_cancelled_exception(error) else deepest(error)
    outcome = _outcome(stack, error)
    return stack.report(outcome, failed_at=_failed_at(error), error=words, unwound=True)


def _failed_at(error: BaseException) -> str | None:
    """The step that failed: the error's own, or that of the failure for which a part was to be taken back."""
    if isinstance(error, RollbackIncomplete):
        error = error.__cause__ or error
    return error.step if isinstance(error, StepFailed) else None


def _outcome(stack: Stack, error: BaseException) -> Outcome:
    counts = stack.counts()
    if counts.standing:
        return Outcome.INCOMPLETE
    cancelled = workflow.cancellation_reason() is not None and is_cancelled_exception(error)
    return Outcome.CANCELED if cancelled and not counts.residue else Outcome.UNDONE


_HEADLINES = {
    Outcome.UNDONE: "undone",
    Outcome.CANCELED: "cancelled and undone",
    Outcome.INCOMPLETE: "NOT clean: a person is needed",
}
