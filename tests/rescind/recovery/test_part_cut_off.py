"""The undo of a part is terminated, or loses its only worker, half-way: the sweeper brings it to its end."""

import asyncio
import os
import sys
import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError

from rescind import Outcome, RescindPlugin, SagaState
from rescind._recorded import report_of
from rescind.ledger import Ledger
from rescind.recovery import Sweeping, UndoSagaOrder, start_undo
from tests.application import ROOT
from tests.faults.process import Process
from tests.rescind.namespaces import new_namespace
from tests.rescind.recovery.conftest import Look, Undo, look_once
from tests.rescind.recovery.shelf import PUT_FILE, FillShelf, Shelf
from tests.rescind.sagas import Handle, Sagas, eventually, until
from tests.rescind.toy_workflows import MakeThings, Plan
from tests.rescind.toy_world import WORLDS, World

# The SDK warns where a local activity has ended right before it is cancelled; as an error that would end the worker.
pytestmark = pytest.mark.filterwarnings("ignore:Cannot find activity to cancel:UserWarning")

EVENTS = range(1, 26, 1 if os.environ.get("RESCIND_SOAK") else 3)
"""Events of the undo's history after which it is terminated; two steps take 23."""


async def has_events(undo: Handle, count: int) -> None:
    """Wait until an undo's history has so many events, or its last one."""
    seen = 0
    async for _ in undo.fetch_history_events(wait_new_event=True):
        seen += 1
        if seen >= count:
            return


async def terminated_part(sagas: Sagas, undo: Undo, events: int) -> tuple[Handle, World, bool]:
    """A committed saga of four things, the undo of two of them terminated after so many events, and whether it was."""
    world = WORLDS[f"part-{sagas.task_queue}-{events}"]
    world.name = f"part-{sagas.task_queue}-{events}"
    world.plan.update(
        {"unmake b": ["slow"], "unmake d": ["slow"]}
    )  # else a busy machine sees only their ends
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a", "b", "c", "d"]))
    await handle.result()
    undoing = await undo(handle, "make_thing#2", "make_thing#4")
    await has_events(undoing, events)
    try:
        await undoing.terminate()
    except RPCError:
        assert await sagas.status(undoing) is WorkflowExecutionStatus.COMPLETED
        return handle, world, False
    return handle, world, True


@pytest.mark.usefixtures("toy_worker")
async def test_terminated(sagas: Sagas, undo: Undo, look: Look) -> None:
    """After each of its events: the part is undone once it was claimed, and the rest stands and stays committed."""
    cut_off = await asyncio.gather(*(terminated_part(sagas, undo, events) for events in EVENTS))
    assert sum(was_cut for _, _, was_cut in cut_off) > len(EVENTS) // 2
    half_done = [view for handle, _, _ in cut_off if (view := await sagas.view(handle)).part]
    assert half_done
    assert {report_of(view).outcome for view in half_done} == {Outcome.RUNNING}

    async def all_done() -> bool:
        await look()
        return all([not (await sagas.view(handle)).part for handle, _, _ in cut_off])

    await until(all_done)
    for handle, world, was_cut in cut_off:
        view = await sagas.view(handle)
        assert view.state is SagaState.COMMITTED
        if was_cut and not view.epoch:
            assert sorted(world.things) == ["a", "b", "c", "d"]  # terminated before it was claimed
        else:
            assert sorted(world.things) == ["a", "c"]
            assert await sagas.states(handle) == ["applied", "undone", "applied", "undone"]
        assert (await sagas.ledger.verify(view.id)).differences == []


