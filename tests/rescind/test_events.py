"""What a successful saga costs in events, beside a workflow that is written by hand without any guarantee."""

from collections import Counter
from datetime import timedelta

import pytest
from temporalio import workflow

from tests.rescind.conftest import NewWorker
from tests.rescind.sagas import Sagas
from tests.rescind.toy_workflows import MakeThings, Plan
from tests.rescind.toy_world import World

with workflow.unsafe.imports_passed_through():
    from temporalio import activity
    from temporalio.worker import Worker

FIVE = ["a", "b", "c", "d", "e"]


@activity.defn
async def make_by_hand(name: str) -> str:
    """Do what a step does, without a key, a record or an undo."""
    return name


@workflow.defn
class MakeByHand:
    """Five activities one after the other."""

    @workflow.run
    async def run(self, plan: Plan) -> list[str]:
        """Do all that the plan names."""
        return [
            await workflow.execute_activity(
                make_by_hand, name, start_to_close_timeout=timedelta(seconds=7), summary=name
            )
            for name in plan.things
        ]


async def test_a_saga_of_five_steps_costs_one_event_more_than_one_by_hand(
    sagas: Sagas, world: World, new_worker: NewWorker
) -> None:
    """Three events an activity, three a workflow task, and one marker for the seal, a local activity."""
    async with new_worker(workflows=[MakeThings]):
        made = await sagas.start(MakeThings.run, Plan(world=world.name, things=FIVE))
        assert await made.result() == FIVE
    async with Worker(
        sagas.client, task_queue=sagas.task_queue, workflows=[MakeByHand], activities=[make_by_hand]
    ):
        by_hand = await sagas.start(MakeByHand.run, Plan(world="none", things=FIVE))
        assert await by_hand.result() == FIVE
    bare, saga = Counter(await sagas.events(by_hand)), Counter(await sagas.events(made))
    assert bare == {
        "workflow_execution_started": 1,
        "activity_task_scheduled": 5,
        "activity_task_started": 5,
        "activity_task_completed": 5,
        "workflow_task_scheduled": 6,
        "workflow_task_started": 6,
        "workflow_task_completed": 6,
        "workflow_execution_completed": 1,
    }
    assert saga - bare == {"marker_recorded": 1}
    assert bare - saga == {}


@pytest.mark.usefixtures("toy_worker")
async def test_the_seals_event_is_written_by_the_task_that_completes_the_workflow(
    sagas: Sagas, world: World
) -> None:
    """The seal's marker is the event before the last, with no workflow task of its own."""
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a"]))
    await handle.result()
    assert (await sagas.events(handle))[-3:] == [
        "workflow_task_completed",
        "marker_recorded",
        "workflow_execution_completed",
    ]
