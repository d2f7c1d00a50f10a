"""What a reconciliation schedules: on the saga's own queue, each activity under an id of its own."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.workflow import ActivityCancellationType, ActivityHandle

from rescind import _saga_activities as sagas
from rescind._bench import heartbeat_timeout
from rescind._calls import Restoration
from rescind._wire import EffectOrder, Reversal, SagaOrder, StepAnswer, UndoOrder
from rescind.ledger import HowOpen
from rescind.reconciliation._alerts import Alert
from rescind.reconciliation._case import Case, OpenStep, ReconcileOrder, Taken, Verb, Word, WordOrder
from rescind.reconciliation._names import (
    ALERT,
    ALERT_RETRIES,
    ALERT_TIMEOUT,
    CLOSE,
    LOOK,
    TAKE_WORD,
    AlertOrder,
)

_LEDGER_RETRIES = RetryPolicy(
    initial_interval=timedelta(milliseconds=200), maximum_interval=timedelta(seconds=30)
)
"""Our own ledger is waited for, however long it is away."""

_TIMEOUT = timedelta(seconds=10)


class Work:
    """The activities of one reconciliation.

    Args:
        order: Which saga, and on which queue its tools are known.
    """

    def __init__(self, order: ReconcileOrder) -> None:
        self._order = order
        self._number = 0

    def look(self) -> ActivityHandle[Case]:
        """Read what is open."""
        order = SagaOrder(saga=self._order.saga, epoch=0)
        return self._start(LOOK, order, Case, "look", "what is open?")

    def take(self, step: OpenStep, verb: Verb, word: Word, epoch: int) -> ActivityHandle[Taken]:
        """Put a person's word on record, after the lookup was asked."""
        order = WordOrder(**self._effect(step, epoch).model_dump(), verb=verb, word=word)
        name, words = f"{step.step}/{verb}", f"{verb} by {word.who}: {word.note or ''}"
        return self._start(
            TAKE_WORD, order, Taken, name, words, timeout=_TIMEOUT + _time(step.reversal), beats=True
        )

    def undo(
        self, step: OpenStep, reversal: Reversal, epoch: int, *, tries: int
    ) -> ActivityHandle[Restoration]:
        """Try to undo an effect. Where tries have failed its lookup is asked first, and may say that it is gone.

        After a conflict it is not: a lookup does not compare as a compensation does.
        """
        order = UndoOrder(
            **self._effect(step, epoch).model_dump(),
            last_try=step.undo_try + tries,
            look_first=step.how is HowOpen.FAILED,
        )
        time = timedelta(seconds=2 * reversal.start_to_close)
        name, words = f"{step.step}/undo", f"undo: {step.summary}"
        return self._start(
            str(reversal.compensate),
            order,
            Restoration,
            name,
            words,
            timeout=time,
            retries=_retries(reversal),
            beats=True,
        )

    def settle(self, step: OpenStep, reversal: Reversal, epoch: int) -> ActivityHandle[StepAnswer]:
        """Ask the lookup of an effect in doubt once more."""
        time = timedelta(seconds=reversal.start_to_close)
        name, words = f"{step.step}/settle", f"did it happen? {step.summary}"
        return self._start(
            reversal.settle,
            self._effect(step, epoch),
            StepAnswer,
            name,
            words,
            timeout=time,
            retries=_retries(reversal),
            beats=True,
        )

    def give_up(self, step: OpenStep, epoch: int) -> ActivityHandle[None]:
        """Tell the ledger that an effect that stands can't be undone."""
        order = UndoOrder(**self._effect(step, epoch).model_dump())
        words = f"can't be undone: {step.summary}"
        return self._start(sagas.GIVE_UP, order, None, f"{step.step}/give-up", words)

    def alert(self, channel: str, alert: Alert, limit: timedelta) -> ActivityHandle[None]:
        """Tell people by one channel, with retries for so long."""
        order = AlertOrder(channel=channel, alert=alert)
        return self._start(
            ALERT,
            order,
            None,
            f"alert/{channel}",
            f"{channel}: {alert.headline}",
            timeout=ALERT_TIMEOUT,
            retries=ALERT_RETRIES,
            schedule_to_close_timeout=limit,
        )

    def close(self) -> ActivityHandle[None]:
        """Write the saga's report of now into the ledger."""
        order = SagaOrder(saga=self._order.saga, epoch=0)
        return self._start(CLOSE, order, None, "close", "nothing is open any more")

    def _effect(self, step: OpenStep, epoch: int) -> EffectOrder:
        return EffectOrder(saga=self._order.saga, epoch=epoch, step=step.step, seq=step.seq, tool=step.tool)

    def _start(
        self,
        name: str,
        order: object,
        answer: type[Any] | None,
        activity_id: str,
        words: str,
        *,
        timeout: timedelta = _TIMEOUT,
        retries: RetryPolicy = _LEDGER_RETRIES,
        beats: bool = False,
        **options: Any,
    ) -> ActivityHandle[Any]:
        self._number += 1
        return workflow.start_activity(
            name,
            order,
            result_type=answer,
            task_queue=self._order.task_queue,
            activity_id=f"{activity_id}-{self._number}",
            summary=words[:200],
            start_to_close_timeout=timeout,
            heartbeat_timeout=heartbeat_timeout(timeout) if beats else None,
            retry_policy=retries,
            cancellation_type=ActivityCancellationType.TRY_CANCEL,
            **options,
        )


def _time(reversal: Reversal | None) -> timedelta:
    return timedelta(seconds=reversal.start_to_close if reversal else 0)


def _retries(reversal: Reversal) -> RetryPolicy:
    return RetryPolicy(
        initial_interval=timedelta(seconds=reversal.first_wait),
        maximum_interval=timedelta(seconds=reversal.longest_wait),
    )
