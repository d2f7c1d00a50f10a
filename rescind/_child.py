"""A saga as a step of another: a child workflow writes into the root's saga and is undone with it."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from typing import Any, NoReturn, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, JsonValue, TypeAdapter
from pydantic_core import to_json
from temporalio import workflow
from temporalio.api.common.v1 import Payload
from temporalio.exceptions import ChildWorkflowError, WorkflowAlreadyStartedError, is_cancelled_exception

from rescind._carried import Carried, Under
from rescind._errors import SagaTakenOver, StepFailed
from rescind._failures import TAKEN_OVER
from rescind._record import Record
from rescind._stack import Stack
from rescind._states import RecordState
from rescind._workflow import deepest, type_of_failure

Arg = TypeVar("Arg")
Out = TypeVar("Out")

handed_down: contextvars.ContextVar[Payload | None] = contextvars.ContextVar("rescind_child", default=None)
"""The header for the child workflow that is being started; the interceptor adds it."""


class ChildAnswer(BaseModel):
    """What a child saga's workflow answers to the saga around it.

    Attributes:
        result: The workflow's own result as JSON.
        part: Which of its steps stand.
    """

    model_config = ConfigDict(frozen=True)

    result: JsonValue
    part: Carried


async def run_child(
    stack: Stack,
    run: Callable[[Any, Arg], Awaitable[Out]],
    arg: Arg,
    *,
    name: str | None,
    id: str | None,  # noqa: A002  (Temporal's own parameter name)
) -> Out:
    """Run a workflow whose saga is a part of this one, and push its record on the stack.

    Raises:
        StepFailed: It has failed; `absent` says whether nothing of it is left.
        SagaTakenOver: Somebody else works on this saga now.
        asyncio.CancelledError: It was cancelled, and has closed.
    """
    kind = str(getattr(run, "__temporal_workflow_definition").name)
    record = stack.push(name or kind, "", f"the saga of the workflow {kind}")
    record.is_saga = True
    child = id or f"{workflow.info().workflow_id}/{record.step}"
    with stack.running(record):
        answer = await _answered(stack, record, kind, arg, child)
    stack.parts[record.step] = answer.part
    record.changed = False
    stack.turn(record, RecordState.APPLIED)
    result: Out = TypeAdapter(get_type_hints(run).get("return", Any)).validate_json(to_json(answer.result))
    return result


async def _answered(stack: Stack, record: Record, kind: str, arg: object, child: str) -> ChildAnswer:
    under = Under(saga=stack.saga, epoch=stack.epoch, step=record.step, seq=record.seq)
    task = asyncio.ensure_future(_run(Carried(under=under).payload(), kind, arg, child, record.summary))
    try:
        return await stack.in_flight.answer(record.step, task)
    except WorkflowAlreadyStartedError as error:
        stack.turn(record, RecordState.ABSENT, error=f"a workflow with the id {child} is running already")
        _raise(record, error)
    except ChildWorkflowError as error:
        _turn(stack, record, error)
        _raise(record, error)


async def _run(header: Payload, kind: str, arg: object, child: str, summary: str) -> ChildAnswer:
    handed_down.set(header)
    answer: ChildAnswer = await workflow.execute_child_workflow(
        kind, arg, id=child, result_type=ChildAnswer, static_summary=summary[:200]
    )
    return answer


def _turn(stack: Stack, record: Record, error: ChildWorkflowError) -> None:
    """Say what the child has left: it undoes its part itself, unless it was ended from outside."""
    cause: BaseException | None = error.cause
    kind = type_of_failure(cause) if cause else None
    if kind == TAKEN_OVER:
        raise SagaTakenOver(deepest(error)) from error
    nothing_left = kind == "SagaUndone" or is_cancelled_exception(error)
    stack.turn(record, RecordState.ABSENT if nothing_left else RecordState.IN_DOUBT, error=deepest(error))


def _raise(record: Record, error: BaseException) -> NoReturn:
    if is_cancelled_exception(error):
        raise asyncio.CancelledError from error
    absent = record.state is RecordState.ABSENT
    known = (
        "nothing of it is left"
        if absent
        else "something of it stands, or may stand, so this saga can't go on"
    )
    raise StepFailed(
        f"{record.step} failed: {record.error} ({known})", step=record.step, absent=absent
    ) from error
