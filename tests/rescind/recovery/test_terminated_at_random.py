"""Sagas that are terminated at random points, and one look of the sweeper."""

import asyncio
import os
import random
from collections import Counter

import pytest
from temporalio.client import WorkflowExecutionStatus
from temporalio.service import RPCError

from rescind import SagaState
from tests.rescind.recovery.conftest import Look
from tests.rescind.sagas import Handle, Sagas, until
from tests.rescind.toy_workflows import MakeThings, MakeTogether, Plan
from tests.rescind.toy_world import WORLDS, World

COUNT = 50 if os.environ.get("RESCIND_SOAK") else 12
SEED = int(os.environ.get("RESCIND_SEED", "7"))
AT_ONCE = 10
THINGS = ["a", "b", "c", "d"]


async def terminated(sagas: Sagas, number: int, dice: random.Random) -> tuple[Handle, World]:
    """Start a saga, and terminate it at a random one of its calls, a little later, or after its end."""
    world = WORLDS[f"random-{sagas.task_queue}-{number}"]
    world.name = f"random-{sagas.task_queue}-{number}"
    for thing in THINGS:
        world.plan[f"make {thing}"] = dice.choice([[], ["lose_reply"], ["not_now"], ["slow"]])
    if dice.random() < 0.3:
        world.plan["make c"] = ["refuse"]
    workflow = dice.choice([MakeThings.run, MakeTogether.run])
    handle = await sagas.start(workflow, Plan(world=world.name, things=THINGS))
    calls, pause = dice.randrange(8), dice.random() / 2

    async def reached() -> bool:
        return len(world.log) >= calls or await sagas.status(handle) is not WorkflowExecutionStatus.RUNNING

    await until(reached)
    await asyncio.sleep(pause)
    try:
        await handle.terminate()
    except RPCError:
        assert await sagas.status(handle) is not WorkflowExecutionStatus.RUNNING  # it was faster
    return handle, world


async def settled(sagas: Sagas, handle: Handle, look: Look) -> SagaState | None:
    """Let the sweeper look until the saga is closed or committed; None if it never came to a step."""
    while True:
        await look()
        view = await sagas.ledger.show(await sagas.saga_id(handle))
        if view is None or view.state in (SagaState.CLOSED, SagaState.COMMITTED):
            return view.state if view else None
        await asyncio.sleep(0.5)


# The SDK warns where a local activity has ended right before it is cancelled; as an error that would end the worker.
@pytest.mark.filterwarnings("ignore:Cannot find activity to cancel:UserWarning")
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("toy_worker")
async def test_terminated_at_random_points(sagas: Sagas, look: Look) -> None:
    """The world is as before each of them, or as after it where Temporal says COMPLETED; nothing happened twice."""
    dice, ends = random.Random(SEED), Counter[str]()
    at_once = asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> tuple[Handle, World]:
        async with at_once:
            return await terminated(sagas, number, dice)

    for handle, world in await asyncio.gather(*(one(number) for number in range(COUNT))):
        state = await settled(sagas, handle, look)
        ends[state.value if state else "not begun"] += 1
        if await sagas.status(handle) is WorkflowExecutionStatus.COMPLETED:
            assert (sorted(world.things), state) == (THINGS, SagaState.COMMITTED), handle.id
        else:
            assert (world.things, state) in (({}, SagaState.CLOSED), ({}, None)), handle.id
        assert all(count == 1 for count in world.makes.values()), world.makes
    print(f"seed {SEED}, {COUNT} sagas:", dict(ends))  # noqa: T201  (to be read)
