"""A saga as a step of another, on a real server: one saga, one seal, one undo in reverse order."""

from collections.abc import AsyncIterator

import pytest
from temporalio.worker import Worker

from rescind import SagaState
from tests.rescind.child_workflows import WORKFLOWS, Family, Made, MakeCrowd, MakeFamily, MakePart, Part
from tests.rescind.conftest import NewWorker
from tests.rescind.sagas import Handle, Sagas, eventually, undone_by
from tests.rescind.toy_world import World


@pytest.fixture(autouse=True)
async def family_worker(new_worker: NewWorker) -> AsyncIterator[Worker]:
    """A worker of these workflows, which replays at every task."""
    async with new_worker(workflows=WORKFLOWS) as running:
        yield running


def child_of(sagas: Sagas, handle: Handle, number: int = 1) -> Handle:
    """The workflow of a saga's child."""
    return sagas.client.get_workflow_handle(f"{handle.id}/MakePart#{number}")


async def test_a_child_saga_between_two_steps(sagas: Sagas, world: World) -> None:
    """Its result comes back, its steps are the root's with nested places, and the root's seal knows them."""
    handle = await sagas.start(MakeFamily.run, Family(world=world.name, parts=[Part(things=["a", "b"])]))
    assert await handle.result() == ["a", "b"]
    view = await sagas.view(handle)
    assert view.state is SagaState.SEALED
    assert [
        (effect.key.removeprefix(f"{view.id.partition('/')[2]}/"), effect.seq) for effect in view.effects
    ] == [
        ("make_thing#1", (1,)),
        ("MakePart#1/make_thing#1", (2, 1)),
        ("MakePart#1/make_thing#2", (2, 2)),
        ("make_thing#2", (3,)),
    ]


async def test_many_side_by_side_when_one_fails(sagas: Sagas, world: World) -> None:
    """A task group cancels the others in any order; the history has the order of the steps, so that it replays."""
    steps = [f"step-{number}" for number in range(8)]
    for name in steps:
        world.plan[f"make {name}"] = ["slow"]
    world.plan["make step-7"] = ["refuse"]
    parts = [Part(things=[f"part-{number}"], wait=True) for number in range(8)]
    handle = await sagas.start(MakeCrowd.run, Family(world=world.name, parts=parts, before=steps))
    cause = await sagas.failure(handle)
    assert (cause.type, world.things) == ("SagaUndone", {})
    assert "step-7 is not allowed" in cause.message


async def test_the_root_fails_after_the_child_has_completed(sagas: Sagas, world: World) -> None:
    """All is undone in the reverse order of both."""
    family = Family(world=world.name, parts=[Part(things=["a", "b"]), Part(things=["c"])], fail=True)
    handle = await sagas.start(MakeFamily.run, family)
    assert (await sagas.failure(handle)).type == "SagaUndone"
    assert undone_by(world) == ["y", "c", "b", "a", "x"]
    assert world.things == {}
    assert (await sagas.view(handle)).state is SagaState.CLOSED


async def test_a_child_that_fails(sagas: Sagas, world: World) -> None:
    """It undoes its own part first and fails; the root is undone after it."""
    world.plan["make c"] = ["refuse"]
    handle = await sagas.start(MakeFamily.run, Family(world=world.name, parts=[Part(things=["a", "b", "c"])]))
    cause = await sagas.failure(handle)
    assert cause.type == "SagaUndone"
    assert "c is not allowed" in cause.message
    assert (await sagas.failure(child_of(sagas, handle))).type == "SagaUndone"
    assert undone_by(world) == ["b", "a", "x"]


async def test_a_child_that_fails_and_is_caught(sagas: Sagas, world: World) -> None:
    """Nothing of it is left, so the root goes on, and is sealed."""
    world.things["a"] = "wanted"
    world.plan["make c"] = ["refuse"]
    family = Family(world=world.name, parts=[Part(things=["a", "b", "c"])], instead=["d"])
    handle = await sagas.start(MakeFamily.run, family)
    await handle.result()
    assert sorted(world.things) == ["a", "d", "x", "y"]
    assert (await sagas.view(handle)).state is SagaState.SEALED
    assert await sagas.states(handle) == ["applied", "undone", "undone", "absent", "applied", "applied"]


async def test_a_child_that_can_not_undo_its_part(sagas: Sagas, world: World) -> None:
    """The root can't go on; its report names what is left."""
    world.plan["make c"], world.plan["unmake b"] = ["refuse"], ["fail"] * 99
    family = Family(world=world.name, parts=[Part(things=["a", "b", "c"])], instead=["d"])
    handle = await sagas.start(MakeFamily.run, family)
    report = await sagas.report(handle)
    assert [step.step for step in report.left] == ["MakePart#1/make_thing#2"]
    assert list(world.things) == ["b"]
    assert "make d" not in world.log


