"""Five steps twice: as a saga, and by hand without any guarantee."""

import asyncio
from datetime import timedelta

from temporalio import activity, workflow

with workflow.unsafe.imports_passed_through():
    from rescind import Call, Receipt, Repeat, Request, Restoration, Result, Saga, Tool

STEPS = 5


class Work(Request):
    """Take some time.

    Attributes:
        seconds: How long the provider takes to answer.
    """

    seconds: float


class Done(Result):
    """It took its time."""

    seconds: float


async def _work(seconds: float) -> Done:
    if seconds:
        await asyncio.sleep(seconds)
    return Done(seconds=seconds)


@activity.defn
async def work(call: Call[Work]) -> Done:
    """The tool's forward activity."""
    return await _work(call.request.seconds)


@activity.defn
async def unwork(receipt: Receipt[Work, Done]) -> Restoration:
    """The tool's compensation."""
    return Restoration.nothing()


@activity.defn
async def bare_work(work: Work) -> Done:
    """The same work, by hand."""
    return await _work(work.seconds)


WORK = Tool(
    name="benchmark.work",
    description="Take some time.",
    forward=work,
    compensate=unwork,
    is_reversible=True,
    repeat=Repeat.DEDUPLICATED,
    timeout=timedelta(seconds=5),
)


@workflow.defn
class WithSaga:
    """Five steps that would be undone."""

    @workflow.run
    async def run(self, order: Work) -> float:
        """Do them."""
        total = 0.0
        async with Saga() as saga:
            for _ in range(STEPS):
                total += (await saga.step(WORK, order)).seconds
            await saga.commit()
        return total


@workflow.defn
class ByHand:
    """Five activities with summaries as a saga's have, and no guarantee."""

    @workflow.run
    async def run(self, order: Work) -> float:
        """Do them."""
        total = 0.0
        for _ in range(STEPS):
            done = await workflow.execute_activity(
                bare_work,
                order,
                start_to_close_timeout=timedelta(seconds=8),
                summary=f"benchmark.work seconds={order.seconds}",
            )
            total += done.seconds
        return total
