"""Records the histories: `python -m tests.histories.record`, anew only where a patch has made the old ones moot."""

import asyncio
import json
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
from tests.histories import FOLDER, NAMES
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


RUNS = (success, undone, cancelled_in_mid_unwind, waiting, in_doubt)


async def record() -> None:
    """Run each and write its history down."""
    assert tuple(run.__name__ for run in RUNS) == NAMES
    async with _sagas() as sagas:
        for run in RUNS:
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
            Worker(client, task_queue=queue, workflows=WORKFLOWS),
        ):
            yield Sagas(client, ledger, queue)


if __name__ == "__main__":
    asyncio.run(record())
