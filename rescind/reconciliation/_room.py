"""What a reconciliation knows and does: one look, one alert, one round of tries, one person's word at a time."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from datetime import timedelta
from typing import NoReturn

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, is_cancelled_exception

from rescind._states import RecordState
from rescind._workflow import deepest, type_of_failure
from rescind.reconciliation import _table
from rescind.reconciliation._alerts import Severity
from rescind.reconciliation._attributes import LONGEST, SAGA, SEVERITY
from rescind.reconciliation._case import Answer, Case, OpenStep, ReconcileOrder, Taken, Verb, Word
from rescind.reconciliation._telling import Telling, severity
from rescind.reconciliation._undoing import Became, TakenOver, tried
from rescind.reconciliation._words import fitting, said
from rescind.reconciliation._work import Work

_SOON = timedelta(seconds=5)
"""How long somebody else who has the saga is left alone before the next look."""

_LOOKS = 12
_OPEN = (RecordState.STUCK, RecordState.IN_DOUBT)


class Room:
    """The state of one reconciliation.

    Attributes:
        progress: What is carried on when it continues as new.
        case: What is open, as of the last look.
    """

    def __init__(self, order: ReconcileOrder) -> None:
        self.progress = order.progress.model_copy(deep=True)
        self.case: Case | None = None
        self._order = order
        self._work = Work(order)
        self._telling = Telling(order, self._work, self.progress)
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._looking = asyncio.Lock()
        self._severity: Severity | None = None

    async def look(self) -> Case:
        """Read what is open; a new effect is alerted of at once, and begins the schedule anew."""
        async with self._looking:
            try:
                case = await self._work.look()
            except ActivityError as error:
                _raise_plainly(error)
            self.case = case
        self._note_what_has_gone(case)
        self._note_what_is_new(case)
        self._show(case)
        return case

    def alert_if_due(self) -> None:
        """Tell people, if it is time."""
        progress, case = self.progress, self.case
        if case is None or progress.next_alert is None or workflow.now() < progress.next_alert:
            return
        progress.alerts += 1
        progress.all_alerts += 1
        progress.next_alert = workflow.now() + case.pace.before_alert(progress.alerts)
        self._telling.start(case, progress.all_alerts)

    async def retry_if_due(self) -> bool:
        """Try again what failed, newest first, if it is time; whether anything was tried."""
        progress, case = self.progress, self.case
        if case is None or progress.next_retry is None or workflow.now() < progress.next_retry:
            return False
        steps = [step for step in case.steps if step.goes_on_by_itself]
        for step in steps:
            await self._try_alone(step)
        progress.retries += 1
        progress.next_retry = workflow.now() + case.pace.before_retry(progress.retries + 1)
        return bool(steps)

    def until_due(self) -> timedelta:
        """How long there is nothing to do."""
        progress, case = self.progress, self.case
        due = [progress.next_alert]
        if case and any(step.goes_on_by_itself for step in case.steps):
            due.append(progress.next_retry)
        return max(min(filter(None, due)) - workflow.now(), timedelta(0))

    async def take(self, verb: Verb, word: Word) -> Answer:
        """Take one person's word on one effect; who comes second is told what the first has done.

        Raises:
            ApplicationError: It does not fit, and nothing was changed.
        """
        async with self._locks[word.step]:
            step = fitting(verb, word, (await self.look()).steps, self.progress.closed)
            taken = await self._taken(step, verb, word)
            state, words = taken.state, said(verb, word, taken.state)
            if verb in (Verb.RETRY, Verb.CONFIRM):
                state, why = await self._finished(step, confirmed=verb is Verb.CONFIRM)
                words = f"{state.value.replace('_', ' ')}: {why}; {verb} by {word.who}"
            self._note(step, state, words)
            disagreement = taken.seen if taken.disagrees else None
            return Answer(step=step.step, state=state, words=words, disagreement=disagreement)

    async def hush(self) -> None:
        """End what is still being told, before the workflow continues as new."""
        await self._telling.hush()

    async def close(self) -> None:
        """Write the end into the ledger, and tell it to those who were alerted."""
        await self._telling.hush()
        if self.case is not None and self.progress.all_alerts:
            await self._work.close()
            await self._telling.end(self.case)

    async def _taken(self, step: OpenStep, verb: Verb, word: Word) -> Taken:
        assert self.case is not None  # noqa: S101  (the caller has looked)
        try:
            return await self._work.take(step, verb, word, self.case.epoch)
        except ActivityError as error:
            _raise_plainly(error)

    async def _finished(self, step: OpenStep, *, confirmed: bool) -> Became:
        """Try until the saga is nobody else's, or the effect is not open any more."""
        for _ in range(_LOOKS):
            assert self.case is not None  # noqa: S101  (the caller has looked)
            try:
                epoch, tries = self.case.epoch, step.tries
                return await tried(self._work, step, epoch, tries=tries, confirmed=confirmed)
            except TakenOver:
                await workflow.sleep(_SOON)
                await self.look()
        return RecordState.UNDOING, "somebody else has taken the saga over and undoes it"

    async def _try_alone(self, step: OpenStep) -> None:
        async with self._locks[step.step]:
            assert self.case is not None  # noqa: S101  (the caller has looked)
            if step not in self.case.steps:
                return  # a person was faster
            try:
                state, words = await tried(self._work, step, self.case.epoch, tries=1)
            except TakenOver:
                return
            self._note(step, state, f"{state.value.replace('_', ' ')}: {words}; tried by itself")

    def _note(self, step: OpenStep, state: RecordState, words: str) -> None:
        if state in _OPEN:
            workflow.logger.error("%s needs a person still: %s", step.step, words)
        else:
            workflow.logger.warning("%s is closed: %s", step.step, words)
            self.progress.closed[step.step] = words

    def _note_what_has_gone(self, case: Case) -> None:
        names = {step.step for step in case.steps}
        for name in self.progress.seen:
            if name not in names and not self._is_busy(name) and case.total == len(case.steps):
                self.progress.closed.setdefault(name, "by somebody else; the ledger has what became of it")
        for name in names:
            self.progress.closed.pop(name, None)

    def _note_what_is_new(self, case: Case) -> None:
        progress, now = self.progress, workflow.now()
        new = [step for step in case.steps if step.step not in progress.seen]
        busy = [name for name in progress.seen if self._is_busy(name)]
        progress.seen = sorted({*(step.step for step in case.steps), *busy})
        if new:
            progress.alerts, progress.next_alert = 0, now
        if any(step.goes_on_by_itself for step in new):
            progress.retries, progress.next_retry = 0, now + case.pace.before_retry(1)

    def _is_busy(self, step: str) -> bool:
        return step in self._locks and self._locks[step].locked()

    def _show(self, case: Case) -> None:
        reference = self._order.reference or self._order.saga.rpartition("/")[0]
        workflow.set_current_details(_table.details(case, self.progress, reference, self._telling.untold))
        if case.steps and severity(case) is not self._severity:
            self._severity = severity(case)
            saga = self._order.saga.encode()[:LONGEST].decode(errors="ignore")
            workflow.upsert_search_attributes(
                [SAGA.value_set(saga), SEVERITY.value_set(self._severity.value)]
            )


def _raise_plainly(error: ActivityError) -> NoReturn:
    """The failure itself, without the activity around it."""
    if is_cancelled_exception(error):
        raise error
    raise ApplicationError(deepest(error), type=type_of_failure(error), non_retryable=True) from error
