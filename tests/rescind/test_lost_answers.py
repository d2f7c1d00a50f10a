"""What a tool has answered is on record, and Temporal did not hear it: the next attempt, or the settling, tells it."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from tests.rescind.conftest import NewWorker
from tests.rescind.sagas import Sagas
from tests.rescind.toy_workflows import MakeThings, Plan
from tests.rescind.toy_world import World

LAST = [False, True]
"""Whether the activity is tried again after its answer was lost, or was the last attempt."""


class LosesAnswers(Interceptor):
    """Lets a step's activity run to its end, and Temporal does not get what it answers, once."""

    def __init__(self, last: bool) -> None:
        self.last, self.lost = last, False

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:  # noqa: A002
        return _Losing(next, self)


class _Losing(ActivityInboundInterceptor):
    def __init__(self, inner: ActivityInboundInterceptor, loses: LosesAnswers) -> None:
        super().__init__(inner)
        self.loses = loses

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:  # noqa: A002
        try:
            return await super().execute_activity(input)
        finally:
            if activity.info().activity_id == "make_thing#1" and not self.loses.lost:
                self.loses.lost = True
                raise ApplicationError("its answer was lost", non_retryable=self.loses.last)


@pytest.fixture
async def worker(request: pytest.FixtureRequest, new_worker: NewWorker) -> AsyncIterator[None]:
    """A worker that loses answers."""
    async with new_worker(interceptors=[LosesAnswers(request.param)]):
        yield


@pytest.mark.parametrize("worker", LAST, indirect=True)
@pytest.mark.usefixtures("worker")
async def test_a_result(sagas: Sagas, world: World) -> None:
    """It is the step's, and the tool was called once."""
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a"]))
    assert await handle.result() == ["a"]
    assert world.makes == {"a": 1}


@pytest.mark.parametrize("worker", LAST, indirect=True)
@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize(
    ("behaviour", "words"), [("garbage", "not its result"), ("huge", "too large for Temporal")]
)
async def test_a_result_that_cannot_be_used(sagas: Sagas, world: World, behaviour: Any, words: str) -> None:
    """The step has failed with the reason, and is undone: the workflow does not stumble over it for ever."""
    world.plan["make a"] = [behaviour]
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a"]))
    cause = await sagas.failure(handle)
    assert words in cause.message
    assert world.makes == {"a": 1}
    assert (cause.type, world.things) == ("SagaUndone", {})