@pytest.mark.usefixtures("toy_worker")
async def test_stuck_and_terminated(sagas: Sagas, undo: Undo, look: Look, world: World) -> None:
    """What can't be undone has a reconciliation in the end, the rest of the part is undone, and the others stand."""
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a", "b", "c"]))
    await handle.result()
    world.things["c"] = "somebody else"
    world.plan["unmake b"] = ["slow"]
    undoing = await undo(handle, "make_thing#2", "make_thing#3")
    await eventually(lambda: "unmake b" in world.log)
    await undoing.terminate()
    assert f"{handle.id}/{handle.first_execution_run_id}" in (await look()).undoing
    assert (await sagas.failure(sagas.client.get_workflow_handle(undoing.id))).type == "UndoIncomplete"
    assert sorted(world.things) == ["a", "c"]
    assert await sagas.states(handle) == ["applied", "undone", "stuck"]
    assert (await sagas.view(handle)).state is SagaState.COMMITTED
    reconciliation = sagas.client.get_workflow_handle(
        f"rescind-reconcile/{handle.id}/{handle.first_execution_run_id}"
    )
    assert await sagas.status(reconciliation) is WorkflowExecutionStatus.RUNNING
    assert report_of(await sagas.view(handle)).outcome is Outcome.INCOMPLETE
    assert (await look()).undoing == []
    await reconciliation.terminate()


@pytest.fixture
async def alone(stack_environment: dict[str, str], ledger_dsn: str) -> Client:
    """A client of a namespace in which no worker runs, beside those that the test starts."""
    address = stack_environment["TEMPORAL_ADDRESS"]
    plugin = RescindPlugin([PUT_FILE], ledger=ledger_dsn, sweeping=None)
    return await Client.connect(address, namespace=await new_namespace(address, "part"), plugins=[plugin])


@asynccontextmanager
async def working(
    client: Client, environment: dict[str, str], queue: str, log: Path
) -> AsyncGenerator[Process]:
    """A worker process."""
    settings = environment | {"TEMPORAL_NAMESPACE": client.namespace, "SHELF_QUEUE": queue}
    command = [sys.executable, "-m", "tests.rescind.recovery.shelf"]
    async with Process(command, settings, log, cwd=ROOT) as process:
        await process.line("it polls", within=60)
        yield process


@pytest.mark.parametrize("terminated", [False, True])
async def test_only_worker_is_killed(
    alone: Client, ledger: Ledger, stack_environment: dict[str, str], tmp_path: Path, terminated: bool
) -> None:
    """With SIGKILL, at as many points as there are sagas: a new worker finds nothing half undone in the end.

    The undos wait for it, or they were terminated as well, and the sweeper starts them anew.
    """
    sagas = Sagas(alone, ledger, f"shelf-{uuid.uuid4()}")
    folders = [tmp_path / f"shelf-{number}" for number in range(12)]
    async with working(alone, stack_environment, sagas.task_queue, tmp_path / "first.log") as process:
        handles: list[Handle] = []
        for folder in folders:
            folder.mkdir()
            shelf = Shelf(folder=folder, names=["a", "b", "c"])
            handles.append(await sagas.start(FillShelf.run, shelf))
        await asyncio.gather(*(handle.result() for handle in handles))
        undos: list[Handle] = []
        for handle in handles:
            undos.append(await start_undo(alone, part_of(handle, sagas.task_queue), join=False))
            await asyncio.sleep(0.1)
        await process.kill()
    lengths = [len(await sagas.events(undo)) for undo in undos]
    assert len(set(lengths)) > 2, lengths
    for undo in undos:
        if terminated and await sagas.status(undo) is WorkflowExecutionStatus.RUNNING:
            await undo.terminate()
    async with working(alone, stack_environment, sagas.task_queue, tmp_path / "second.log"):

        async def all_done() -> bool:
            await look_once(alone, sagas.task_queue, Sweeping())
            return all([not (await sagas.view(handle)).part for handle in handles])

        await until(all_done, within=90)
        for handle, folder, undo in zip(handles, folders, undos, strict=True):
            view = await sagas.view(handle)
            assert view.state is SagaState.COMMITTED
            claimed = not terminated or view.epoch
            if not terminated:
                await undo.result()
            assert sorted(file.name for file in folder.iterdir()) == (["a"] if claimed else ["a", "b", "c"])


def part_of(handle: Handle, queue: str) -> UndoSagaOrder:
    """The order to undo the last two of its three steps."""
    return UndoSagaOrder(
        saga=f"{handle.id}/{handle.first_execution_run_id}",
        who="anna",
        why="regretted",
        committed=True,
        steps=("put_file#2", "put_file#3"),
        task_queue=queue,
    )
