"""The activities of a reconciliation as a whole: look what is open, alert, and write its end down."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from temporalio import activity
from temporalio.exceptions import ApplicationError

from rescind._bench import Bench, undisturbed
from rescind._recorded import in_words, report_of
from rescind._reversal import reversal_of
from rescind._states import SagaState
from rescind._wire import SagaOrder
from rescind.ledger import OpenEffect, TakenOver
from rescind.reconciliation._case import Case, OpenStep, Taken, WordOrder
from rescind.reconciliation._names import ALERT, CLOSE, LOOK, TAKE_WORD, AlertOrder
from rescind.reconciliation._take import TakenWord

_LONGEST = 600
"""Characters of an error that travel; all of it is in the ledger."""


def reconciliation_activities(bench: Bench) -> Sequence[Callable[..., Any]]:
    """The activities that a worker registers for reconciliations."""

    @activity.defn(name=LOOK)
    async def look(order: SagaOrder) -> Case:
        return await _look(bench, order)

    @activity.defn(name=TAKE_WORD)
    async def take_word(order: WordOrder) -> Taken:
        return await undisturbed(TakenWord(bench, order).run())

    @activity.defn(name=ALERT)
    async def alert(order: AlertOrder) -> None:
        channel = next((each for each in bench.alerts if each.name == order.channel), None)
        if channel is None:  # a worker of another application, or of another deployment
            raise ApplicationError(
                f"this worker has no alert channel {order.channel!r}", type="NoSuchChannel"
            )
        await channel.send(order.alert)

    @activity.defn(name=CLOSE)
    async def close(order: SagaOrder) -> None:
        view = await bench.ledger.show(bench.saga(order.saga))
        if view is not None and view.state is SagaState.CLOSED:
            with suppress(TakenOver):  # somebody has reopened it in this moment, and ends it
                await bench.ledger.report(view.id, view.epoch, report_of(view).model_dump(mode="json"))

    return (look, take_word, alert, close)


async def _look(bench: Bench, order: SagaOrder) -> Case:
    found = await bench.ledger.open_effects(bench.saga(order.saga))
    if found is None:
        raise ApplicationError(
            f"the ledger has no saga {order.saga}; nothing was done. If it was restored from an older copy, bring it "
            "up to date first",
            type="NoSuchSaga",
            non_retryable=True,
        )
    return Case(
        state=found.state,
        epoch=found.epoch,
        error=found.error and found.error[:_LONGEST],
        failed_at=found.failed_at,
        total=found.total,
        steps=[_open_step(bench, order, effect) for effect in found.effects],
        channels=[channel.name for channel in bench.alerts],
        pace=bench.pace,
    )


def _open_step(bench: Bench, order: SagaOrder, effect: OpenEffect) -> OpenStep:
    tool = bench.catalogue.get(effect.tool)
    known = effect.error or "no reason known"
    if tool is None:
        known = f"{known}; the worker that looked does not know the tool {effect.tool!r}"
    return OpenStep(
        step=effect.key.removeprefix(f"{order.saga}/"),
        seq=effect.seq,
        tool=effect.tool,
        summary=in_words(effect.tool, effect.request),
        state=effect.state,
        how=effect.how,
        since=effect.since,
        known=known[:_LONGEST],
        undo_try=effect.undo_try,
        tries=tool.undo_retries.tries if tool else 1,
        reversal=reversal_of(tool) if tool else None,
        has_lookup=tool is not None and tool.lookup is not None,
    )
