"""Windows that are over, receipts that nobody can read, tools that nobody knows: told, and never tried for ever."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from temporalio.client import Client
from temporalio.worker import Worker

from rescind import Outcome, RecordState, RescindPlugin, SagaState
from rescind._catalogue import AnyTool
from rescind.recovery import UndoSagaOrder, start_undo
from tests.rescind.sagas import Handle, Sagas
from tests.rescind.toy_workflows import WORKFLOWS, MakeThings, Plan
from tests.rescind.toy_world import MAKE_BLIND, MAKE_THING, TOOLS, World


@asynccontextmanager
async def worker_with(
    beside: Client, dsn: str, queue: str, tools: Iterable[AnyTool]
) -> AsyncGenerator[Client]:
    """A worker of these tools, which works on nobody else's operations."""
    plugin = RescindPlugin(tools, ledger=dsn, sweeping=None, operations=False)
    client = await Client.connect(
        beside.service_client.config.target_host, namespace=beside.namespace, plugins=[plugin]
    )
    async with Worker(client, task_queue=queue, workflows=WORKFLOWS, max_cached_workflows=0):
        yield client


def but(changed: AnyTool | None, name: str) -> list[AnyTool]:
    """The toy tools with one of them changed or taken away."""
    others = [tool for tool in TOOLS if tool.name != name]
    return others if changed is None else [*others, changed]


async def made(sagas: Sagas, world: World, tool: str = "toy.make_thing", **more: Any) -> Handle:
    """A saga that is done."""
    plan = Plan(world=world.name, things=["a", "b"], tool=tool, **more)
    handle = await sagas.start(MakeThings.run, plan)
    await handle.result()
    return handle


def order(handle: Handle, queue: str) -> UndoSagaOrder:
    """The order to undo it."""
    return UndoSagaOrder(
        saga=f"{handle.id}/{handle.first_execution_run_id}",
        who="anna",
        why="regretted",
        committed=True,
        task_queue=queue,
    )


async def no_reconciliation(sagas: Sagas, handle: Handle) -> None:
    """End the reconciliation that was opened."""
    await sagas.client.get_workflow_handle(
        f"rescind-reconcile/{handle.id}/{handle.first_execution_run_id}"
    ).terminate()


async def test_window_is_over(sagas: Sagas, world: World, ledger_dsn: str, toy_worker: Worker) -> None:
    """It is refused and nothing is claimed or touched; before that it is undone."""
    within = timedelta(seconds=1)
    tools = but(MAKE_THING.model_copy(update={"undo_within": within}), MAKE_THING.name)
    queue = f"{sagas.task_queue}-windows"
    handle = await made(sagas, world)
    await asyncio.sleep(1.2)
    async with worker_with(sagas.client, ledger_dsn, queue, tools):
        cause = await sagas.failure(await start_undo(sagas.client, order(handle, queue), join=False))
    assert cause.type == "UndoRefused"
    assert "the time to undo it is over: make_thing#1 (toy.make_thing) could be undone until" in cause.message
    assert sorted(world.things) == ["a", "b"]
    assert (await sagas.view(handle)).epoch == 0


async def test_tool_that_nobody_knows(
    sagas: Sagas, world: World, ledger_dsn: str, toy_worker: Worker
) -> None:
    """Its steps are stuck with a message, at once, and stay as they are."""
    queue = f"{sagas.task_queue}-without"
    handle = await made(sagas, world)
    async with worker_with(sagas.client, ledger_dsn, queue, but(None, MAKE_THING.name)):
        report = await sagas.report(await start_undo(sagas.client, order(handle, queue), join=False))
    assert report.outcome is Outcome.INCOMPLETE
    assert sorted(world.things) == ["a", "b"]
    view = await sagas.view(handle)
    assert view.state is SagaState.UNWINDING
    assert [effect.state for effect in view.effects] == [RecordState.STUCK] * 2
    assert "no tool 'toy.make_thing' is known" in str(view.effects[0].error)
    await no_reconciliation(sagas, handle)


async def test_unsettled_step_of_a_tool_that_nobody_knows(
    sagas: Sagas, world: World, ledger_dsn: str, toy_worker: Worker
) -> None:
    """It is in doubt with a message, since nobody can tell, and the steps that are known are undone."""
    queue = f"{sagas.task_queue}-without"
    world.plan["make b"] = ["hang"]
    plan = Plan(world=world.name, things=["a", "b"], tool=MAKE_BLIND.name)
    handle = await sagas.start(MakeThings.run, plan)
    while "b" not in world.things:
        await handle.describe()
    await handle.terminate()
    async with worker_with(sagas.client, ledger_dsn, queue, but(None, MAKE_BLIND.name)):
        report = await sagas.report(await start_undo(sagas.client, order(handle, queue), join=False))
    assert [step.state for step in report.steps] == [RecordState.STUCK, RecordState.IN_DOUBT]
    assert sorted(world.things) == ["a", "b"]
    await no_reconciliation(sagas, handle)


async def test_receipt_of_a_later_version(
    sagas: Sagas, world: World, ledger_dsn: str, toy_worker: Worker
) -> None:
    """A receipt that today's models can't read is never misread: stuck with a message."""
    tools = but(MAKE_THING.model_copy(update={"version": 7}), MAKE_THING.name)
    queue = f"{sagas.task_queue}-later"
    later = Sagas(sagas.client, sagas.ledger, queue)
    async with worker_with(sagas.client, ledger_dsn, queue, tools):
        handle = await made(later, world)
    report = await sagas.report(await start_undo(sagas.client, order(handle, sagas.task_queue), join=False))
    assert [step.state for step in report.steps] == [RecordState.STUCK] * 2
    assert "it was written by version 7, and this worker has 1" in str(report.steps[0].error)
    assert sorted(world.things) == ["a", "b"]
    await no_reconciliation(sagas, handle)


async def test_point_of_no_return(sagas: Sagas, world: World, toy_worker: Worker) -> None:
    """What has no undo stays and is named; the rest is undone."""
    handle = await made(sagas, world, tell="news", approved=["toy.tell_world"])
    report = await sagas.report(await start_undo(sagas.client, order(handle, sagas.task_queue), join=False))
    assert list(world.things) == ["news"]
    assert [step.state for step in report.left] == [RecordState.STUCK]
    await no_reconciliation(sagas, handle)
