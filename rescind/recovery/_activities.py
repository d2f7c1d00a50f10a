"""The activities of the undo after the fact and of the sweeper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from temporalio import activity

from rescind._bench import Bench, undisturbed
from rescind.recovery._foresee import Foresight
from rescind.recovery._look import Look
from rescind.recovery._orders import TAKE_OVER, Taken, UndoSagaOrder
from rescind.recovery._preview import PREVIEW, Preview, PreviewOrder
from rescind.recovery._sweep import LOOK_AT_PAGE, PageOrder, Swept
from rescind.recovery._take_over import TakeOver


def recovery_activities(bench: Bench) -> Sequence[Callable[..., Any]]:
    """The activities that a worker registers for them."""

    @activity.defn(name=TAKE_OVER)
    async def take_over(order: UndoSagaOrder) -> Taken:
        return await TakeOver(bench, order).run()

    @activity.defn(name=LOOK_AT_PAGE)
    async def sweep(order: PageOrder) -> Swept:
        return await undisturbed(Look(bench, activity.client(), order).run())

    @activity.defn(name=PREVIEW)
    async def preview(order: PreviewOrder) -> Preview:
        return await Foresight(bench, order).run()

    return (take_over, sweep, preview)
