"""Workflows that try one way, take it back, and try another."""

import asyncio

from pydantic import BaseModel
from temporalio import workflow
from temporalio.exceptions import ApplicationError

from rescind import RollbackIncomplete, Saga, StepFailed

with workflow.unsafe.imports_passed_through():
    from tests.rescind import toy_world as toy


class Ways(BaseModel):
    """Two ways to do something.

    Attributes:
        world: The world it writes to.
        before: What is made before either.
        first: The way that is tried first, inside a savepoint.
        second: The other one.
        tool: The tool of the first way.
        fail: Fail after the first way's last step.
        limit: Seconds in which the first way has to be gone.
        stubborn: Go on as well where the savepoint was not reached.
        commit_inside: Commit inside the savepoint.
        fail_at_last: Fail after the second way.
    """

    world: str
    before: list[str] = []
    first: list[str]
    second: list[str] = []
    tool: str = "toy.make_thing"
    fail: bool = False
    limit: float | None = None
    stubborn: bool = False
    commit_inside: bool = False
    fail_at_last: bool = False


class _Making:
    def __init__(self, saga: Saga, world: str) -> None:
        self.saga, self.world = saga, world

    async def make(self, *names: str, tool: str = "toy.make_thing") -> None:
        """Make things, one after the other."""
        for name in names:
            used = next(each for each in toy.TOOLS if each.name == tool)
            await self.saga.step(used, toy.MakeThing(world=self.world, name=name))


@workflow.defn
class TryTwoWays:
    """One way, and another if it fails."""

    @workflow.run
    async def run(self, ways: Ways) -> None:
        async with Saga(approved=["toy.tell_world"]) as saga:
            making = _Making(saga, ways.world)
            await making.make(*ways.before)
            try:
                async with asyncio.timeout(ways.limit), saga.savepoint():
                    await making.make(*ways.first, tool=ways.tool)
                    if ways.commit_inside:
                        await saga.commit()
                    if ways.fail:
                        raise ApplicationError("planned failure", non_retryable=True)
            except RollbackIncomplete:
                if not ways.stubborn:
                    raise
                await making.make(*ways.second)
            except (ApplicationError, TimeoutError):
                await making.make(*ways.second)
            if ways.fail_at_last:
                raise ApplicationError("failed at last", non_retryable=True)
            await saga.commit()


@workflow.defn
class TryBesideABranch:
    """One branch tries two ways, the first with steps side by side; another branch makes a thing meanwhile."""

    @workflow.run
    async def run(self, ways: Ways) -> None:
        async with Saga() as saga:
            making = _Making(saga, ways.world)
            await asyncio.gather(self._try(saga, making, ways), making.make(*ways.before))
            await saga.commit()

    async def _try(self, saga: Saga, making: _Making, ways: Ways) -> None:
        try:
            async with saga.savepoint():
                await asyncio.gather(*(making.make(name, f"{name}, later") for name in ways.first))
        except StepFailed:
            await making.make(*ways.second)


@workflow.defn
class TryInside:
    """A savepoint inside another: the inner one is reached and another way is gone, then the outer one fails."""

    @workflow.run
    async def run(self, ways: Ways) -> None:
        async with Saga() as saga:
            making = _Making(saga, ways.world)
            try:
                async with saga.savepoint():
                    await making.make(*ways.before)
                    await self._inner(saga, making, ways)
                    raise ApplicationError("the outer one fails, too", non_retryable=True)
            except ApplicationError:
                await making.make("at last")
            await saga.commit()

    async def _inner(self, saga: Saga, making: _Making, ways: Ways) -> None:
        try:
            async with saga.savepoint():
                await making.make(*ways.first)
                raise ApplicationError("the inner one fails", non_retryable=True)
        except ApplicationError:
            await making.make(*ways.second)


WORKFLOWS = [TryTwoWays, TryBesideABranch, TryInside]
