"""The durable workflow of one saga that needs a person: it looks, alerts, tries again, and takes people's word."""

from __future__ import annotations

from datetime import timedelta

from pydantic import JsonValue
from temporalio import workflow

from rescind.reconciliation._case import Answer, Case, Reconciled, ReconcileOrder, Verb
from rescind.reconciliation._open import LOOK_AGAIN, RECONCILE
from rescind.reconciliation._room import Room
from rescind.reconciliation._words import fitting, heard

OPEN = "rescind_open"
"""The query that answers with what is open."""


@workflow.defn(name=RECONCILE)
class Reconcile:
    """Brings what one unwinding left behind to an end; it outlives the saga, and ends when nothing is open.

    It alerts at once and on a schedule, tries failed undos again by itself, and takes an Update for each effect:
    `retry`, `resolve`, `waive`, `confirm`, `absent`, each with a `Word`. Terminating it changes nothing in the world:
    what is open stays on record, and the sweeper opens another one.
    """

    @workflow.init
    def __init__(self, order: ReconcileOrder) -> None:
        self._order = order
        self._room = Room(order)
        self._woken = False

    @workflow.run
    async def run(self, order: ReconcileOrder) -> Reconciled:
        """Go on until nothing is open."""
        room = self._room
        while True:
            self._woken = False
            case = await room.look()
            if not case.steps:
                if self._may_end():
                    break
                await workflow.wait_condition(lambda: self._woken or workflow.all_handlers_finished())
                continue
            room.alert_if_due()
            if await room.retry_if_due():
                continue
            if self._is_long():
                await room.hush()
                workflow.continue_as_new(order.model_copy(update={"progress": room.progress}))
            await self._sleep(room.until_due())
        await room.close()
        return Reconciled(saga=order.saga, closed=room.progress.closed)

    async def _sleep(self, seconds: timedelta) -> None:
        try:
            await workflow.wait_condition(lambda: self._woken, timeout=seconds)
        except TimeoutError:
            return

    def _may_end(self) -> bool:
        return workflow.all_handlers_finished() and not self._woken

    def _is_long(self) -> bool:
        info = workflow.info()
        long = info.is_continue_as_new_suggested() or (
            info.get_current_history_length() >= self._order.longest_history
        )
        return long and workflow.all_handlers_finished() and not self._woken

    @workflow.signal(name=LOOK_AGAIN)
    def look_again(self) -> None:
        """Somebody has worked on the saga: read anew what is open."""
        self._woken = True

    @workflow.query(name=OPEN)
    def what_is_open(self) -> Case | None:
        """What is open, as of the last look."""
        return self._room.case

    @workflow.update
    async def retry(self, word: JsonValue) -> Answer:
        """Try to undo it now; one in doubt is looked up again."""
        return await self._take(Verb.RETRY, word)

    @retry.validator
    def _refuse_retry(self, word: JsonValue) -> None:
        self._refuse(Verb.RETRY, word)

    @workflow.update
    async def resolve(self, word: JsonValue) -> Answer:
        """It was undone by hand; the lookup is asked, and what it says against it is recorded and answered."""
        return await self._take(Verb.RESOLVE, word)

    @resolve.validator
    def _refuse_resolve(self, word: JsonValue) -> None:
        self._refuse(Verb.RESOLVE, word)

    @workflow.update
    async def waive(self, word: JsonValue) -> Answer:
        """It may stay; the saga is never called clean."""
        return await self._take(Verb.WAIVE, word)

    @waive.validator
    def _refuse_waive(self, word: JsonValue) -> None:
        self._refuse(Verb.WAIVE, word)

    @workflow.update
    async def confirm(self, word: JsonValue) -> Answer:
        """It took effect, with this result; it is undone."""
        return await self._take(Verb.CONFIRM, word)

    @confirm.validator
    def _refuse_confirm(self, word: JsonValue) -> None:
        self._refuse(Verb.CONFIRM, word)

    @workflow.update
    async def absent(self, word: JsonValue) -> Answer:
        """It took no effect."""
        return await self._take(Verb.ABSENT, word)

    @absent.validator
    def _refuse_absent(self, word: JsonValue) -> None:
        self._refuse(Verb.ABSENT, word)

    def _refuse(self, verb: Verb, said: JsonValue) -> None:
        word, case = heard(verb, said), self._room.case
        if case is not None:  # before the first look nobody knows what is open; the handler looks
            fitting(verb, word, case.steps, self._room.progress.closed)

    async def _take(self, verb: Verb, said: JsonValue) -> Answer:
        answer = await self._room.take(verb, heard(verb, said))
        self._woken = True
        return answer
