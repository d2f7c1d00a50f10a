"""Workflows whose saga goes on over several runs."""

import asyncio

from pydantic import BaseModel
from temporalio import workflow
from temporalio.exceptions import ApplicationError

from rescind import Saga, StepFailed

with workflow.unsafe.imports_passed_through():
    from tests.rescind import toy_world as toy


class Stages(BaseModel):
    """What is made, a part of it in each run.

    Attributes:
        world: The world it writes to.
        things: What is made, by run.
        catch: Go on after a step that failed.
        mistake: What the first run does wrong when it continues as new.
        skip: What the second run does before, or instead of, entering its saga.
        fail: Fail in the last run.
        wait: Wait for the signal `go` at the end of the last run.
    """

    world: str
    things: list[list[str]]
    catch: bool = False
    mistake: str | None = None
    skip: str | None = None
    fail: bool = False
    wait: bool = False


@workflow.defn
class MakeInStages:
    """A stage in each run, in one saga."""

    def __init__(self) -> None:
        self.go_on = False

    @workflow.run
    async def run(self, stages: Stages) -> str | None:
        if stages.skip and workflow.info().continued_run_id:
            if stages.skip == "saga":
                return "done without a saga"
            if stages.skip == "fail":
                raise ApplicationError("failed before the saga's block", non_retryable=True)
            workflow.continue_as_new(stages.model_copy(update={"skip": None}))
        async with Saga() as saga:
            await saga.step(toy.COUNT_THINGS, toy.MakeThing(world=stages.world, name="all"), name="count")
            for name in stages.things[0]:
                await self._make(saga, stages, name)
            if len(stages.things) > 1:
                await self._continue(saga, stages)
            if stages.wait:
                await workflow.wait_condition(lambda: self.go_on)
            if stages.fail:
                raise ApplicationError("planned failure", non_retryable=True)
            await saga.commit()
        return "done"

    async def _make(self, saga: Saga, stages: Stages, name: str) -> None:
        try:
            await saga.step(toy.MAKE_THING, toy.MakeThing(world=stages.world, name=name))
        except StepFailed:
            if not stages.catch:
                raise

    async def _continue(self, saga: Saga, stages: Stages) -> None:
        rest = stages.model_copy(update={"things": stages.things[1:], "mistake": None})
        if stages.mistake == "commit":
            await saga.commit()
        if stages.mistake == "running":
            asyncio.ensure_future(self._make(saga, stages, "running"))  # noqa: RUF006  (the mistake)
            await asyncio.sleep(0)
        if stages.mistake == "savepoint":
            async with saga.savepoint():
                workflow.continue_as_new(rest)
        workflow.continue_as_new(rest)

    @workflow.signal
    def go(self) -> None:
        """Go on."""
        self.go_on = True


WORKFLOWS = [MakeInStages]
