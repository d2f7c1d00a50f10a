"""A saga's report as Temporal's history tells it, for when no worker is alive to answer a query."""

from collections.abc import AsyncIterator
from typing import Any, TypeVar

from pydantic import BaseModel, JsonValue, ValidationError
from temporalio.api.common.v1 import Payload
from temporalio.api.enums.v1 import EventType
from temporalio.api.failure.v1 import Failure
from temporalio.api.history.v1 import ActivityTaskScheduledEventAttributes, HistoryEvent
from temporalio.client import WorkflowHandle
from temporalio.converter import DataConverter

from rescind._calls import Restoration
from rescind._record import Outcome, SagaReport, StepReport
from rescind._states import GONE, RecordState
from rescind._wire import EffectOrder, FailedAttempt, StepAnswer

T = TypeVar("T", bound=BaseModel)


async def report_from_history(
    handle: WorkflowHandle[Any, Any], converter: DataConverter, saga: str
) -> SagaReport:
    """What the activities in the history say of each step.

    Raises:
        temporalio.service.RPCError: The history can't be read.
    """
    story = _Story(converter)
    async for event in _events(handle):
        await story.hear(event)
    return SagaReport(saga=saga, outcome=Outcome.RUNNING, steps=list(story.steps.values()))


async def _events(handle: WorkflowHandle[Any, Any]) -> AsyncIterator[HistoryEvent]:
    async for event in handle.fetch_history_events():
        yield event


class _Story:
    """The steps that were heard of, by name, in the order in which they were started."""

    def __init__(self, converter: DataConverter) -> None:
        self.converter = converter
        self.steps: dict[str, StepReport] = {}
        self.scheduled: dict[int, str] = {}

    async def hear(self, event: HistoryEvent) -> None:
        match event.event_type:
            case EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
                await self._scheduled(event, event.activity_task_scheduled_event_attributes)
            case EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
                done = event.activity_task_completed_event_attributes
                await self._completed(self.scheduled[done.scheduled_event_id], list(done.result.payloads))
            case EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED:
                lost = event.activity_task_failed_event_attributes
                await self._failed(self.scheduled[lost.scheduled_event_id], lost.failure)
            case EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
                late = event.activity_task_timed_out_event_attributes
                await self._failed(self.scheduled[late.scheduled_event_id], late.failure)
            case _:
                pass

    async def _scheduled(self, event: HistoryEvent, activity: ActivityTaskScheduledEventAttributes) -> None:
        self.scheduled[event.event_id] = activity.activity_id
        step, _, part = activity.activity_id.partition("/")
        if part == "undo" and step in self.steps:
            self._turn(step, RecordState.UNDOING)
        if part or "#" not in step:
            return
        order = await self._read(list(activity.input.payloads), _Addressed)
        if order is None or not order.seq:
            return
        summary = await self._plain(event.user_metadata.summary)
        self.steps[step] = StepReport(
            step=step, tool=order.tool, summary=summary or order.tool, state=RecordState.INTENDED
        )

    async def _completed(self, activity: str, payloads: list[Payload]) -> None:
        step, _, part = activity.partition("/")
        if step not in self.steps:
            return
        if part == "undo":
            self._turn(step, RecordState.UNDONE, restoration=await self._read(payloads, Restoration))
        elif part == "give-up":
            self._turn(step, RecordState.STUCK)
        elif answer := await self._read(payloads, StepAnswer):
            self._turn(
                step,
                answer.state,
                result=answer.result,
                changed=answer.changed,
                recovered_by_lookup=answer.recovered,
            )

    async def _failed(self, activity: str, failure: Failure) -> None:
        step, _, part = activity.partition("/")
        if step not in self.steps:
            return
        words = _deepest(failure)
        if part:
            state = RecordState.STUCK if part == "undo" else RecordState.IN_DOUBT
            self._turn(step, state, error=words)
            return
        left = await self._read(list(failure.application_failure_info.details.payloads), FailedAttempt)
        proven_empty = left is not None and left.state in GONE
        self._turn(step, RecordState.ABSENT if proven_empty else RecordState.INTENDED, error=words)

    def _turn(self, step: str, state: RecordState, **known: Any) -> None:
        self.steps[step] = self.steps[step].model_copy(update={"state": state, **known})

    async def _read(self, payloads: list[Payload], kind: type[T]) -> T | None:
        """The first payload as this model; None where it is another's, or its codec is not ours."""
        try:
            decoded = await self.converter.decode(payloads[:1], [kind])
        except (ValidationError, ValueError, RuntimeError, KeyError):
            return None
        return decoded[0] if decoded else None

    async def _plain(self, payload: Payload) -> str | None:
        try:
            decoded: list[JsonValue] = await self.converter.decode([payload], [str])
        except (ValidationError, ValueError, RuntimeError, KeyError):
            return None
        return str(decoded[0]) if decoded else None


class _Addressed(EffectOrder):
    """The part of an order that is of interest here, whatever else it says."""


def _deepest(failure: Failure) -> str:
    while failure.HasField("cause"):
        failure = failure.cause
    return failure.message
