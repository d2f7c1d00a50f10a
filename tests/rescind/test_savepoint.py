"""Savepoints on a real server: a part is taken back, and the saga tries another way, or can't."""

from collections.abc import AsyncIterator

import pytest
from temporalio.worker import Worker

from rescind import SagaState
from tests.rescind.conftest import NewWorker
from tests.rescind.sagas import Sagas, eventually, undone_by
from tests.rescind.savepoint_workflows import WORKFLOWS, TryBesideABranch, TryInside, TryTwoWays, Ways
from tests.rescind.toy_world import World


@pytest.fixture(autouse=True)
async def savepoint_worker(new_worker: NewWorker) -> AsyncIterator[Worker]:
    """A worker of these workflows, which replays at every task."""
    async with new_worker(workflows=WORKFLOWS) as running:
        yield running


async def test_a_part_that_fails_and_another_way(sagas: Sagas, world: World) -> None:
    """The part is undone last first, what came before stands, and the other way has keys of its own."""
    world.plan["make c"] = ["refuse"]
    ways = Ways(world=world.name, before=["x"], first=["a", "b", "c"], second=["a", "d"])
    handle = await sagas.start(TryTwoWays.run, ways)
    await handle.result()
    assert sorted(world.things) == ["a", "d", "x"]
    assert undone_by(world) == ["b", "a"]
    assert len(world.keys["a"]) == 2
    assert (await sagas.view(handle)).state is SagaState.SEALED
    assert await sagas.states(handle) == ["applied", "undone", "undone", "absent", "applied", "applied"]


async def test_the_saga_fails_after_another_way(sagas: Sagas, world: World) -> None:
    """What the part's undo has taken back is not undone again; the rest is."""
    ways = Ways(world=world.name, before=["x"], first=["a"], second=["b"], fail=True, fail_at_last=True)
    handle = await sagas.start(TryTwoWays.run, ways)
    assert (await sagas.failure(handle)).type == "SagaUndone"
    assert world.things == {}
    assert undone_by(world) == ["a", "b", "x"]
    assert (await sagas.view(handle)).state is SagaState.CLOSED


@pytest.mark.parametrize("stubborn", [False, True])
async def test_a_stuck_step_in_the_part(sagas: Sagas, world: World, stubborn: bool) -> None:
    """The saga can't go on, also where the error is caught; it is not tried again, and the rest is undone."""
    world.plan["unmake b"] = ["fail"] * 9
    ways = Ways(world=world.name, before=["x"], first=["a", "b"], second=["c"], fail=True, stubborn=stubborn)
    handle = await sagas.start(TryTwoWays.run, ways)
    cause = await sagas.failure(handle)
    assert cause.type == "UndoIncomplete"
    assert "make_thing" in cause.message
    assert "the provider is away" in cause.message
    assert list(world.things) == ["b"]
    assert undone_by(world) == ["b"] * 3 + ["a", "x"]
    assert "make c" not in world.log
    assert await sagas.states(handle) == ["undone", "undone", "stuck"]


async def test_a_step_in_doubt_in_the_part(sagas: Sagas, world: World) -> None:
    """Nobody can tell whether it took effect, so the saga can't go on; the report names it and the first error."""
    world.plan["make b"] = ["lose_reply"]
    ways = Ways(world=world.name, before=["x"], first=["a", "b"], second=["c"], tool="toy.make_blind")
    handle = await sagas.start(TryTwoWays.run, ways)
    report = await sagas.report(handle)
    assert (report.failed_at, report.error) == ("make_blind#2", "the reply was lost")
    assert list(world.things) == ["b"]
    assert await sagas.states(handle) == ["undone", "undone", "in_doubt"]


async def test_a_point_of_no_return_in_the_part(sagas: Sagas, world: World) -> None:
    """It can't be taken back, so the saga can't go on."""
    ways = Ways(world=world.name, before=["x"], first=["a"], second=["c"], tool="toy.tell_world", fail=True)
    handle = await sagas.start(TryTwoWays.run, ways)
    assert "point of no return" in (await sagas.failure(handle)).message
    assert list(world.things) == ["a"]


async def test_a_step_of_the_part_that_changed_nothing(sagas: Sagas, world: World) -> None:
    """It is on record as undone with nothing to undo, and the saga goes on to its seal."""
    world.things["a"] = "wanted"
    ways = Ways(world=world.name, first=["a", "b"], second=["c"], fail=True)
    handle = await sagas.start(TryTwoWays.run, ways)
    await handle.result()
    assert sorted(world.things) == ["a", "c"]
    assert undone_by(world) == ["b"]
    assert await sagas.states(handle) == ["undone", "undone", "applied"]


async def test_a_time_limit_around_the_part(sagas: Sagas, world: World) -> None:
    """The step that is running is waited for and undone with the part, then another way is tried."""
    world.plan["make b"] = ["slow"]
    ways = Ways(world=world.name, first=["a", "b", "c", "d"], second=["e"], limit=1)
    handle = await sagas.start(TryTwoWays.run, ways)
    await handle.result()
    assert list(world.things) == ["e"]
    assert "make d" not in world.log


async def test_a_cancellation_inside_the_part(sagas: Sagas, world: World) -> None:
    """The whole saga is undone and CANCELED; no other way is tried."""
    world.plan["make b"] = ["slow"]
    ways = Ways(world=world.name, before=["x"], first=["a", "b"], second=["c"])
    handle = await sagas.start(TryTwoWays.run, ways)
    await eventually(lambda: "make b" in world.log)
    await handle.cancel()
    await sagas.cancelled(handle)
    assert world.things == {}
    assert undone_by(world) == ["b", "a", "x"]


async def test_a_cancellation_while_the_part_is_undone(sagas: Sagas, world: World) -> None:
    """The part's undo runs to its end, no other way is tried, and the rest is undone."""
    world.plan["unmake b"] = ["slow"]
    ways = Ways(world=world.name, before=["x"], first=["a", "b"], second=["c"], fail=True)
    handle = await sagas.start(TryTwoWays.run, ways)
    await eventually(lambda: "unmake b" in world.log)
    await handle.cancel()
    await sagas.cancelled(handle)
    assert undone_by(world) == ["b", "a", "x"]
    assert "make c" not in world.log


async def test_steps_side_by_side_in_the_part_and_a_branch_beside_it(sagas: Sagas, world: World) -> None:
    """The part's slow step is waited for and undone, and starts no other; the branch's thing stands."""
    world.plan["make a"], world.plan["make b"] = ["slow"], ["refuse"]
    ways = Ways(world=world.name, before=["x"], first=["a", "b"], second=["c"])
    handle = await sagas.start(TryBesideABranch.run, ways)
    await handle.result()
    assert sorted(world.things) == ["c", "x"]
    assert "make a, later" not in world.log
    assert (await sagas.view(handle)).state is SagaState.SEALED


async def test_a_savepoint_inside_another(sagas: Sagas, world: World) -> None:
    """Each takes back what was done inside it, once."""
    ways = Ways(world=world.name, before=["a"], first=["b"], second=["c"])
    handle = await sagas.start(TryInside.run, ways)
    await handle.result()
    assert list(world.things) == ["at last"]
    assert undone_by(world) == ["b", "c", "a"]


async def test_a_commit_inside_the_part(sagas: Sagas, world: World) -> None:
    """It is refused, since the part could still be taken back."""
    ways = Ways(world=world.name, first=["a"], commit_inside=True, fail_at_last=True)
    handle = await sagas.start(TryTwoWays.run, ways)
    assert (await sagas.failure(handle)).type == "SagaUndone"
    assert world.things == {}
    assert undone_by(world) == ["a"]
