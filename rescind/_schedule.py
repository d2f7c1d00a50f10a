"""How a saga's activities are scheduled: ids from the key, summaries in words, cancellation that waits."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from pydantic import BaseModel
from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.workflow import ActivityCancellationType, ActivityHandle

from rescind import _saga_activities as names
from rescind._bench import heartbeat_timeout
from rescind._calls import Restoration
from rescind._carried import SurveyOrder
from rescind._catalogue import AnyTool, activity_names
from rescind._record import Record
from rescind._wire import (
    EffectOrder,
    ForwardOrder,
    PartOrder,
    ReportOrder,
    Reversal,
    SealOrder,
    StepAnswer,
    Survey,
    UndoOrder,
)

_LEDGER_RETRIES = RetryPolicy(
    initial_interval=timedelta(milliseconds=200), maximum_interval=timedelta(seconds=10)
)
"""For activities that only speak to our own ledger: it is waited for, however long it is away."""

_LEDGER_TIMEOUT = timedelta(seconds=10)

_SUMMARY_LIMIT = 200
"""Characters of a summary; the server refuses more than 400 bytes."""


def forward(tool: AnyTool, record: Record, order: ForwardOrder) -> ActivityHandle[StepAnswer]:
    """Schedule a step. Its attempts are counted in the ledger, so that an outage of ours uses up none."""
    return workflow.start_activity(
        activity_names(tool)["forward"],
        order,
        result_type=StepAnswer,
        activity_id=record.step,
        summary=_short(record.summary),
        start_to_close_timeout=tool.start_to_close,
        heartbeat_timeout=heartbeat_timeout(tool.start_to_close),
        retry_policy=tool.retries.policy(bounded=False),
        cancellation_type=ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    )


def read(tool: AnyTool, order: ForwardOrder, summary: str) -> ActivityHandle[StepAnswer]:
    """Schedule a read-only tool, which enters neither the stack nor the ledger."""
    return workflow.start_activity(
        activity_names(tool)["forward"],
        order,
        result_type=StepAnswer,
        activity_id=order.step,
        summary=_short(summary),
        start_to_close_timeout=tool.start_to_close,
        heartbeat_timeout=heartbeat_timeout(tool.start_to_close),
        retry_policy=tool.retries.policy(),
    )


def settle(
    record: Record, reversal: Reversal, order: EffectOrder, number: int, queue: str | None
) -> ActivityHandle[StepAnswer]:
    """Schedule the settling of a step of which it is not known whether it took effect."""
    return workflow.start_activity(
        reversal.settle,
        order,
        result_type=StepAnswer,
        activity_id=f"{record.step}/settle-{number}",
        summary=_short(f"did it happen? {record.summary}"),
        **_undo_options(reversal, queue),
    )


def undo(
    record: Record, reversal: Reversal, order: UndoOrder, queue: str | None
) -> ActivityHandle[Restoration]:
    """Schedule the undo of a step; its tries are counted in the ledger."""
    again = f"-{record.undoings}" if record.undoings > 1 else ""
    return workflow.start_activity(
        str(reversal.compensate),
        order,
        result_type=Restoration,
        activity_id=f"{record.step}/undo{again}",
        summary=_short(f"undo: {record.summary}"),
        **_undo_options(reversal, queue),
    )


def give_up(record: Record, order: UndoOrder, queue: str | None) -> ActivityHandle[None]:
    """Schedule the word to the ledger that a step can't be undone."""
    words = f"can't be undone: {record.summary}"
    return to_ledger(names.GIVE_UP, order, None, f"{record.step}/give-up", words, queue=queue)


def open_unwind(order: SurveyOrder, queue: str | None) -> ActivityHandle[Survey]:
    """Schedule the opening of the unwinding, which answers with what stands."""
    words = "take back what was done, last first"
    return to_ledger(names.OPEN_UNWIND, order, Survey, "unwind", words, queue=queue)


def open_part(order: PartOrder, step: str, queue: str | None) -> ActivityHandle[Survey]:
    """Schedule the question what stands of a child saga."""
    words = f"take back what {step} did, last first"
    return to_ledger(names.OPEN_PART, order, Survey, f"{step}/unwind", words, queue=queue)


def report(order: ReportOrder, summary: str, queue: str | None) -> ActivityHandle[list[str]]:
    """Schedule the report to the ledger."""
    return to_ledger(names.REPORT, order, list[str], "report", summary, queue=queue)


def seal(order: SealOrder, summary: str) -> ActivityHandle[list[str]]:
    """Run the seal as a local activity: one event, in the workflow task that completes the workflow."""
    return workflow.start_local_activity(
        names.SEAL,
        order,
        result_type=list[str],
        activity_id="seal",
        summary=_short(summary),
        start_to_close_timeout=_LEDGER_TIMEOUT,
        retry_policy=_LEDGER_RETRIES,
        cancellation_type=ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    )


def to_ledger(
    name: str,
    order: BaseModel,
    answer: type[Any] | None,
    activity_id: str,
    summary: str,
    *,
    queue: str | None,
) -> ActivityHandle[Any]:
    """Schedule an activity that speaks to our own ledger, on a queue, or on the workflow's own."""
    return workflow.start_activity(
        name,
        order,
        result_type=answer,
        activity_id=activity_id,
        task_queue=queue,
        summary=_short(summary),
        start_to_close_timeout=_LEDGER_TIMEOUT,
        retry_policy=_LEDGER_RETRIES,
        cancellation_type=ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    )


def _undo_options(reversal: Reversal, queue: str | None) -> dict[str, Any]:
    start_to_close = timedelta(seconds=reversal.start_to_close)
    return {
        "task_queue": queue,
        "start_to_close_timeout": start_to_close,
        "heartbeat_timeout": heartbeat_timeout(start_to_close),
        "retry_policy": RetryPolicy(
            initial_interval=timedelta(seconds=reversal.first_wait),
            maximum_interval=timedelta(seconds=reversal.longest_wait),
        ),
        "cancellation_type": ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    }


def _short(summary: str) -> str:
    return summary if len(summary) <= _SUMMARY_LIMIT else summary[: _SUMMARY_LIMIT - 1] + "…"
