"""Workflows over the toy world, one for each shape of saga that the tests need."""

import asyncio
from datetime import timedelta

from pydantic import BaseModel
from temporalio import workflow
from temporalio.exceptions import ApplicationError

from rescind import Saga, StepFailed

with workflow.unsafe.imports_passed_through():
    from tests.rescind import toy_world as toy


class Plan(BaseModel):
    """What a toy workflow does.

    Attributes:
        world: The world it writes to.
        things: What it makes, in this order.
        fail: Raise a failure after the last step.
        wait: Wait for the signal `go` after this many steps.
        commit: Commit before leaving the block.
        catch: Go on after a step that failed.
        tell: Use an irreversible tool first.
        tool: Which tool makes the things.
        bug_after: Have a bug after the saga's block.
        padding: Characters added to each request.
    """

    world: str
    things: list[str]
    fail: bool = False
    wait: int | None = None
    commit: bool = True
    catch: bool = False
    tell: str | None = None
    approved: list[str] = []
    tool: str = "toy.make_thing"
    bug_after: bool = False
    padding: int = 0


@workflow.defn
class MakeThings:
    """Steps one after the other."""

    def __init__(self) -> None:
        self.go_on = False

    @workflow.run
    async def run(self, plan: Plan) -> list[str]:
        made: list[str] = []
        async with Saga(approved=plan.approved) as saga:
            if plan.tell:
                await saga.step(toy.TELL_WORLD, toy.MakeThing(world=plan.world, name=plan.tell))
            for number, name in enumerate(plan.things):
                if number == plan.wait:
                    await workflow.wait_condition(lambda: self.go_on)
                try:
                    tool = next(tool for tool in toy.TOOLS if tool.name == plan.tool)
                    request = toy.MakeThing(world=plan.world, name=name, padding="x" * plan.padding)
                    thing = await saga.step(tool, request)
                    made.append(thing.name)
                except StepFailed:
                    if not plan.catch:
                        raise
            if plan.wait == len(plan.things):
                await workflow.wait_condition(lambda: self.go_on)
            if plan.fail:
                raise ApplicationError("planned failure", non_retryable=True)
            if plan.commit:
                await saga.commit()
        if plan.bug_after:
            raise KeyError("a bug")
        return made

    @workflow.signal
    def go(self) -> None:
        """Go on."""
        self.go_on = True

    @workflow.signal
    def typed(self, plan: Plan) -> None:
        """A handler with a typed argument."""

    @workflow.signal
    def forbidden(self) -> None:
        """A handler that raises a failure."""
        raise ApplicationError("this signal is not allowed", non_retryable=True)


@workflow.defn
class MakeTogether:
    """Steps side by side, in a task group or gathered."""

    @workflow.run
    async def run(self, plan: Plan) -> list[str]:
        async with Saga() as saga:
            steps = [
                saga.step(toy.MAKE_THING, toy.MakeThing(world=plan.world, name=name)) for name in plan.things
            ]
            if plan.catch:
                made = await asyncio.gather(*steps)
            else:
                async with asyncio.TaskGroup() as group:
                    tasks = [group.create_task(step) for step in steps]
                made = [task.result() for task in tasks]
            await saga.commit()
        return [thing.name for thing in made]


@workflow.defn
class TwoSagas:
    """A second saga in one workflow, which is refused."""

    @workflow.run
    async def run(self, plan: Plan) -> None:
        async with Saga() as saga:
            await saga.step(toy.MAKE_THING, toy.MakeThing(world=plan.world, name="first"))
            await saga.commit()
        async with Saga() as saga:
            await saga.commit()


BROKEN = {"broken": False}
"""Set by a test: the workflow's code has a bug."""


@workflow.defn(sandboxed=False)
class MakeWithBug:
    """Code with a bug after the second step, until it is mended."""

    @workflow.run
    async def run(self, plan: Plan) -> None:
        async with Saga() as saga:
            for name in plan.things[:2]:
                await saga.step(toy.MAKE_THING, toy.MakeThing(world=plan.world, name=name))
            if BROKEN["broken"]:
                raise KeyError("a bug")
            for name in plan.things[2:]:
                await saga.step(toy.MAKE_THING, toy.MakeThing(world=plan.world, name=name))
            await saga.commit()


@workflow.defn
class ReadOnly:
    """A read-only step enters nothing."""

    @workflow.run
    async def run(self, plan: Plan) -> str:
        async with Saga() as saga:
            count = await saga.step(toy.COUNT_THINGS, toy.MakeThing(world=plan.world, name="all"))
            await workflow.sleep(timedelta(milliseconds=1))
            await saga.commit()
        return count.name


@workflow.defn
class ContinuesAsNew:
    """A saga in a run that continues another."""

    @workflow.run
    async def run(self, plan: Plan) -> None:
        if not workflow.info().continued_run_id:
            workflow.continue_as_new(plan)
        async with Saga() as saga:
            await saga.step(toy.MAKE_THING, toy.MakeThing(world=plan.world, name="a"))
            await saga.commit()


WORKFLOWS = [ContinuesAsNew, MakeThings, MakeTogether, TwoSagas, MakeWithBug, ReadOnly]
