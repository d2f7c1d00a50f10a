"""Runs cells: real workers, the sagas, and what is done to them while their calls stand at the gate."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from temporalio.client import Client, WorkflowFailureError, WorkflowHandle

from tests.faults import Seen
from tests.faults.process import Process
from tests.matrix.cells import Cell, Trouble
from tests.matrix.places import Places, request_of
from tests.matrix.points import Point, points_of

ROOT = Path(__file__).parents[2]
WORKFLOW = "ProvisionEnvironment"
Starting: TypeAlias = Coroutine[Any, Any, WorkflowHandle[Any, Any]]
STARTING = asyncio.Semaphore(2)
"""Workers that may start at a time: a start is all computing, and calls that wait for it would time out."""

EVENTS_A_STEP = 6
"""In a saga's history: three of the activity, three of the workflow task after it; four come before the first."""

SAGA_SECONDS = 400.0
"""After this long a saga counts as one that hangs; the slowest cell takes less than half of it when idle."""


@dataclass
class Ended:
    """How one cell's saga ended, and what its provider saw.

    Attributes:
        cell: The cell.
        closed: COMPLETED, CANCELED, or the type of the workflow's failure; RUNNING if it hangs.
        report: The report in the failure's details, or None.
        seen: The calls at the point where the cell met its trouble.
        saga: The saga's id in the ledger, without the namespace's.
        trouble: What went wrong with the test itself, empty if nothing did.
        seconds: From the saga's start to its end.
        missed: No call stood at the point when the worker was struck; `trouble` says why.
    """

    cell: Cell
    closed: str = "RUNNING"
    report: dict[str, Any] | None = None
    seen: list[Seen] = field(default_factory=list[Seen])
    saga: str = ""
    trouble: str = ""
    seconds: float = 0.0
    missed: bool = False


@asynccontextmanager
async def worker(environment: dict[str, str], task_queue: str, log: Path) -> AsyncGenerator[Process]:
    """A worker process that polls the task queue."""
    command: list[str | Path] = [ROOT / "worker.py", "--task-queue", task_queue]
    async with AsyncExitStack() as room:
        async with STARTING:
            process = await room.enter_async_context(Process(command, environment, log, cwd=ROOT))
            await process.line(r"Worker: .* polls", within=120)
        yield process


async def run_bench(cells: Sequence[Cell], places: Places, client: Client, folder: Path) -> list[Ended]:
    """Run cells of one trouble on one worker; where that is killed or stopped, a second one goes on."""
    queue = cells[0].name
    log = folder / f"{queue}.log"
    async with points_of(cells, places) as (environment, points), worker(environment, queue, log) as first:
        if not cells[0].trouble.strikes_the_worker:
            runs = [_run(cell, points[cell.name], client, queue) for cell in cells]
            return list(await asyncio.gather(*runs))
        handles = await start_together([(cell.step.number, start(cell, client, queue)) for cell in cells])
        stopped = cells[0].trouble is Trouble.STOPPED
        missed = await strike(first, points, stop=stopped)
        async with worker(environment, queue, log.with_suffix(".second.log")):
            if stopped:
                await asyncio.gather(*map(closed, handles))
                await wake(first, points.values())
            ends = [
                _ended(cell, points[cell.name], handle, missed[cell.name])
                for cell, handle in zip(cells, handles, strict=True)
            ]
            done = await asyncio.gather(*ends)
            return [replace(ended, missed=bool(ended.trouble)) for ended in done]


async def strike(process: Process, points: Mapping[str, Point], *, stop: bool) -> dict[str, str]:
    """Kill or stop the worker while a call stands at each point; by the point's name why none did, or nothing."""
    missed = dict(zip(points, await asyncio.gather(*map(_missed, points.values())), strict=True))
    standing = {name: missed[name] or point.why_not_standing() for name, point in points.items()}
    if stop:
        process.stop()
    else:
        await process.kill()
    return standing


async def start_together(sagas: Sequence[tuple[int, Starting]]) -> list[WorkflowHandle[Any, Any]]:
    """Start sagas so that all come to their points at about the same time, since no client waits there for long.

    The one whose point is at the latest step starts first, and each other one when that has as many steps before it.

    Args:
        sagas: The number of the step with the point, and what starts the saga.
    """
    last = max(number for number, _ in sagas)
    first = next(place for place, (number, _) in enumerate(sagas) if number == last)
    ahead = await sagas[first][1]

    async def follow(number: int, starting: Starting) -> WorkflowHandle[Any, Any]:
        wanted = EVENTS_A_STEP * (last - number) + 5
        while (await ahead.describe()).history_length < wanted:  # noqa: ASYNC110 - the server tells nobody
            await asyncio.sleep(0.05)
        return await starting

    others = iter(
        await asyncio.gather(*(follow(*saga) for place, saga in enumerate(sagas) if place != first))
    )
    return [ahead if place == first else next(others) for place in range(len(sagas))]


async def _missed(point: Point) -> str:
    """Why no call came to the point, empty if one did."""
    try:
        await point.reached()
    except TimeoutError as error:
        return str(error)
    return ""


async def _run(cell: Cell, point: Point, client: Client, queue: str) -> Ended:
    handle = await start(cell, client, queue)
    if cell.trouble is Trouble.CANCELLED:
        try:
            await point.reached()
        except TimeoutError as error:
            return await _ended(cell, point, handle, str(error))
        await handle.cancel()
        await asyncio.sleep(0.5)
        await point.provider.release()
    return await _ended(cell, point, handle)


async def start(cell: Cell, client: Client, queue: str) -> WorkflowHandle[Any, Any]:
    """Start the cell's saga."""
    return await client.start_workflow(WORKFLOW, request_of(cell), id=cell.name, task_queue=queue)


async def wake(process: Process, points: Iterable[Point]) -> None:
    """The woken worker reports what its calls did, and ends when it is told to."""
    process.resume()
    for point in points:
        await point.provider.release()
    await asyncio.sleep(2)
    process.terminate()
    await process.ended(within=90)


async def closed(handle: WorkflowHandle[Any, Any]) -> tuple[str, dict[str, Any] | None]:
    """How the saga ended, and the report in its failure."""
    try:
        async with asyncio.timeout(SAGA_SECONDS):
            await handle.result()
    except TimeoutError:
        return "RUNNING", None
    except WorkflowFailureError as failure:
        kind = getattr(failure.cause, "type", None) or "CANCELED"
        details = getattr(failure.cause, "details", None) or [None]
        return str(kind), details[0]
    return "COMPLETED", None


async def _ended(cell: Cell, point: Point, handle: WorkflowHandle[Any, Any], trouble: str = "") -> Ended:
    end, report = await closed(handle)
    if cell.trouble is Trouble.LATE:
        await point.quiet()
    await point.provider.release()
    saga = f"{handle.id}/{handle.first_execution_run_id}"
    described = await handle.describe()
    took = (described.close_time or datetime.now(UTC)) - described.start_time
    return Ended(cell, end, report, point.calls(), saga, trouble, took.total_seconds())
