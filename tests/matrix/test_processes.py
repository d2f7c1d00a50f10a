"""What happens to processes: told to end, killed in the middle of an unwind, stopped for long and woken."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client, WorkflowHandle
from temporalio.contrib.pydantic import pydantic_data_converter

from embedded.world import World, difference, snapshot
from rescind import SagaState
from rescind.ledger import Ledger, SagaView, install
from tests.faults import Fault
from tests.matrix.bench import SAGA_SECONDS, closed, run_bench, start, worker
from tests.matrix.cells import Cell, Step, Trouble
from tests.matrix.places import Places, places_of
from tests.matrix.points import Point, points_of
from tests.matrix.run import judge_all, saga_view

pytestmark = pytest.mark.timeout(2 * SAGA_SECONDS)


@dataclass
class Scene:
    """One cell's places, its providers, and the world as it was before."""

    cell: Cell
    places: Places
    client: Client
    before: World
    stack: dict[str, str]
    folder: Path
    environment: dict[str, str]
    point: Point

    def worker(self, log: str, **more: str) -> Any:
        """A worker process of this scene."""
        return worker(self.environment | more, self.cell.name, self.folder / log)

    async def start(self) -> WorkflowHandle[Any, Any]:
        """The saga."""
        return await start(self.cell, self.client, self.cell.name)

    async def view(self, handle: WorkflowHandle[Any, Any]) -> SagaView:
        """What is on record."""
        async with Ledger(self.stack["RESCIND_LEDGER_DSN"], connections=1) as ledger:
            view = await saga_view(ledger, self.client, f"{handle.id}/{handle.first_execution_run_id}")
        assert view
        return view

    async def left(self) -> list[str]:
        """How the world differs from before."""
        return difference(self.before, await asyncio.to_thread(snapshot, self.places.environment))


@asynccontextmanager
async def scene(cell: Cell, stack: dict[str, str], folder: Path) -> AsyncGenerator[Scene]:
    """Everything that one cell needs; the world is read through the places, past the faults."""
    install(stack["RESCIND_LEDGER_ADMIN_DSN"], workers=["rescind_ledger_worker"])
    client = await Client.connect(stack["TEMPORAL_ADDRESS"], data_converter=pydantic_data_converter)
    places = places_of([cell], stack, folder, None)
    before = await asyncio.to_thread(snapshot, places.environment)
    async with points_of([cell], places) as (environment, points):
        yield Scene(cell, places, client, before, stack, folder, environment, points[cell.name])


def undos(view: SagaView) -> list[str]:
    """The tools in the order in which their undos were begun, repeated ones included."""
    tools = {effect.key: effect.tool for effect in view.effects}
    bodies: list[Any] = [line.body for line in view.journal if line.event == "undo_begin"]
    return [tools[body["key"]] for body in bodies if "undo_try" in body["effect"]]


NEWEST_FIRST = ["ecs.deploy", "postgres.migrate", "s3.create_bucket", "git.create_branch"]


async def test_sigterm_in_mid_step(stack_environment: dict[str, str], tmp_path: Path) -> None:
    """The worker finishes the step that it has begun, records it, and ends with 0; another one goes on."""
    cell = Cell(Step.BRANCH, Trouble.TIMED_OUT, run="sigterm")
    async with scene(cell, stack_environment, tmp_path) as here:
        async with here.worker("first.log") as first:
            handle = await here.start()
            await here.point.reached()
            first.terminate()
            await first.line("Finishing the running steps")
            await here.point.provider.release()
            assert await first.ended(within=90) == 0
        assert (await here.view(handle)).effects[0].attempt == 1
        async with here.worker("second.log"):
            assert (await closed(handle))[0] == "COMPLETED"
        assert [seen.acted for seen in here.point.calls()] == [True]


@pytest.mark.parametrize("fault", [Fault.HOLD, Fault.HANG_AFTER])
async def test_killed_in_mid_unwind(stack_environment: dict[str, str], tmp_path: Path, fault: Fault) -> None:
    """Another worker with another hash seed goes on: last in, first out, and the repeated undo does no harm."""
    cell = Cell(Step.BUCKET, Trouble.NONE, doomed=True, run=f"unwind{fault.name.lower().replace('_', '')}")
    async with scene(cell, stack_environment, tmp_path) as here:
        delete = Point(here.point.provider, f"delete bucket {cell.name}")
        await delete.provider.plan(delete.operation, [fault])
        async with here.worker("first.log", PYTHONHASHSEED="1") as first:
            handle = await here.start()
            await delete.reached(within=120)
            await first.kill()
        async with here.worker("second.log", PYTHONHASHSEED="2"):
            assert (await closed(handle))[0] == "SagaUndone"
        view = await here.view(handle)
        begun = undos(view)
        assert list(dict.fromkeys(begun)) == NEWEST_FIRST
        assert begun.count("s3.create_bucket") == 2
        assert len(begun) == len(NEWEST_FIRST) + 1
        assert view.state is SagaState.CLOSED
        assert await here.left() == []


async def test_the_reply_to_an_undo_is_lost(stack_environment: dict[str, str], tmp_path: Path) -> None:
    """The world is as before when it is tried again, and that is success, not a conflict."""
    cell = Cell(Step.BUCKET, Trouble.NONE, doomed=True, run="undolost")
    async with scene(cell, stack_environment, tmp_path) as here:
        await here.point.provider.plan(f"delete bucket {cell.name}", [Fault.DROP_AFTER])
        async with here.worker("worker.log"):
            handle = await here.start()
            assert (await closed(handle))[0] == "SagaUndone"
        assert undos(await here.view(handle)).count("s3.create_bucket") == 2
        assert await here.left() == []


async def test_all_workers_killed_before_the_failure(
    stack_environment: dict[str, str], tmp_path: Path
) -> None:
    """The undo has its receipts from the ledger: a worker that knows nothing of the steps undoes them all."""
    cell = Cell(Step.SERVICE, Trouble.KILLED_BEFORE, doomed=True, run="receipt")
    async with scene(cell, stack_environment, tmp_path) as here:
        (ended,) = await run_bench_in(here)
        assert ended.closed == "SagaUndone"
        assert await here.left() == []


async def run_bench_in(here: Scene) -> Any:
    """The cell as in the matrix, in places that are there already."""
    return await run_bench([here.cell], here.places, here.client, here.folder)


async def test_the_ledger_and_the_world_say_the_same(
    stack_environment: dict[str, str], tmp_path: Path
) -> None:
    """The first attempt acts and its reply is lost, the second would be refused: it is recovered, acts once, stands."""
    cell = Cell(Step.BUCKET, Trouble.REFUSED_SECOND, run="lostrefused")
    reference = Cell(Step.SERVICE, Trouble.NONE, run="lostrefused")
    install(stack_environment["RESCIND_LEDGER_ADMIN_DSN"], workers=["rescind_ledger_worker"])
    client = await Client.connect(
        stack_environment["TEMPORAL_ADDRESS"], data_converter=pydantic_data_converter
    )
    places = places_of([cell, reference], stack_environment, tmp_path, None)
    before = await asyncio.to_thread(snapshot, places.environment)
    ended = await run_bench([cell, reference], places, client, tmp_path)
    after = await asyncio.to_thread(snapshot, places.environment)
    outcome = await judge_all(ended, before, after, client, stack_environment)
    assert [verdict.problems for verdict in outcome.verdicts] == [(), ()]
    assert ended[0].closed == "COMPLETED"
