"""Runs the cells: all at once on one worker, each with its own faults at the one sandbox; lone mails one by one."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import JsonValue
from temporalio import activity
from temporalio.client import Client, WorkflowFailureError, WorkflowHandle
from temporalio.worker import Worker

from embedded.environment import only
from embedded.world import World, snapshot
from rescind import RescindPlugin, SagaReport
from rescind.ledger import Ledger, SagaView, install
from rescind.reconciliation import Pace
from tests.activities.sandbox_world import Sandbox, sandbox_of
from tests.matrix.run import saga_view
from tests.matrix.tools.cells import Cell
from tests.matrix.tools.faults import Faults, Over
from tests.matrix.tools.history import History, history
from tests.matrix.tools.places import Places, places_of
from tests.matrix.tools.providers import Case, Keys, keys_of, prepared
from tests.matrix.tools.saga import TOOLS, OneStep, TakeAndGiveBack
from tests.matrix.tools.subjects import Side, Subject

AT_A_TIME = 40
"""Sagas that are under way at a time."""

_LATER = Pace(retries=())
"""What is judged is how a saga ended, so no reconciliation tries an undo again by itself meanwhile."""

HTTP_SECONDS = "2"
QUIET_SECONDS = 30.0


@dataclass(frozen=True)
class Ended:
    """How one cell's saga ended.

    Attributes:
        case: The cell and what it has at the providers.
        keys: The keys of its step.
        closed: The type of the workflow's failure.
        report: The report in it.
        met: The sides whose fault was met.
        seconds: From the start to the end.
        view: What is on record of it; None where nothing is.
        result: What the step answered; None if it failed.
    """

    case: Case
    keys: Keys
    closed: str
    report: SagaReport | None
    met: frozenset[Side]
    seconds: float
    view: SagaView | None
    result: JsonValue


@dataclass(frozen=True)
class Batch:
    """All cells with the world before and after them, and everything that the providers ever had."""

    ended: list[Ended]
    before: World
    after: World
    history: History
    seconds: float


async def run_cells(cells: Sequence[Cell], stack: dict[str, str], engine: Path | None = None) -> Batch:
    """Run the cells in running stand-ins, which nobody else uses meanwhile, and on this Docker engine."""
    began = time.monotonic()
    install(stack["RESCIND_LEDGER_ADMIN_DSN"], workers=["rescind_ledger_worker"])
    plugin = RescindPlugin(TOOLS, ledger=stack["RESCIND_LEDGER_DSN"], sweeping=None, pace=_LATER)
    async with places_of(cells, stack, engine) as places, sandbox_of(stack) as sandbox:
        cases = await prepared(cells, sandbox, places)
        before = await asyncio.to_thread(snapshot, places.outside)
        with only(places.worker | {"RESCIND_HTTP_SECONDS": HTTP_SECONDS}):
            client = await Client.connect(stack["TEMPORAL_ADDRESS"], plugins=[plugin])
            async with Ledger(stack["RESCIND_LEDGER_DSN"], connections=2) as ledger:
                bench = Bench(client, Faults(sandbox, places), ledger)
                told = [bench.before_the_call, bench.before_the_undo]
                async with Worker(
                    client, task_queue=bench.queue, workflows=[TakeAndGiveBack], activities=told
                ):
                    ended = await bench.run(cases)
        await _quiet(sandbox, places)
        after = await asyncio.to_thread(snapshot, places.outside)
        had = await history(sandbox, places)
    return Batch(ended, before, after, had, time.monotonic() - began)


class Bench:
    """Where sagas are run and their faults are planned."""

    def __init__(self, client: Client, faults: Faults, ledger: Ledger) -> None:
        self._client, self._faults, self._ledger = client, faults, ledger
        self._limit = asyncio.Semaphore(AT_A_TIME)
        self._running: dict[str, Running] = {}
        self.queue = "tools-matrix"

    async def run(self, cases: Sequence[Case]) -> list[Ended]:
        """Run all; mails that may not meet another one come one by one, after the others."""
        mails = [case for case in cases if case.cell.tool is Subject.EMAIL]
        others = [case for case in cases if case.cell.tool is not Subject.EMAIL]
        lone, together = await asyncio.gather(
            self._mails(mails), asyncio.gather(*(self._one(case) for case in others))
        )
        return [*lone, *together]

    async def _mails(self, cases: Sequence[Case]) -> list[Ended]:
        together = await asyncio.gather(*(self._one(case) for case in cases if not case.cell.alone))
        return [*together, *[await self._one(case) for case in cases if case.cell.alone]]

    async def _one(self, case: Case) -> Ended:
        async with self._limit:
            began = time.monotonic()
            cell = case.cell
            self._running[cell.name] = Running(case)
            given = OneStep(tool=cell.tool.value, request=case.request())
            handle: WorkflowHandle[Any, Any] = await self._client.start_workflow(
                TakeAndGiveBack.run, given, id=cell.name, task_queue=self.queue
            )
            closed, report = await _closed(handle)
            running = self._running.pop(cell.name)
            await self._end(running)
            saga = f"{handle.id}/{handle.first_execution_run_id}"
            view = await saga_view(self._ledger, self._client, saga)
            assert view is None or (await self._ledger.verify(view.id)).differences == []
            met, seconds = frozenset(running.met), time.monotonic() - began
            return Ended(case, keys_of(cell.tool, saga), closed, report, met, seconds, view, running.result)

    @activity.defn
    async def before_the_call(self, result: JsonValue) -> None:
        """Plan the call's fault."""
        await self._begin(Side.CALL, result)

    @activity.defn
    async def before_the_undo(self, result: JsonValue) -> None:
        """The call's fault is over; plan the undo's."""
        await self._begin(Side.UNDO, result)

    async def _begin(self, side: Side, result: JsonValue) -> None:
        info = activity.info()
        running = self._running[str(info.workflow_id)]
        await self._end(running)
        keys = keys_of(running.case.cell.tool, f"{info.workflow_id}/{info.workflow_run_id}")
        running.result = result
        if over := await self._faults.begin(running.case, side, keys, result):
            running.plan = side, over

    async def _end(self, running: "Running") -> None:
        """The plan of the side that was on is gone; whether it was met is kept."""
        if running.plan is None:
            return
        side, over = running.plan
        running.plan = None
        if await over():
            running.met.add(side)


@dataclass
class Running:
    """A cell that is under way: its present plan, the sides whose faults were met, and what its step answered."""

    case: Case
    plan: tuple[Side, Over] | None = None
    met: set[Side] = field(default_factory=set[Side])
    result: JsonValue = None


async def _closed(handle: WorkflowHandle[Any, Any]) -> tuple[str, SagaReport | None]:
    try:
        await handle.result()
    except WorkflowFailureError as failure:
        details = getattr(failure.cause, "details", None) or [None]
        report = SagaReport.model_validate(details[0]) if details[0] else None
        return str(getattr(failure.cause, "type", "")), report
    return "COMPLETED", None


async def _quiet(sandbox: Sandbox, places: Places) -> None:
    """Nothing is under way at any provider."""
    async with asyncio.timeout(QUIET_SECONDS):
        while await _under_way(sandbox, places):  # noqa: ASYNC110 - they tell nobody
            await asyncio.sleep(0.2)


async def _under_way(sandbox: Sandbox, places: Places) -> bool:
    calls = await sandbox.get("/admin/calls")
    return any(each.under_way for each in places.seen()) or any(each["under_way"] for each in calls)