async def test_children_side_by_side(sagas: Sagas, world: World) -> None:
    """When one fails, the other is cancelled and undone as well; nothing is left behind."""
    world.plan["make b"] = ["refuse"]
    parts = [Part(things=["a"], wait=True), Part(things=["slower", "b"])]
    handle = await sagas.start(MakeFamily.run, Family(world=world.name, parts=parts, together=True))
    assert (await sagas.failure(handle)).type == "SagaUndone"
    assert world.things == {}
    await sagas.cancelled(child_of(sagas, handle))


async def test_children_side_by_side_and_a_later_failure(sagas: Sagas, world: World) -> None:
    """Both are undone with the root."""
    parts = [Part(things=["a", "b"]), Part(things=["c"])]
    handle = await sagas.start(
        MakeFamily.run, Family(world=world.name, parts=parts, together=True, fail=True)
    )
    assert (await sagas.failure(handle)).type == "SagaUndone"
    assert undone_by(world) == ["y", "c", "b", "a", "x"]


async def test_a_cancellation_of_the_root(sagas: Sagas, world: World) -> None:
    """The child is cancelled and undoes its part, then the root undoes its own; both are CANCELED."""
    handle = await sagas.start(
        MakeFamily.run, Family(world=world.name, parts=[Part(things=["a", "b"], wait=True)])
    )
    await eventually(lambda: "b" in world.things)
    await handle.cancel()
    await sagas.cancelled(handle)
    await sagas.cancelled(child_of(sagas, handle))
    assert undone_by(world) == ["b", "a", "x"]


@pytest.mark.parametrize("fail", [False, True])
async def test_a_child_of_a_child_that_continues_as_new(sagas: Sagas, world: World, fail: bool) -> None:
    """All of them are one saga, sealed together or undone in reverse order."""
    inner = Part(things=["b"], rest=Part(things=["c"]))
    parts = [Part(things=["a"], child=inner)]
    handle = await sagas.start(MakeFamily.run, Family(world=world.name, parts=parts, fail=fail))
    if not fail:
        await handle.result()
        assert (await sagas.view(handle)).state is SagaState.SEALED
        assert [effect.seq for effect in (await sagas.view(handle)).effects] == [
            *((1,), (2, 1), (2, 2, 1), (2, 2, 2), (3,)),
        ]
        return
    assert (await sagas.failure(handle)).type == "SagaUndone"
    assert undone_by(world) == ["y", "c", "b", "a", "x"]


async def test_a_child_that_was_terminated(sagas: Sagas, world: World) -> None:
    """It could not undo its part; the root can't go on, and undoes it."""
    parts = [Part(things=["a", "b"], wait=True)]
    handle = await sagas.start(MakeFamily.run, Family(world=world.name, parts=parts, instead=["d"]))
    await eventually(lambda: "b" in world.things)
    await child_of(sagas, handle).terminate()
    assert (await sagas.failure(handle)).type == "SagaUndone"
    assert undone_by(world) == ["b", "a", "x"]
    assert "make d" not in world.log


async def test_a_child_that_fails_after_its_block(sagas: Sagas, world: World) -> None:
    """Its part is not sealed yet, so it is undone, and the root may go on."""
    parts = [Part(things=["a", "b"], fail_after=True)]
    handle = await sagas.start(MakeFamily.run, Family(world=world.name, parts=parts, instead=["d"]))
    await handle.result()
    assert sorted(world.things) == ["d", "x", "y"]
    assert undone_by(world) == ["b", "a"]
    assert (await sagas.view(handle)).state is SagaState.SEALED


async def test_a_savepoint_around_a_child(sagas: Sagas, world: World) -> None:
    """The child that has completed is taken back with the block, and the seal does not expect it."""
    family = Family(world=world.name, parts=[Part(things=["a", "b"])], savepoint=True, instead=["d"])
    handle = await sagas.start(MakeFamily.run, family)
    await handle.result()
    assert sorted(world.things) == ["d", "x", "y"]
    assert undone_by(world) == ["b", "a"]
    assert (await sagas.view(handle)).state is SagaState.SEALED


async def test_the_same_workflow_on_its_own(sagas: Sagas, world: World) -> None:
    """It has a saga of its own, and answers with its plain result."""
    handle = await sagas.start(MakePart.run, Part(things=["a"], world=world.name))
    assert await handle.result() == Made(things=("a",))
    assert (await sagas.view(handle)).state is SagaState.SEALED
