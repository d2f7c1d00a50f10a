"""Cancellation, eviction and bugs: what unwinds, what does not, and that nothing is lost on the way."""

import asyncio
import logging

import pytest
from temporalio.client import WorkflowExecutionStatus

from rescind import SagaState
from tests.rescind.conftest import NewWorker
from tests.rescind.sagas import Sagas, eventually
from tests.rescind.toy_workflows import BROKEN, MakeThings, MakeTogether, MakeWithBug, Plan
from tests.rescind.toy_world import World

NOTHING_LEFT: dict[str, str] = {}


@pytest.mark.usefixtures("toy_worker")
async def test_cancelled_between_steps(sagas: Sagas, world: World) -> None:
    """Every finished step is undone, and the workflow is CANCELED; its report is in the ledger."""
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a", "b", "c"], wait=2))
    await eventually(lambda: len(world.things) == 2)
    await handle.cancel()
    await sagas.cancelled(handle)
    assert world.things == NOTHING_LEFT
    view = await sagas.view(handle)
    assert view.state is SagaState.CLOSED
    assert view.report["outcome"] == "canceled"  # type: ignore[call-overload, index]


@pytest.mark.usefixtures("toy_worker")
async def test_cancelled_while_an_undo_runs(sagas: Sagas, world: World) -> None:
    """A cancellation in the middle of the unwinding loses none of it, and the failure stays a failure."""
    world.plan["make c"], world.plan["unmake b"] = ["refuse"], ["slow"]
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a", "b", "c"]))
    await eventually(lambda: "unmake b" in world.log)
    await handle.cancel()
    await asyncio.sleep(0.2)
    await handle.cancel()
    assert (await sagas.failure(handle)).type == "SagaUndone"
    assert world.things == NOTHING_LEFT
    assert world.log.count("unmake b") == 1


@pytest.mark.usefixtures("toy_worker")
@pytest.mark.parametrize("tool", ["toy.make_thing", "toy.make_in_thread"])
async def test_cancelled_during_a_slow_step(sagas: Sagas, world: World, tool: str) -> None:
    """No later step starts; the step ends before its undo starts; the world is as it was."""
    world.plan["make b"] = ["slow"]
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a", "b", "c"], tool=tool))
    await eventually(lambda: "make b" in world.log)
    await handle.cancel()
    await sagas.cancelled(handle)
    assert world.things == NOTHING_LEFT
    assert "make c" not in world.log
    assert await sagas.states(handle) == ["undone", "undone"]


@pytest.mark.usefixtures("toy_worker")
async def test_cancelled_while_a_step_waits_for_its_next_attempt(sagas: Sagas, world: World) -> None:
    """A cancel during the backoff resolves the activity at once; the step is settled and nothing stands."""
    world.plan["make b"] = ["lose_reply", "not_now", "not_now"]
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a", "b"]))
    await eventually(lambda: "make b" in world.log)
    await handle.cancel()
    await sagas.cancelled(handle)
    assert world.things == NOTHING_LEFT


@pytest.mark.usefixtures("toy_worker")
async def test_cancelled_parallel_steps(sagas: Sagas, world: World) -> None:
    """All that run side by side end first and are undone."""
    for name in "abc":
        world.plan[f"make {name}"] = ["slow"]
    handle = await sagas.start(MakeTogether.run, Plan(world=world.name, things=["a", "b", "c"]))
    await eventually(lambda: len(world.log) == 3)
    await handle.cancel()
    await sagas.cancelled(handle)
    assert world.things == NOTHING_LEFT


@pytest.mark.parametrize("cancelled", [True, False], ids=["the workflow", "its other steps"])
async def test_many_side_by_side(
    sagas: Sagas, world: World, new_worker: NewWorker, *, cancelled: bool
) -> None:
    """A task group cancels them in any order; the history has theirs, so that it replays."""
    things = [f"thing-{number}" for number in range(24)]
    for name in things[1:]:
        world.plan[f"make {name}"] = ["slow"]
    world.plan[f"make {things[0]}"] = ["slow" if cancelled else "refuse"]
    async with new_worker(max_cached_workflows=0):
        handle = await sagas.start(MakeTogether.run, Plan(world=world.name, things=things))
        if cancelled:
            await eventually(lambda: len(world.log) == len(things))
            await handle.cancel()
            await sagas.cancelled(handle)
        else:
            assert (await sagas.failure(handle)).type == "SagaUndone"
    assert world.things == NOTHING_LEFT


