"""A worker that is stopped in mid-call for longer than the step's time, and wakes when all is undone (scenario 43)."""

import asyncio
import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from temporalio.client import Client, WorkflowHandle
from temporalio.contrib.pydantic import pydantic_data_converter

from embedded.world import World, difference, snapshot
from rescind import RecordState, SagaState
from rescind.ledger import Ledger, SagaView, install
from tests.activities.sandbox_world import sandbox_of
from tests.faults import Fault
from tests.faults.http_proxy import Dialect, HttpFaults
from tests.faults.http_wire import Answer
from tests.matrix.bench import closed, start, start_together, strike, wake, worker
from tests.matrix.cells import Cell, Step, Trouble
from tests.matrix.places import Places, places_of
from tests.matrix.points import Point, points_of
from tests.matrix.run import saga_view

pytestmark = pytest.mark.timeout(400)

CELLS = [
    Cell(step, Trouble.STOPPED, doomed=True, run="woken") for step in (Step.BRANCH, Step.BUCKET, Step.SCHEMA)
]
QUEUE = "woken"
CRM = Dialect({"change": "^PATCH /crm/orders/"}, Answer(422), Answer(429), Answer(503))
ORDER = f"woken-{uuid.uuid4().hex[:8]}"


async def test_woken_when_all_is_undone(stack_environment: dict[str, str], tmp_path: Path) -> None:
    """A late push, migration or change of status is refused; only a late bucket stands, and no saga is called clean."""
    install(stack_environment["RESCIND_LEDGER_ADMIN_DSN"], workers=["rescind_ledger_worker"])
    client = await Client.connect(
        stack_environment["TEMPORAL_ADDRESS"], data_converter=pydantic_data_converter
    )
    places = places_of(CELLS, stack_environment, tmp_path, None)
    async with (
        points_of(CELLS, places) as (environment, points),
        crm(stack_environment) as (url, points[ORDER]),
        Ledger(stack_environment["RESCIND_LEDGER_DSN"], connections=1) as ledger,
    ):
        environment["RESCIND_CRM_URL"] = url
        before = await asyncio.to_thread(snapshot, places.environment)
        async with worker(environment, QUEUE, tmp_path / "first.log") as first:
            sagas = [(cell.step.number, start(cell, client, QUEUE)) for cell in CELLS]
            handles = await start_together([*sagas, (1, order(client))])
            assert set((await strike(first, points, stop=True)).values()) == {""}
            async with worker(environment, QUEUE, tmp_path / "second.log"):
                assert [(await closed(handle))[0] for handle in handles] == ["SagaUndone"] * len(handles)
            assert await left(before, places) == []
            await wake(first, points.values())
        late = [name for name, point in points.items() if point.calls()[0].acted]
        views = [await view_of(ledger, client, handle) for handle in handles]
        assert late == [CELLS[1].name]
        assert all(CELLS[1].name in line for line in await left(before, places))
    assert [view.state for view in views] == [SagaState.UNWINDING] * len(views)
    assert [doubtful(view) for view in views] == [
        ["git.create_branch"],
        ["s3.create_bucket"],
        ["postgres.migrate"],
        ["crm.set_status"],
    ]


async def left(before: World, places: Places) -> list[str]:
    """How the world differs from before, but for what operations are told."""
    after = await asyncio.to_thread(snapshot, places.environment)
    return difference(before.model_copy(update={"mails": after.mails}), after)


def doubtful(view: SagaView) -> list[str]:
    """The tools of the effects that do not count as undone."""
    return [effect.tool for effect in view.effects if effect.state is RecordState.IN_DOUBT]


async def order(client: Client) -> WorkflowHandle[Any, Any]:
    """The saga of an order whose customer Stripe does not know, so that its status goes back."""
    asked = {
        "order": ORDER,
        "customer": "cus_Nobody",
        "email": "nobody@example.com",
        "amount": 4200,
        "description": "A book",
    }
    return await client.start_workflow("FulfilOrder", asked, id=ORDER, task_queue=QUEUE)


@asynccontextmanager
async def crm(stack: dict[str, str]) -> AsyncGenerator[tuple[str, Point]]:
    """The CRM's address by a way on which the first change of the order's status stands at a gate."""
    server = urlsplit(stack["RESCIND_CRM_URL"])
    async with (
        sandbox_of(stack) as sandbox,
        HttpFaults(f"http://{server.netloc}", CRM) as faults,
    ):
        await sandbox.enter_order(ORDER, "on_hold")
        await faults.plan("change", [Fault.HOLD])
        yield f"{faults.url}{server.path}", Point(faults, "change")


async def view_of(ledger: Ledger, client: Client, handle: WorkflowHandle[Any, Any]) -> SagaView:
    """What is on record of a saga."""
    view = await saga_view(ledger, client, f"{handle.id}/{handle.first_execution_run_id}")
    assert view
    return view
