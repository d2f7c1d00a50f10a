"""A saga with more steps than one run undoes: another workflow takes it back page by page, while its own waits."""

import os
from collections.abc import AsyncIterator

import psutil
import pytest
from temporalio.client import Client, WorkflowHandle
from temporalio.worker import Worker

from rescind import RescindPlugin, SagaState
from rescind.ledger import Ledger
from rescind.recovery import undo_id
from tests.rescind.continued_workflows import WORKFLOWS, MakeInStages, Stages
from tests.rescind.sagas import Handle, Sagas, eventually, undone_by
from tests.rescind.toy_world import TOOLS, World

SOAK = bool(os.environ.get("RESCIND_SOAK"))
STEPS, EACH_RUN, PAGE = (2000, 250, 200) if SOAK else (60, 20, 10)
"""Steps of the long saga, those of each of its runs, and those that one run undoes."""


@pytest.fixture
def page() -> int:
    """Steps that one run undoes."""
    return 10


@pytest.fixture
async def paging(
    stack_environment: dict[str, str], ledger_dsn: str, ledger: Ledger, task_queue: str, page: int
) -> AsyncIterator[Sagas]:
    """Sagas of a worker, without a workflow cache, that undoes small pages."""
    plugin = RescindPlugin(TOOLS, ledger=ledger_dsn, undo_page=page, sweeping=None)
    client = await Client.connect(stack_environment["TEMPORAL_ADDRESS"], plugins=[plugin])
    cached = 100 if SOAK else 0  # without one, two thousand steps would be replayed at each of them
    async with Worker(client, task_queue=task_queue, workflows=WORKFLOWS, max_cached_workflows=cached):
        yield Sagas(client, ledger, task_queue)


def stages(world: World, *, steps: int, each_run: int, wait: bool = False, fail: bool = True) -> Stages:
    """So many things, made by several runs."""
    names = [f"t{number}" for number in range(1, steps + 1)]
    things = [names[start : start + each_run] for start in range(0, steps, each_run)]
    return Stages(world=world.name, things=things, fail=fail, wait=wait)


async def histories(sagas: Sagas, workflow_id: str) -> list[int]:
    """The lengths of the histories of a workflow's runs, the newest run first."""
    lengths: list[int] = []
    run: str | None = None
    while run != "":
        handle: WorkflowHandle[object, object] = sagas.client.get_workflow_handle(workflow_id, run_id=run)
        events = [event async for event in handle.fetch_history_events()]
        lengths.append(len(events))
        run = events[0].workflow_execution_started_event_attributes.continued_execution_run_id
    return lengths


def undo_of(handle: Handle) -> str:
    """The id of the workflow that undoes a saga."""
    return undo_id(f"{handle.id}/{handle.first_execution_run_id}")


@pytest.mark.timeout(7200 if SOAK else 240)
@pytest.mark.parametrize("page", [PAGE])
async def test_the_last_of_many_steps_fails(paging: Sagas, world: World, page: int) -> None:
    """All are undone last first over several runs with short histories, and the worker's memory stays flat.

    Sixty steps, or two thousand in the soak; the report has thirty of them and counts.
    """
    world.plan[f"make t{STEPS}"] = ["refuse"]
    handle = await paging.start(MakeInStages.run, stages(world, steps=STEPS, each_run=EACH_RUN))
    sizes = await sizes_meanwhile(world)
    cause, report = await paging.failure(handle), await paging.report(handle)
    assert world.things == {}
    assert undone_by(world) == [f"t{number}" for number in range(STEPS - 1, 0, -1)]
    assert (await paging.view(handle)).state is SagaState.CLOSED
    assert cause.type == "SagaUndone"
    assert cause.message.endswith(f"{STEPS - 1} steps had taken effect and are undone")
    assert report.failed_at == f"make_thing#{STEPS}"
    assert [step.step for step in report.steps] == [f"make_thing#{n}" for n in range(STEPS - 29, STEPS + 1)]
    assert report.counts is not None
    assert (report.counts.steps, report.counts.standing, report.counts.undone) == (STEPS, 0, STEPS - 1)
    lengths = [await histories(paging, each) for each in (handle.id, undo_of(handle))]
    print(f"{STEPS} steps; MB of the worker's process:", sizes)  # noqa: T201  (to be read)
    print("events of each run, newest first, of the saga and of its undo:", *lengths)  # noqa: T201
    assert [len(runs) for runs in lengths] == [-(-STEPS // EACH_RUN), -(-(STEPS - 1) // page)]
    assert max(*lengths[0], *lengths[1]) < (10_000 if SOAK else EACH_RUN * 6 + 60)
    assert max(sizes) < sizes[0] + 60


async def sizes_meanwhile(world: World) -> list[int]:
    """The process's size in MB, a few times while the things are made and taken away."""
    process, sizes = psutil.Process(), list[int]()
    for share in (1, 2, 3, 4):
        await eventually(lambda: len(world.makes) >= (STEPS - 1) * share // 4, within=1800)  # noqa: B023  (waited for)
        sizes.append(process.memory_info().rss // 1_000_000)
    for share in (3, 2, 1, 0):
        await eventually(lambda: len(world.things) <= (STEPS - 1) * share // 4, within=1800)  # noqa: B023  (the same)
        sizes.append(process.memory_info().rss // 1_000_000)
    return sizes


async def test_a_cancellation(paging: Sagas, world: World) -> None:
    """Everything is undone by the other workflow, and the saga's own is CANCELED."""
    handle = await paging.start(MakeInStages.run, stages(world, steps=25, each_run=25, wait=True))
    await eventually(lambda: "t25" in world.things, within=60)
    await handle.cancel()
    await paging.cancelled(handle)
    assert world.things == {}
    assert undone_by(world) == [f"t{number}" for number in range(25, 0, -1)]


async def test_a_conflict_in_the_middle(paging: Sagas, world: World) -> None:
    """It is named, counted and left, and everything else is undone."""
    handle = await paging.start(MakeInStages.run, stages(world, steps=45, each_run=45, wait=True))
    await eventually(lambda: "t45" in world.things, within=90)
    world.things["t3"] = "somebody else"
    await handle.signal(MakeInStages.go)
    cause = await paging.failure(handle)
    report = await paging.report(handle)
    assert cause.type == "UndoIncomplete"
    assert "t3 is somebody else's now" in cause.message
    assert world.things == {"t3": "somebody else"}
    assert [step.step for step in report.left] == ["make_thing#3"]
    assert report.counts is not None
    assert (report.counts.steps, report.counts.standing, report.counts.undone) == (45, 1, 44)


async def test_the_other_workflow_is_terminated(paging: Sagas, world: World) -> None:
    """It is started again, and goes on where it was: nothing is undone twice."""
    world.plan["unmake t20"] = ["slow"]
    handle = await paging.start(MakeInStages.run, stages(world, steps=25, each_run=25))
    await eventually(lambda: "unmake t20" in world.log, within=60)
    await paging.client.get_workflow_handle(undo_of(handle)).terminate()
    assert (await paging.failure(handle)).type == "SagaUndone"
    assert world.things == {}
    assert undone_by(world) == [f"t{number}" for number in range(25, 0, -1)]
