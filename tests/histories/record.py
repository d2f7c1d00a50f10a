"""Records the histories that are missing: `python -m tests.histories.record`.

Delete one to have it recorded anew, which is right only where a patch has made the old one moot.
"""

import asyncio
import json
import os
import sys
import tempfile
import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from temporalio.client import Client
from temporalio.worker import Worker

from embedded import Stack, environment
from rescind import RescindPlugin
from rescind.ledger import Ledger
from rescind.ledger._install import install
from rescind.planner import Ask, answering
from rescind.plans import Continuing, ExecutePlan, PlanOrder
from rescind.plans import Plan as PlanOfSteps
from rescind.reconciliation import reconciliation_id
from rescind.recovery import UndoSagaOrder, start_undo
from tests.histories import FOLDER, NAMES, OTHERS
from tests.rescind.approvals.conftest import People
from tests.rescind.approvals.gated_workflows import Asking, AskPeople
from tests.rescind.planner.scripted import scripted_model
from tests.rescind.sagas import Handle, Sagas, eventually
from tests.rescind.toy_workflows import WORKFLOWS, MakeThings, Plan
from tests.rescind.toy_world import TOOLS, WORLDS


async def success(sagas: Sagas) -> Handle:
    """Three steps, committed."""
    handle = await sagas.start(MakeThings.run, Plan(world="success", things=["a", "b", "c"]))
    await handle.result()
    return handle


async def undone(sagas: Sagas) -> Handle:
    """The third step is refused, two are undone."""
    WORLDS["undone"].plan["make c"] = ["refuse"]
    handle = await sagas.start(MakeThings.run, Plan(world="undone", things=["a", "b", "c"]))
    await sagas.failure(handle)
    return handle


async def cancelled_in_mid_unwind(sagas: Sagas) -> Handle:
    """A cancellation arrives while the second step is undone."""
    world = WORLDS["cancelled"]
    world.plan["make c"], world.plan["unmake b"] = ["refuse"], ["slow"]
    handle = await sagas.start(MakeThings.run, Plan(world="cancelled", things=["a", "b", "c"]))
    await eventually(lambda: "unmake b" in world.log)
    await handle.cancel()
    await sagas.failure(handle)
    return handle


async def waiting(sagas: Sagas) -> Handle:
    """It waits for a signal after its second step."""
    handle = await sagas.start(MakeThings.run, Plan(world="waiting", things=["a", "b", "c"], wait=2))
    await eventually(lambda: "make b" in WORLDS["waiting"].log)
    await handle.query("rescind_report")
    return handle


async def in_doubt(sagas: Sagas) -> Handle:
    """Nobody can tell whether the second step took effect; the first is undone."""
    WORLDS["in_doubt"].plan["make b"] = ["lose_reply"]
    plan = Plan(world="in_doubt", things=["a", "b"], tool="toy.make_blind")
    handle = await sagas.start(MakeThings.run, plan)
    await sagas.failure(handle)
    return handle


async def reconciled(sagas: Sagas) -> Handle:
    """A reconciliation in which a person says of the step in doubt that it did nothing."""
    WORLDS["reconciled"].plan["make a"] = ["lose_reply"]
    plan = Plan(world="reconciled", things=["a"], tool="toy.make_blind")
    saga = await sagas.start(MakeThings.run, plan)
    await sagas.failure(saga)
    handle = sagas.client.get_workflow_handle(reconciliation_id(_inner(saga)))
    await handle.execute_update("absent", {"step": "make_blind#1", "who": "anna", "note": "it is not there"})
    await handle.result()
    return handle


async def taken_back(sagas: Sagas) -> Handle:
    """The undo of a committed saga."""
    saga = await sagas.start(MakeThings.run, Plan(world="taken_back", things=["a", "b"]))
    await saga.result()
    order = UndoSagaOrder(
        saga=_inner(saga), who="anna", why="regretted", committed=True, task_queue=sagas.task_queue
    )
    handle = await start_undo(sagas.client, order, join=True)
    await handle.result()
    return handle


