"""The record of one step on a saga's stack, and the report that is made of the stack in the end."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel, JsonValue

from rescind._calls import Grade, Restoration
from rescind._counts import Counts
from rescind._states import GONE, RecordState
from rescind._wire import Reversal

_ERROR = 2_000
"""Characters of one step's error in a report."""


class Waiting(BaseModel):
    """A step that can't be undone and waits for people.

    Attributes:
        digest: Of tool, request and key: what is to be approved.
        risk: The tool's risk.
        people: How many different people have to approve it.
        given: Who has, and why.
        until: When it expires, by the workflow's clock; the ledger's decides.
    """

    digest: str
    risk: str
    people: int
    given: list[str] = []
    until: datetime


class Record(BaseModel):
    """One entry of the saga's stack: plain data, so that it can be carried on and rebuilt.

    Attributes:
        step: The step's name and number, unique in the saga: `create_bucket#1`.
        seq: Its place in the order of the saga.
        tool: The tool's name.
        summary: The step in words.
        state: What is known about its effect.
        request: The request as JSON.
        reversal: How it is settled and undone; None when no tool of the worker can.
        result: The result as JSON.
        changed: False for a no-op, which is never undone.
        recovered: True when the lookup, not the call, said that it took effect.
        restoration: How well it was undone.
        error: The last error of the step or of its undo, in the provider's own words.
        started: When the step was pushed.
        ended: When its state last changed.
        running: True while its forward activity or its settling may still change it.
        settlings: How often its settling was scheduled.
        undoings: How often its undo was scheduled.
        is_saga: True for a child saga, which has no effect of its own: its steps have.
        waits: What it waits for people for.
    """

    step: str
    seq: tuple[int, ...]
    tool: str
    summary: str
    state: RecordState = RecordState.INTENDED
    request: JsonValue = None
    reversal: Reversal | None = None
    result: JsonValue = None
    changed: bool = True
    recovered: bool = False
    restoration: Restoration | None = None
    error: str | None = None
    started: datetime | None = None
    ended: datetime | None = None
    running: bool = False
    settlings: int = 0
    undoings: int = 0
    is_saga: bool = False
    waits: Waiting | None = None

    @property
    def stands(self) -> bool:
        """Whether an effect of its own is known to stand, a no-op included."""
        return self.state is RecordState.APPLIED and not self.is_saga

    @property
    def settled(self) -> bool:
        """Whether it is known that it stands, or that nothing of it does."""
        return self.state is RecordState.APPLIED or self.state in GONE


class Compensation(StrEnum):
    """What became of a step's undo, in the report."""

    COMPENSATED = "COMPENSATED"
    NOT_NEEDED = "NOT_NEEDED"
    FAILED = "FAILED"


class Outcome(StrEnum):
    """What became of a saga.

    `left` is one that failed and is closed, and of which a person has let something stand: never clean.
    """

    RUNNING = "running"
    COMPLETED = "completed"
    UNDONE = "undone"
    CANCELED = "canceled"
    INCOMPLETE = "incomplete"
    LEFT = "left"


class StepReport(BaseModel):
    """One step in a saga's report."""

    step: str
    tool: str
    summary: str
    state: RecordState
    compensation: Compensation | None = None
    restoration: Restoration | None = None
    changed: bool = True
    recovered_by_lookup: bool = False
    result: JsonValue = None
    error: str | None = None
    waits: Waiting | None = None


class SagaReport(BaseModel):
    """What a saga did and what is left of it; in the failure's details, in the ledger and behind `--json`.

    Attributes:
        saga: Workflow id and first execution run id, joined by '/'.
        outcome: What became of it.
        failed_at: The step that failed, or None.
        error: The original error, in the provider's own words, or None.
        steps: The steps in the order in which they were started; of a long saga at most 30, those first
            that stand or may stand, and then the newest. All of them are in the ledger.
        counts: All steps, also those that are not listed; None in a report that lists them all.
    """

    saga: str
    outcome: Outcome
    failed_at: str | None = None
    error: str | None = None
    steps: list[StepReport] = []
    counts: Counts | None = None

    @property
    def left(self) -> list[StepReport]:
        """The steps that stand, or may stand, although the saga has failed."""
        return [step for step in self.steps if step.compensation is Compensation.FAILED]

    @property
    def tally(self) -> Counts:
        """How many steps there are of which kind, listed or not."""
        if self.counts is not None:
            return self.counts
        return Counts(
            steps=len(self.steps),
            standing=len(self.left),
            undone=sum(step.state is RecordState.UNDONE and step.changed for step in self.steps),
            residue=sum(
                step.restoration is not None and step.restoration.grade is Grade.RESIDUE
                for step in self.steps
            ),
        )


def is_clean(record: Record) -> bool:
    """Whether nothing of the step stands or may stand."""
    return record.state in GONE or (record.state is RecordState.APPLIED and not record.changed)


def is_exact(record: Record) -> bool:
    """Whether the step left no residue."""
    return record.restoration is None or record.restoration.grade is not Grade.RESIDUE


def reported(record: Record, *, unwound: bool) -> StepReport:
    """A record as the report shows it."""
    return StepReport(
        step=record.step,
        tool=record.tool,
        summary=record.summary,
        state=record.state,
        compensation=_compensation(record) if unwound else None,
        restoration=record.restoration,
        changed=record.changed,
        recovered_by_lookup=record.recovered,
        result=record.result,
        error=record.error and record.error[:_ERROR],
        waits=record.waits,
    )


def _compensation(record: Record) -> Compensation:
    if not is_clean(record):
        return Compensation.FAILED
    return (
        Compensation.COMPENSATED
        if record.state is RecordState.UNDONE and record.changed
        else Compensation.NOT_NEEDED
    )
