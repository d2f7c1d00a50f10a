"""The stack: a saga's records in the order in which their steps were started, and what is shown of them."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Self

from pydantic import JsonValue
from temporalio import workflow

from rescind import _details
from rescind._carried import Carried, SurveyOrder, Under
from rescind._counts import Counts
from rescind._in_flight import InFlight
from rescind._listing import REPORTED, counted, newest_first, without_large_results, worth_listing
from rescind._part import current_part
from rescind._record import Outcome, Record, SagaReport, reported
from rescind._states import RecordState
from rescind._wire import EffectOrder, Reversal


class Stack:
    """A saga's records, newest last; a list, since the order is the point.

    Attributes:
        records: The records of this run.
        earlier: What the runs before this one have handed on.
        beyond: How many steps there are that have no record here.
        parts: What the child sagas that have ended well have left standing, by their steps.
        saga: Workflow id and first execution run id, joined by '/'; the same after a reset.
        epoch: 0 for the workflow that started the saga.
        whole: False while only a part of a committed saga is undone.
        committed: True once the workflow has said that the saga is done.
        closed: True once nothing may be pushed any more.
        in_flight: What the steps wait for.
        task_queue: Where the workers poll that know the saga's tools; None where that is not known any more.
        reference: What the business calls the case, for the people whom a reconciliation alerts.
        undoing: Held while the saga, or a part of it, is being undone: one at a time.
        points: Savepoints whose blocks have not been left, in any branch.
        stopped: Why the saga can only be undone from here on; None while it may go on.
    """

    _headline: str | None = None

    def __init__(self, *, earlier: Carried | None = None) -> None:
        info = workflow.info()
        self.saga = f"{info.workflow_id}/{info.first_execution_run_id}"
        self.epoch, self.whole = 0, True
        self._step, self._seq = "", tuple[int, ...]()
        self.task_queue: str | None = info.task_queue
        self.reference: str | None = None
        self.earlier = earlier or Carried()
        if self.under is not None:
            self.saga, self.epoch, self.whole = self.under.saga, self.under.epoch, False
            self._step, self._seq = f"{self.under.step}/", self.under.seq
        self.parts: dict[str, Carried] = {}
        self.records: list[Record] = []
        self.committed = self.closed = False
        self.in_flight = InFlight()
        self.undoing = asyncio.Lock()
        self.points = 0
        self.stopped: str | None = None
        self._numbers: Counter[str] = Counter(self.earlier.numbers)
        self.beyond = Counts(steps=self.earlier.steps, standing=len(self.earlier.changes()))

    @classmethod
    def taken_over(
        cls, saga: str, epoch: int, records: list[Record], *, whole: bool, queue: str | None
    ) -> Self:
        """The stack of another workflow's saga, as the ledger knows it; nothing is pushed on it."""
        stack = cls()
        stack.saga, stack.epoch, stack.whole, stack.task_queue = saga, epoch, whole, queue
        stack.records, stack.closed = records, True
        return stack

    @property
    def under(self) -> Under | None:
        """Where the saga has its place in another; None for one of its own."""
        return self.earlier.under

    def push(
        self,
        name: str,
        tool: str,
        summary: str,
        *,
        request: JsonValue = None,
        reversal: Reversal | None = None,
    ) -> Record:
        """Push the record of a step that is about to be scheduled."""
        record = Record(
            step=self._step + self._numbered(name),
            seq=(*self._seq, self.earlier.steps + len(self.records) + 1),
            tool=tool,
            summary=summary,
            request=request,
            reversal=reversal,
            started=workflow.now(),
        )
        self.records.append(record)
        if part := current_part():
            part.push(record)
        self.show("running")
        return record

    def turn(self, record: Record, state: RecordState, *, error: str | None = None) -> None:
        """Change a record's state and show it."""
        record.state, record.ended = state, workflow.now()
        record.error = error or record.error
        self.show("being undone" if self.closed else "running")

    def order(self, record: Record) -> EffectOrder:
        """The address of a record's effect."""
        return EffectOrder(
            saga=self.saga, epoch=self.epoch, step=record.step, seq=record.seq, tool=record.tool
        )

    def order_of(self, name: str, tool: str) -> EffectOrder:
        """An address for a read-only step, which has no record."""
        step = self._step + self._numbered(name)
        return EffectOrder(saga=self.saga, epoch=self.epoch, step=step, seq=(), tool=tool)

    def survey_order(self) -> SurveyOrder:
        """The question what stands of the saga."""
        return SurveyOrder(saga=self.saga, epoch=self.epoch, expected=self.handed_on())

    def standing_keys(self) -> list[str]:
        """The keys of all steps that took effect and stand, those of earlier runs and of child sagas included."""
        return [f"{self.saga}/{step}" for step in self.handed_on().standing()]

    def unsettled(self) -> list[str]:
        """The steps that are running, or of which it is not known that they stand or are absent."""
        return [record.step for record in self.records if not record.settled or record.running]

    def handed_on(self) -> Carried:
        """What the run that continues this one has to know."""
        start = len(self._step)
        records = (record.model_copy(update={"step": record.step[start:]}) for record in self.records)
        parts = {step[start:]: part for step, part in self.parts.items()}
        return self.earlier.and_then(self._numbers, records, parts)

    def running(self, record: Record) -> AbstractContextManager[None]:
        """Mark a record as one whose activity may still change it."""
        return _Running(record)

    def newest_first(self) -> list[Record]:
        """The records in the order of undoing: last started, first undone."""
        return newest_first(self.records)

    def show(self, headline: str) -> None:
        """Set the workflow's current details, which the Web UI shows while a worker lives.

        They are made once for all changes of one turn: a hundred steps that begin at once would make a hundred tables.
        """
        if self._headline is None:
            asyncio.get_running_loop().call_soon(self._show)
        self._headline = headline

    def _show(self) -> None:
        headline, self._headline = self._headline, None
        workflow.set_current_details("\n".join(self.table(headline or "running")))

    def table(self, headline: str) -> list[str]:
        """The records as the lines of a Markdown table."""
        return _details.details(headline, self.records, self.beyond)

    def report(
        self,
        outcome: Outcome,
        *,
        failed_at: str | None = None,
        error: str | None = None,
        unwound: bool = False,
    ) -> SagaReport:
        """The saga's report as of now."""
        listed = worth_listing(self.records, REPORTED, first=(failed_at or "",))
        counts = self.counts()
        return SagaReport(
            saga=self.saga,
            outcome=outcome,
            failed_at=failed_at,
            error=error,
            steps=without_large_results([reported(record, unwound=unwound) for record in listed]),
            counts=counts if counts.steps > len(listed) else None,
        )

    def counts(self) -> Counts:
        """How many steps there are of which kind, with those that have no record here."""
        return counted(self.records) + self.beyond

    def _numbered(self, name: str) -> str:
        self._numbers[name] += 1
        return f"{name}#{self._numbers[name]}"


class _Running(AbstractContextManager[None]):
    def __init__(self, record: Record) -> None:
        self._record = record

    def __enter__(self) -> None:
        self._record.running = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._record.running = False