async def test_cancelled_while_the_seal_is_written(sagas: Sagas, world: World, new_worker: NewWorker) -> None:
    """All done and COMPLETED, or all undone and CANCELED; never sealed and undone."""
    async with new_worker():
        for delay in (0.0, 0.01, 0.02, 0.03, 0.05, 0.08):
            world.things.clear()
            plan = Plan(world=world.name, things=["a"], wait=1)
            handle = await sagas.start(MakeThings.run, plan)
            await eventually(lambda: "a" in world.things)
            await handle.signal(MakeThings.go)
            await asyncio.sleep(delay)
            await handle.cancel()
            status = await _closed(sagas, handle)
            state = (await sagas.view(handle)).state
            assert (status, state, list(world.things)) in (
                (WorkflowExecutionStatus.COMPLETED, SagaState.SEALED, ["a"]),
                (WorkflowExecutionStatus.CANCELED, SagaState.CLOSED, []),
            )


async def _closed(sagas: Sagas, handle: object) -> WorkflowExecutionStatus | None:
    status = await sagas.status(handle)  # type: ignore[arg-type]
    while status is WorkflowExecutionStatus.RUNNING:
        await asyncio.sleep(0.05)
        status = await sagas.status(handle)  # type: ignore[arg-type]
    return status


async def test_eviction_undoes_nothing(
    sagas: Sagas, world: World, new_worker: NewWorker, caplog: pytest.LogCaptureFixture
) -> None:
    """Three waiting sagas in a cache of one: eviction undoes nothing, logs nothing, writes no journal line."""
    caplog.set_level(logging.WARNING)
    async with new_worker(max_cached_workflows=1):
        plan = Plan(world=world.name, things=["a"], wait=1)
        handles = [
            await sagas.start(MakeThings.run, plan.model_copy(update={"things": [f"t{number}"]}))
            for number in range(3)
        ]
        await eventually(lambda: len(world.things) == 3)
        await asyncio.sleep(0.5)
        for handle in handles:
            events = [line.event for line in (await sagas.view(handle)).journal]
            assert events == ["begin", "remember", "finish"]
        assert [record.getMessage() for record in caplog.records] == []
        for handle in handles:
            await handle.signal(MakeThings.go)
            await handle.result()
    assert len(world.things) == 3


async def test_a_bug_pauses_and_the_mended_code_goes_on(
    sagas: Sagas, world: World, new_worker: NewWorker
) -> None:
    """A KeyError undoes nothing; the fixed code goes on from there."""
    BROKEN["broken"] = True
    async with new_worker():
        handle = await sagas.start(MakeWithBug.run, Plan(world=world.name, things=["a", "b", "c"]))
        await sagas.until(handle, "workflow_task_failed")
        assert sorted(world.things) == ["a", "b"]
        assert await sagas.status(handle) is WorkflowExecutionStatus.RUNNING
    BROKEN["broken"] = False
    async with new_worker():
        await handle.result()
    assert sorted(world.things) == ["a", "b", "c"]
    assert world.log == ["make a", "make b", "make c"]


@pytest.mark.usefixtures("toy_worker")
async def test_a_forbidden_and_a_malformed_signal(sagas: Sagas, world: World) -> None:
    """A signal whose handler fails, and one that nobody knows, leave the saga going on."""
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a", "b"], wait=1))
    await eventually(lambda: "a" in world.things)
    await handle.signal("forbidden")
    await handle.signal("typed", {"nonsense": 1})
    await handle.signal("unheard_of", 1)
    await asyncio.sleep(0.3)
    await handle.signal("go")
    assert await handle.result() == ["a", "b"]


@pytest.mark.usefixtures("toy_worker")
async def test_a_bug_right_after_the_seal_then_a_terminate(sagas: Sagas, world: World) -> None:
    """The saga stays sealed with its effects on record, and a sweep finds it."""
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a"], bug_after=True))
    await sagas.until(handle, "workflow_task_failed")
    await handle.terminate()
    view = await sagas.view(handle)
    assert view.state in (SagaState.SEALED, SagaState.OPEN)
    assert list(world.things) == ["a"]
    namespace = view.id.partition("/")[0]
    assert view.id in [saga.saga for saga in await sagas.ledger.sweep(namespace, limit=10_000)]
