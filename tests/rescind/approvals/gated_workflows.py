"""Workflows with points of no return that nobody has approved beforehand."""

from datetime import timedelta

from pydantic import BaseModel, JsonValue
from temporalio import workflow

from rescind import Saga, StepFailed
from rescind.approvals import Verdict

with workflow.unsafe.imports_passed_through():
    from tests.rescind import toy_world as toy


class Asking(BaseModel):
    """What a workflow does: things first, then what it tells, and then more things.

    Attributes:
        world: The world it writes to.
        before: What it makes before.
        tell: What it tells, one after the other.
        after: What it makes after.
        shout: Tell it by the tool that takes two people.
        within: Seconds that people may take.
        pause: Wait for the signal `go` before it tells anything.
        catch: Go on when it may not be told.
    """

    world: str
    before: list[str] = []
    tell: list[str] = ["hello"]
    after: list[str] = []
    shout: bool = False
    within: float = 600
    pause: bool = False
    catch: bool = False


@workflow.defn
class AskPeople:
    """Steps before, at and after points of no return."""

    def __init__(self) -> None:
        self.go_on = False

    @workflow.run
    async def run(self, order: Asking) -> None:
        async with Saga(approval_within=timedelta(seconds=order.within)) as saga:
            for name in order.before:
                await saga.step(toy.MAKE_THING, toy.MakeThing(world=order.world, name=name))
            if order.pause:
                await workflow.wait_condition(lambda: self.go_on)
            for name in order.tell:
                tool = toy.SHOUT if order.shout else toy.TELL_WORLD
                try:
                    await saga.step(tool, toy.MakeThing(world=order.world, name=name))
                except StepFailed as failed:
                    if not (order.catch and failed.absent):
                        raise
            for name in order.after:
                await saga.step(toy.MAKE_THING, toy.MakeThing(world=order.world, name=name))
            await saga.commit()

    @workflow.signal
    def go(self) -> None:
        """Go on."""
        self.go_on = True


@workflow.defn
class AskDeafly:
    """A workflow with an Update of its own by the name of ours."""

    @workflow.run
    async def run(self, order: Asking) -> None:
        async with Saga() as saga:
            await saga.step(toy.TELL_WORLD, toy.MakeThing(world=order.world, name="hello"))
            await saga.commit()

    @workflow.update(name=Verdict.APPROVE)
    async def approve(self, word: JsonValue) -> None:
        """Approve something else."""