async def plan_undone(sagas: Sagas) -> Handle:
    """A plan of two steps that need each other; the second is refused, and the first is undone."""
    WORLDS["plan_undone"].plan["make b"] = ["refuse"]
    make = {"tool": "toy.make_thing"}
    steps = [
        {"id": "a", "arguments": {"world": "plan_undone", "name": "a"}, **make},
        {"id": "b", "arguments": {"world": "plan_undone", "name": "b"}, "needs": ["a"], **make},
    ]
    order = PlanOrder(plan=PlanOfSteps.model_validate({"steps": steps}))
    handle = await sagas.client.start_workflow(
        ExecutePlan.run, order, id=f"plan-{uuid.uuid4()}", task_queue=sagas.task_queue
    )
    await sagas.failure(handle)
    return handle


async def plan_went_on(sagas: Sagas) -> Handle:
    """A plan whose second step is refused; it goes on with what a model proposes and a person approves."""
    WORLDS["plan_went_on"].plan["make b"] = ["refuse"]
    a, b, c = (
        {"id": name, "tool": "toy.make_thing", "arguments": {"world": "plan_went_on", "name": name}}
        for name in "abc"
    )
    plan = PlanOfSteps.model_validate({"goal": "make it", "steps": [a, b | {"needs": ["a"]}]})
    ask = Ask(goal="make it", model="openai-chat:scripted", tools=["toy.make_thing"])
    with scripted_model() as model:
        os.environ.update(model.environment())
        model.answers = [{"steps": [c]}]
        async with answering(sagas.client, TOOLS) as queue:
            order = PlanOrder(plan=plan, continuing=Continuing(ask=ask, task_queue=queue))
            handle = await sagas.client.start_workflow(
                ExecutePlan.run, order, id=f"plan-{uuid.uuid4()}", task_queue=sagas.task_queue
            )
            await People(handle).asked("go_on#1")
            await handle.execute_update("approve", {"step": "go_on#1", "who": "anna"})
            await handle.result()
    return handle


async def approved(sagas: Sagas) -> Handle:
    """A step that can't be undone waits, and is approved; a later one is done."""
    handle = await sagas.start(AskPeople.run, Asking(world="approved", before=["a"], after=["b"]))
    await People(handle).asked("tell_world#1")
    await handle.execute_update("approve", {"step": "tell_world#1", "who": "anna"})
    await handle.result()
    return handle


RUNS = (success, undone, cancelled_in_mid_unwind, waiting, in_doubt)
OTHER_RUNS = (reconciled, taken_back, plan_undone, plan_went_on, approved)


def _inner(handle: Handle) -> str:
    return f"{handle.id}/{handle.first_execution_run_id}"


async def record() -> None:
    """Run each whose history is not there, and write it down."""
    assert tuple(run.__name__ for run in RUNS) == NAMES
    assert tuple(run.__name__ for run in OTHER_RUNS) == OTHERS
    missing = [run for run in (*RUNS, *OTHER_RUNS) if not (FOLDER / f"{run.__name__}.json").exists()]
    async with _sagas() as sagas:
        for run in missing:
            handle = await run(sagas)
            if run is waiting:  # until the task that pushed the wait is in the history
                await asyncio.sleep(1)
            history = (await handle.fetch_history()).to_json_dict()
            written = _without_places(json.dumps(history, indent=1, sort_keys=True))
            (FOLDER / f"{run.__name__}.json").write_text(written + "\n")
            print(f"{run.__name__}: {len(history['events'])} events")  # noqa: T201  (a script)
            if run is waiting:
                await handle.terminate()


def _without_places(history: str) -> str:
    """A history whose stack traces don't say where this checkout and Python are."""
    for place in (str(FOLDER.parents[1]), sys.prefix, sys.base_prefix):
        history = history.replace(f"{place}/", "")
    return history


@asynccontextmanager
async def _sagas() -> AsyncGenerator[Sagas]:
    with tempfile.TemporaryDirectory() as directory, Stack(directory, ui_port=0) as stack:
        names = environment(stack.description)
        install(names["RESCIND_LEDGER_ADMIN_DSN"], workers=["rescind_ledger_worker"])
        plugin = RescindPlugin(TOOLS, ledger=names["RESCIND_LEDGER_DSN"], sweeping=None)
        client = await Client.connect(names["TEMPORAL_ADDRESS"], plugins=[plugin], identity="recorder")
        queue = str(uuid.uuid4())
        async with (
            Ledger(names["RESCIND_LEDGER_DSN"], connections=2) as ledger,
            Worker(client, task_queue=queue, workflows=[*WORKFLOWS, ExecutePlan, AskPeople]),
        ):
            yield Sagas(client, ledger, queue)


if __name__ == "__main__":
    asyncio.run(record())
