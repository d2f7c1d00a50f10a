"""What an undo would do, without doing it: the workflow that a person asks first."""

from __future__ import annotations

from datetime import timedelta

from pydantic import BaseModel, ConfigDict
from temporalio import workflow

from rescind._record import SagaReport
from rescind._states import RecordState, SagaState
from rescind._tool import Risk

PREVIEW_UNDO = "rescind.PreviewUndo"
PREVIEW = "rescind.preview_undo"
_LONGEST = timedelta(minutes=2)


class PreviewOrder(BaseModel):
    """Asks what the undo of a saga would do, or of a step of it with those that used its result."""

    model_config = ConfigDict(frozen=True)

    saga: str
    step: str | None = None
    task_queue: str | None = None


class StepPreview(BaseModel):
    """One step that would be undone.

    Attributes:
        step: The step's name and number.
        tool: The tool's name.
        summary: The step in words.
        state: Its state now.
        risk: The tool's risk; None where nobody knows the tool.
        undo: What its undo does, in the tool's own words.
        window_left: Seconds in which it can still be undone; None is for ever.
        found: What its lookup says now; None where it was not asked.
        conflict: Whether the lookup finds the world changed since.
        left: Why it would be left standing; None where it would not.
    """

    model_config = ConfigDict(frozen=True)

    step: str
    tool: str
    summary: str
    state: RecordState
    risk: str | None = None
    undo: str = ""
    window_left: float | None = None
    found: str | None = None
    conflict: bool = False
    left: str | None = None


class Preview(BaseModel):
    """What an undo would do.

    Attributes:
        state: The saga's state.
        refused: Why nothing would be undone; None where something would.
        steps: The steps that would be undone, first undone first.
        untouched: Standing steps that a part leaves alone.
        already: The saga's report where nothing of what was asked for stands any more.
    """

    model_config = ConfigDict(frozen=True)

    state: SagaState
    refused: str | None = None
    steps: list[StepPreview] = []
    untouched: list[str] = []
    already: SagaReport | None = None

    @property
    def takes_agreement(self) -> bool:
        """Whether it would wait for a second person."""
        committed = self.state in (SagaState.COMMITTED, SagaState.SEALED)
        return committed and any(step.risk == Risk.CRITICAL and not step.left for step in self.steps)

    @property
    def would_be_clean(self) -> bool:
        """Whether nothing would be left, as far as it can be told."""
        return not any(step.left or step.conflict for step in self.steps)


@workflow.defn(name=PREVIEW_UNDO)
class PreviewUndo:
    """Asks the ledger, Temporal and the tools' lookups; it changes nothing."""

    @workflow.run
    async def run(self, order: PreviewOrder) -> Preview:
        """Ask once."""
        preview: Preview = await workflow.execute_activity(
            PREVIEW,
            order,
            result_type=Preview,
            activity_id="preview",
            task_queue=order.task_queue,
            summary="what would its undo do?",
            start_to_close_timeout=_LONGEST,
            schedule_to_close_timeout=_LONGEST,
        )
        return preview
