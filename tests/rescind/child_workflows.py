"""Workflows whose sagas are parts of another's."""

import asyncio

from pydantic import BaseModel
from temporalio import workflow
from temporalio.exceptions import ApplicationError

from rescind import Saga, StepFailed

with workflow.unsafe.imports_passed_through():
    from tests.rescind import toy_world as toy


class Part(BaseModel):
    """What a child saga makes.

    Attributes:
        things: What it makes, in this order.
        child: What a child of its own makes after that.
        rest: What the run makes that continues it as new.
        wait: Wait for the signal `go` before the commit.
        fail_after: Fail after the saga's block.
    """

    things: list[str]
    child: "Part | None" = None
    rest: "Part | None" = None
    wait: bool = False
    fail_after: bool = False
    world: str = ""


class Made(BaseModel):
    """What was made."""

    things: tuple[str, ...]


class Family(BaseModel):
    """What a saga with child sagas does.

    Attributes:
        before: What it makes first.
        parts: What its child sagas make, one after the other.
        together: Run them side by side.
        instead: Where a child saga has failed, catch it and make this.
        savepoint: Run them inside a savepoint's block, and fail there.
        after: What it makes after them.
        fail: Fail in the end.
    """

    world: str
    before: list[str] = ["x"]
    parts: list[Part]
    together: bool = False
    instead: list[str] = []
    savepoint: bool = False
    after: list[str] = ["y"]
    fail: bool = False


async def make(saga: Saga, world: str, names: list[str]) -> None:
    """Make things one after the other."""
    for name in names:
        await saga.step(toy.MAKE_THING, toy.MakeThing(world=world, name=name))


@workflow.defn
class MakePart:
    """A saga that is the child of another, or one of its own."""

    def __init__(self) -> None:
        self.go_on = False

    @workflow.run
    async def run(self, part: Part) -> Made:
        async with Saga() as saga:
            await make(saga, part.world, part.things)
            if part.child:
                await saga.child(MakePart.run, part.child.model_copy(update={"world": part.world}))
            if part.rest:
                workflow.continue_as_new(part.rest.model_copy(update={"world": part.world}))
            if part.wait:
                await workflow.wait_condition(lambda: self.go_on)
            await saga.commit()
        if part.fail_after:
            raise ApplicationError("failed after the block", non_retryable=True)
        return Made(things=tuple(part.things))

    @workflow.signal
    def go(self) -> None:
        """Go on."""
        self.go_on = True


@workflow.defn
class MakeFamily:
    """A saga with child sagas between its own steps."""

    @workflow.run
    async def run(self, family: Family) -> list[str]:
        made: list[str] = []
        async with Saga() as saga:
            await make(saga, family.world, family.before)
            try:
                made = await self._children(saga, family)
            except ApplicationError as error:
                if not family.instead or (isinstance(error, StepFailed) and not error.absent):
                    raise
                await make(saga, family.world, family.instead)
            await make(saga, family.world, family.after)
            if family.fail:
                raise ApplicationError("planned failure", non_retryable=True)
            await saga.commit()
        return made

    async def _children(self, saga: Saga, family: Family) -> list[str]:
        if family.savepoint:
            async with saga.savepoint():
                await self._run_all(saga, family)
                raise ApplicationError("this way is too dear", non_retryable=True)
        return await self._run_all(saga, family)

    async def _run_all(self, saga: Saga, family: Family) -> list[str]:
        parts = [part.model_copy(update={"world": family.world}) for part in family.parts]
        if family.together:
            answers = await asyncio.gather(*(saga.child(MakePart.run, part) for part in parts))
        else:
            answers = [await saga.child(MakePart.run, part) for part in parts]
        return [name for answer in answers for name in answer.things]


@workflow.defn
class MakeCrowd:
    """Child sagas and steps of its own side by side in a task group."""

    @workflow.run
    async def run(self, family: Family) -> None:
        async with Saga() as saga:
            async with asyncio.TaskGroup() as group:
                for part, name in zip(family.parts, family.before, strict=True):
                    group.create_task(
                        saga.child(MakePart.run, part.model_copy(update={"world": family.world}))
                    )
                    group.create_task(make(saga, family.world, [name]))
            await saga.commit()


WORKFLOWS = [MakePart, MakeFamily, MakeCrowd]
