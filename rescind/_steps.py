"""One step of a saga: schedule it, and settle it when its answer does not say what happened."""

from __future__ import annotations

import asyncio
from typing import Any, NoReturn

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, is_cancelled_exception

from rescind import _schedule
from rescind._calls import Request
from rescind._catalogue import AnyTool
from rescind._errors import SagaTakenOver, StepFailed
from rescind._failures import TAKEN_OVER
from rescind._record import Record
from rescind._recorded import is_short
from rescind._reversal import NOBODYS
from rescind._stack import Stack
from rescind._states import GONE, RecordState
from rescind._wire import ForwardOrder, StepAnswer
from rescind._workflow import deepest, type_of_failure


def raise_if_cancelled() -> None:
    """Raise a cancellation that the SDK dropped because the activity succeeded all the same.

    It is the workflow's, or that of the calling task: by a time limit, or by a task group in which another has failed.
    """
    if workflow.cancellation_reason() is not None:
        raise asyncio.CancelledError(workflow.cancellation_reason())
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


async def take_effect(
    stack: Stack, tool: AnyTool, record: Record, *, approval: str | None, asked: bool
) -> None:
    """Run a step's forward activity and turn its record by what is known afterwards.

    Raises:
        StepFailed: It did not succeed; the record is absent or in doubt, or its result can't be used.
        SagaTakenOver: The ledger says that this run may not go on.
        asyncio.CancelledError: It was cancelled, and has settled.
    """
    order = ForwardOrder(
        **stack.order(record).model_dump(), request=record.request, approval=approval, asked=asked
    )
    handle = _schedule.forward(tool, record, order)
    try:
        answer = await stack.in_flight.answer(record.step, handle)
    except ActivityError as error:
        await _failed(stack, record, error)
    else:
        _applied(stack, record, answer)


async def settle(stack: Stack, record: Record) -> StepAnswer:
    """Settle a record that is `intended`, and turn it by the answer."""
    record.settlings += 1
    reversal, order = record.reversal or NOBODYS, stack.order(record)
    handle = _schedule.settle(record, reversal, order, record.settlings, stack.task_queue)
    answer = await stack.in_flight.answer(f"{record.step}/settle", handle)
    if answer.state is RecordState.APPLIED:
        _applied(stack, record, answer)
    else:
        stack.turn(record, answer.state, error=answer.why)
    return answer


async def _failed(stack: Stack, record: Record, error: ActivityError) -> None:
    """Find out what a failed activity leaves behind; return only when the step has succeeded after all."""
    words = deepest(error)
    record.error = words
    if type_of_failure(error) == TAKEN_OVER:
        raise SagaTakenOver(words) from error
    if _state_left(error) in GONE:
        stack.turn(record, RecordState.ABSENT, error=words)
        _raise(record, error)
    answer = await _settled(stack, record, error)
    record.error = words if answer.why is None else f"{words}; {answer.why}"
    if answer.state is not RecordState.APPLIED or answer.result is None or _broke_contract(error):
        stack.show("running")
        _raise(record, error)
    record.error = None


async def _settled(stack: Stack, record: Record, error: ActivityError) -> StepAnswer:
    try:
        return await settle(stack, record)
    except ActivityError as unsettled:
        if type_of_failure(unsettled) == TAKEN_OVER:
            raise SagaTakenOver(deepest(unsettled)) from unsettled
        _raise(record, error)


def _raise(record: Record, error: ActivityError) -> NoReturn:
    if is_cancelled_exception(error):
        raise asyncio.CancelledError from error
    known = {
        RecordState.ABSENT: "it is proven to have done nothing",
        RecordState.APPLIED: "it has taken effect, and is undone with the rest",
        RecordState.IN_DOUBT: "nobody can tell whether it took effect",
    }.get(record.state, "it is not known yet whether it took effect")
    raise StepFailed(
        f"{record.step} failed: {record.error} ({known})",
        step=record.step,
        absent=record.state is RecordState.ABSENT,
    ) from error


def _applied(stack: Stack, record: Record, answer: StepAnswer) -> None:
    record.result, record.changed, record.recovered = answer.result, answer.changed, answer.recovered
    stack.turn(record, RecordState.APPLIED)


def _state_left(error: ActivityError) -> RecordState | None:
    details: Any = error.cause.details if isinstance(error.cause, ApplicationError) else ()
    left = details[0].get("state") if details and isinstance(details[0], dict) else None
    return RecordState(left) if left else None


def _broke_contract(error: ActivityError) -> bool:
    return type_of_failure(error) in ("ContractBroken", "ResultTooLarge")


def last_part(tool: str) -> str:
    """A tool's name without its system: a step's name where none is given."""
    return tool.rpartition(".")[2]


def in_words(tool: str, request: Request) -> str:
    """The tool and the request's short fields; long ones are for the event's input to show."""
    fields = (f"{name}={value}" for name, value in request if is_short(value))
    return " ".join((tool, *fields))
