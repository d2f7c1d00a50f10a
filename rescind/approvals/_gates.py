"""Points of no return of one saga: each waits until people have approved or rejected it, or its time is over."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import NoReturn

from pydantic import JsonValue
from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, is_cancelled_exception

from rescind import _schedule
from rescind._errors import SagaRefused, SagaTakenOver, StepFailed
from rescind._failures import TAKEN_OVER
from rescind._keys import approval_digest
from rescind._record import Record, Waiting
from rescind._stack import Stack
from rescind._states import RecordState
from rescind._steps import raise_if_cancelled
from rescind._tool import Risk
from rescind._workflow import deepest, raise_if_evicted, type_of_failure
from rescind.approvals._attribute import APPROVAL, WAITS_FOR
from rescind.approvals._orders import ASK, DECIDE, LOOK, AskOrder, DecideOrder, Standing
from rescind.approvals._words import NOT_APPROVED, Opinion, Verdict, heard, not_taken, waited_for
from rescind.ledger import GateState

_OVERDUE = timedelta(milliseconds=50)
"""Added to the time that is left, so that the ledger's clock agrees that it is over."""

_CANCELLED = "cancelled while it waited for approval; nothing of it was begun"


class Gates:
    """The steps of one saga that wait for people, and the Updates that answer them.

    Args:
        stack: The saga's stack.
        within: How long people may take, and then how long their approval may wait until it is used.
    """

    def __init__(self, stack: Stack, within: timedelta) -> None:
        self._stack, self._within = stack, within
        self._open: dict[str, Standing] = {}
        self._listens = False
        self._words = 0

    def listen(self) -> None:
        """Take the Updates `approve` and `reject`, unless the workflow has its own; no event is written."""
        if any(workflow.get_update_handler(each) is not None for each in Verdict):
            return
        self._listens = True
        workflow.set_update_handler(Verdict.APPROVE, self._approve, validator=self._refuse_approve)
        workflow.set_update_handler(Verdict.REJECT, self._reject, validator=self._refuse_reject)

    async def wait(self, record: Record, *, risk: Risk, people: int, asked_by: Opinion | None = None) -> None:
        """Return when people have approved the step; until then nothing of it is begun.

        Args:
            record: The step.
            risk: Its tool's.
            people: How many different people have to approve it.
            asked_by: Whoever wants it done, as the first of them.

        Raises:
            StepFailed: It was rejected, or nobody has approved it in time; the record is absent.
            SagaTakenOver: The ledger says that this run may not go on.
            asyncio.CancelledError: The step was cancelled; the record is absent.
        """
        task = asyncio.ensure_future(self._answered(record, risk, people, asked_by))
        try:
            answer = await self._stack.in_flight.answer(record.step, task)
        except ActivityError as error:
            if is_cancelled_exception(error):
                self._leave(record, _CANCELLED)
                raise asyncio.CancelledError from error
            self._leave(record, deepest(error))
            if type_of_failure(error) == TAKEN_OVER:
                raise SagaTakenOver(deepest(error)) from error
            _fail(record, error)
        except asyncio.CancelledError:
            raise_if_evicted()
            self._leave(record, _CANCELLED)
            raise
        if answer.state in (GateState.GRANTED, GateState.USED):
            self._leave(record)
            return
        self._leave(record, str(answer.why))
        _fail(record, ApplicationError(str(answer.why), type=NOT_APPROVED, non_retryable=True))

    async def _answered(self, record: Record, risk: Risk, people: int, asked_by: Opinion | None) -> Standing:
        order = AskOrder(
            **self._stack.order(record).model_dump(),
            request=record.request,
            people=people,
            seconds=self._within.total_seconds(),
        )
        answer = await self._ask_ledger(ASK, order, "ask", f"ask people to approve: {record.summary}")
        if asked_by and not answer.given and answer.state is GateState.WAITING:
            digest = approval_digest(record.tool, record.request, order.key)
            answer = await self._decided(record, digest, Verdict.APPROVE, asked_by, workflow.info().run_id)
        looks = 0
        while answer.state is GateState.WAITING:
            raise_if_cancelled()
            self._show(record, risk, order, answer)
            if await self._word_on(record.step, timedelta(seconds=answer.left) + _OVERDUE):
                answer = self._open[record.step]
                continue
            looks += 1
            answer = await self._ask_ledger(
                LOOK, order, f"look-{looks}", f"approved in time? {record.summary}"
            )
        return answer

    def _ask_ledger(self, name: str, order: AskOrder, what: str, words: str) -> asyncio.Task[Standing]:
        return _schedule.to_ledger(name, order, Standing, f"{order.step}/{what}", words, queue=None)

    def _show(self, record: Record, risk: Risk, order: AskOrder, answer: Standing) -> None:
        if not self._open:
            workflow.upsert_search_attributes([WAITS_FOR.value_set(APPROVAL)])
        self._open[record.step] = answer
        record.waits = Waiting(
            digest=approval_digest(record.tool, record.request, order.key),
            risk=risk.value,
            people=order.people,
            given=answer.given,
            until=workflow.now() + timedelta(seconds=answer.left),
        )
        self._stack.show("running")

    async def _word_on(self, step: str, within: timedelta) -> bool:
        """Wait for a person's word that the ledger has taken; False when the time is over."""
        known = self._open[step]
        try:
            await workflow.wait_condition(lambda: self._open[step] is not known, timeout=within)
        except TimeoutError:
            return False
        return True

    def _leave(self, record: Record, error: str | None = None) -> None:
        record.waits = None
        if self._open.pop(record.step, None) and not self._open:
            workflow.upsert_search_attributes([WAITS_FOR.value_unset()])
        if error is None:
            self._stack.show("running")
        else:
            self._stack.turn(record, RecordState.ABSENT, error=error)

    def refuse_deaf(self, tool: str) -> None:
        """Refuse a step that would wait for ever.

        Raises:
            SagaRefused: The workflow has Updates of its own by the names of ours.
        """
        if not self._listens:
            raise SagaRefused(
                f"{tool} has to wait for people, and nobody can approve it: the workflow has an Update handler "
                "of its own named approve or reject. Nothing was done. Give that another name, or name the tool among "
                "the approved ones"
            )

    def _waiting(self) -> dict[str, Waiting]:
        return {each.step: each.waits for each in self._stack.records if each.waits}

    def _refuse_approve(self, word: JsonValue) -> None:
        waited_for(heard(Verdict.APPROVE, word), self._waiting())

    def _refuse_reject(self, word: JsonValue) -> None:
        waited_for(heard(Verdict.REJECT, word), self._waiting())

    async def _approve(self, word: JsonValue) -> str:
        """Let a step that can't be undone be begun: {"step": "...", "who": "...", "note": "..."}."""
        return await self._take(Verdict.APPROVE, word)

    async def _reject(self, word: JsonValue) -> str:
        """Refuse a step that can't be undone; the saga is undone: {"step": "...", "who": "...", "note": "..."}."""
        return await self._take(Verdict.REJECT, word)

    async def _take(self, verdict: Verdict, word: JsonValue) -> str:
        opinion, waiting = heard(verdict, word), self._waiting()
        step = waited_for(opinion, waiting)
        record = next(each for each in self._stack.records if each.step == step)
        info = workflow.current_update_info()
        answer = await self._decided(record, waiting[step].digest, verdict, opinion, info.id if info else "")
        if answer.refused:
            raise not_taken(answer.refused)
        if step in self._open:
            self._open[step] = answer
        return _said(step, waiting[step].people, answer)

    def _decided(
        self, record: Record, digest: str, verdict: Verdict, opinion: Opinion, word: str
    ) -> asyncio.Task[Standing]:
        self._words += 1
        order = DecideOrder(
            **self._stack.order(record).model_dump(),
            digest=digest,
            verdict=verdict,
            who=opinion.who,
            note=opinion.note,
            word=word,
        )
        words = f"{verdict} by {opinion.who}: {record.summary}"
        return _schedule.to_ledger(
            DECIDE, order, Standing, f"{record.step}/word-{self._words}", words, queue=None
        )


def _said(step: str, people: int, answer: Standing) -> str:
    if answer.state is GateState.WAITING:
        more = people - len(answer.given)
        return f"{step} is approved by {'; '.join(answer.given)}; it takes {more} more of {people}"
    return f"{step} is {answer.why or 'approved by ' + '; '.join(answer.given)}"


def _fail(record: Record, error: Exception) -> NoReturn:
    raise StepFailed(
        f"{record.step} failed: {record.error} (nothing of it was begun)", step=record.step, absent=True
    ) from error
