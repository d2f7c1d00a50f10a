"""What stands of a saga when its unwinding begins: the stack, set right by what the ledger knows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from temporalio.exceptions import ActivityError

from rescind import _schedule
from rescind._carried import SurveyOrder
from rescind._counts import Counts
from rescind._errors import SagaTakenOver
from rescind._record import Record
from rescind._stack import Stack
from rescind._states import RecordState
from rescind._wire import Orphan, PartOrder
from rescind._workflow import deepest


async def survey(stack: Stack, order: SurveyOrder) -> bool:
    """Open the unwinding in the ledger, and put what only the ledger knows of on the stack.

    Returns:
        True when more stands than one run undoes; the stack then has only its own records.

    Raises:
        SagaTakenOver: Somebody else undoes this saga now.
    """
    try:
        answer = await _schedule.open_unwind(order, stack.task_queue)
    except ActivityError as error:
        raise SagaTakenOver(deepest(error)) from error
    known = {record.step: record for record in stack.records}
    for step in answer.lost:
        _miss(stack, known.get(step), step)
    if not answer.more:
        adopt(stack, answer.standing)
    return answer.more


async def survey_part(stack: Stack, step: str, place: tuple[int, ...]) -> list[Record]:
    """The records of all that stands of a child saga, its own children's included, as the ledger knows it.

    Raises:
        SagaTakenOver: Somebody else works on this saga now.
    """
    order = PartOrder(saga=stack.saga, epoch=stack.epoch, place=place)
    try:
        answer = await _schedule.open_part(order, step, stack.task_queue)
    except ActivityError as error:
        raise SagaTakenOver(deepest(error)) from error
    return [_adopted(orphan, f"of {step}") for orphan in answer.standing]


def adopt(stack: Stack, standing: Sequence[Orphan]) -> None:
    """Put all that stands on the stack, as the ledger knows it."""
    known = {record.step: record for record in stack.records}
    handed_on = set(stack.earlier.standing())
    of_children = {f"{step}/{each}" for step, part in stack.parts.items() for each in part.standing()}
    for orphan in standing:
        if record := known.get(orphan.step):
            record.state, record.changed = orphan.state, orphan.changed  # the ledger has heard every report
        else:
            known_of = orphan.step in handed_on or orphan.step in of_children
            origin = "of an earlier run or a child saga" if known_of else "known to the ledger only"
            stack.records.append(_adopted(orphan, origin))
    steps = {orphan.step for orphan in standing}
    stack.beyond = Counts(steps=stack.earlier.steps) - Counts(steps=len(handed_on & steps))
    for record in known.values():
        if record.state is RecordState.APPLIED and not record.changed and record.step not in steps:
            record.state = RecordState.UNDONE


def close_children(records: Iterable[Record]) -> None:
    """Count child sagas for nothing by themselves: what is left of them stands as steps of their own."""
    for record in records:
        if record.is_saga:
            record.state, record.changed = RecordState.UNDONE, False


def _miss(stack: Stack, record: Record | None, step: str) -> None:
    """Put a step in doubt that was done, and of which the ledger knows nothing: without a receipt nobody undoes it."""
    if record is None:
        record = Record(step=step, seq=(0,), tool="", summary=f"{step} (an earlier run)")
        stack.records.append(record)
    record.state = RecordState.IN_DOUBT
    record.error = (
        "it was done, and the ledger has no record of it: was the ledger restored from an older copy?"
    )


def _adopted(orphan: Orphan, origin: str) -> Record:
    """The record of an effect of an earlier run, or of one that ran other code before a reset."""
    return Record(
        step=orphan.step,
        seq=orphan.seq,
        tool=orphan.tool,
        summary=f"{orphan.tool} ({origin})",
        state=orphan.state,
        changed=orphan.changed,
        reversal=orphan.reversal,
        error=None if orphan.reversal else f"no worker knows the tool {orphan.tool}",
    )
