"""A saga that continues as new, on a real server: one saga with one set of keys over several runs."""

from collections.abc import AsyncIterator

import psycopg
import pytest
from temporalio.api.history.v1 import WorkflowExecutionStartedEventAttributes
from temporalio.worker import Worker

from rescind import SagaState
from tests.rescind.conftest import NewWorker
from tests.rescind.continued_workflows import WORKFLOWS, MakeInStages, Stages
from tests.rescind.sagas import Handle, Sagas, eventually, undone_by
from tests.rescind.toy_world import World

THREE = [["a", "b"], ["c", "d"], ["e"]]


@pytest.fixture(autouse=True)
async def continuing_worker(new_worker: NewWorker) -> AsyncIterator[Worker]:
    """A worker of these workflows, which replays at every task."""
    async with new_worker(workflows=WORKFLOWS) as running:
        yield running


async def begun_with(sagas: Sagas, handle: Handle) -> WorkflowExecutionStartedEventAttributes:
    """What the newest run was started with."""
    newest = sagas.client.get_workflow_handle(handle.id)
    async for event in newest.fetch_history_events():
        return event.workflow_execution_started_event_attributes
    raise AssertionError("a run has a first event")


async def test_a_saga_over_three_runs(sagas: Sagas, world: World) -> None:
    """It is one saga with one set of keys, in order, and is sealed as a whole by the last run."""
    handle = await sagas.start(MakeInStages.run, Stages(world=world.name, things=THREE))
    assert await handle.result() == "done"
    assert sorted(world.things) == ["a", "b", "c", "d", "e"]
    view = await sagas.view(handle)
    assert view.state is SagaState.SEALED
    assert [effect.key.rpartition("/")[2] for effect in view.effects] == [
        f"make_thing#{n}" for n in range(1, 6)
    ]
    assert [effect.seq for effect in view.effects] == [(n,) for n in range(1, 6)]


async def test_what_is_handed_on(sagas: Sagas, world: World) -> None:
    """It is small and the same for many steps as for few, and nothing of a request is in it."""
    things = [[f"secret-{n}" for n in range(20)], ["last"]]
    handle = await sagas.start(MakeInStages.run, Stages(world=world.name, things=things))
    await handle.result()
    started = await begun_with(sagas, handle)
    data = started.header.fields["rescind-saga"].data
    assert data == b'{"steps":20,"numbers":{"count":1,"make_thing":20},"gone":{"count":[[1,1]]}}'


async def test_a_failure_in_the_last_run(sagas: Sagas, world: World) -> None:
    """Everything of every run is undone once, last first, and the report has every step."""
    world.plan["make e"] = ["refuse"]
    handle = await sagas.start(MakeInStages.run, Stages(world=world.name, things=THREE))
    report = await sagas.report(handle)
    assert world.things == {}
    assert undone_by(world) == ["d", "c", "b", "a"]
    assert (report.failed_at, report.error) == ("make_thing#5", "e is not allowed")
    assert len(report.steps) == 5
    assert (await sagas.view(handle)).state is SagaState.CLOSED


async def test_a_cancellation_in_a_later_run(sagas: Sagas, world: World) -> None:
    """Everything of every run is undone, and the workflow is CANCELED."""
    handle = await sagas.start(MakeInStages.run, Stages(world=world.name, things=THREE, wait=True))
    await eventually(lambda: "e" in world.things)
    newest = sagas.client.get_workflow_handle(handle.id)
    await newest.cancel()
    await sagas.cancelled(newest)
    assert world.things == {}
    assert undone_by(world) == ["e", "d", "c", "b", "a"]


async def test_steps_of_every_kind_before_it(sagas: Sagas, world: World) -> None:
    """Read-only, absent and no-op steps of earlier runs don't confuse the seal."""
    world.things["a"] = "wanted"
    world.plan["make c"] = ["refuse"]
    handle = await sagas.start(MakeInStages.run, Stages(world=world.name, things=THREE, catch=True))
    assert await handle.result() == "done"
    assert await sagas.states(handle) == ["applied", "applied", "absent", "applied", "applied"]
    assert (await sagas.view(handle)).state is SagaState.SEALED


async def test_steps_of_every_kind_and_a_failure(sagas: Sagas, world: World) -> None:
    """The no-op of an earlier run is not undone, and nothing is taken for lost."""
    world.things["a"] = "wanted"
    world.plan["make c"] = ["refuse"]
    stages = Stages(world=world.name, things=THREE, catch=True, fail=True)
    handle = await sagas.start(MakeInStages.run, stages)
    assert (await sagas.failure(handle)).type == "SagaUndone"
    assert world.things == {"a": "wanted"}
    assert undone_by(world) == ["e", "d", "b"]


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        ("running", "nobody knows yet whether make_thing#3 took effect"),
        ("savepoint", "inside a savepoint's block"),
        ("commit", "the saga is committed"),
    ],
)
async def test_a_continuation_that_would_lose_something(
    sagas: Sagas, world: World, mistake: str, words: str
) -> None:
    """It is refused with the reason, and everything is undone."""
    handle = await sagas.start(MakeInStages.run, Stages(world=world.name, things=THREE, mistake=mistake))
    assert words in (await sagas.failure(handle)).message
    assert world.things == {}
    assert (await sagas.view(handle)).state is SagaState.CLOSED


@pytest.mark.parametrize(
    ("skip", "words"), [("saga", "has not entered it"), ("fail", "failed before the saga's block")]
)
async def test_a_run_that_does_not_enter_the_saga_it_was_handed(
    sagas: Sagas, world: World, skip: str, words: str
) -> None:
    """It is never COMPLETED: what the saga did is undone, and the failure says why."""
    handle = await sagas.start(MakeInStages.run, Stages(world=world.name, things=THREE, skip=skip))
    cause = await sagas.failure(handle)
    assert cause.type == "SagaUndone"
    assert words in cause.message
    assert world.things == {}
    assert undone_by(world) == ["b", "a"]


async def test_a_run_in_between_that_only_continues(sagas: Sagas, world: World) -> None:
    """The saga is handed through it."""
    handle = await sagas.start(MakeInStages.run, Stages(world=world.name, things=THREE, skip="continue"))
    assert await handle.result() == "done"
    assert (await sagas.view(handle)).state is SagaState.SEALED


async def test_an_effect_that_the_ledger_has_lost(
    sagas: Sagas, world: World, stack_environment: dict[str, str]
) -> None:
    """A step of an earlier run of which the ledger knows nothing is in doubt; the rest is undone, and it is said."""
    stages = Stages(world=world.name, things=THREE, wait=True, fail=True)
    handle = await sagas.start(MakeInStages.run, stages)
    await eventually(lambda: "e" in world.things)
    saga = await sagas.saga_id(handle)
    with psycopg.connect(stack_environment["RESCIND_LEDGER_ADMIN_DSN"]) as admin:
        admin.execute("delete from rescind.effect where saga = %s and seq in ('{2}', '{5}')", (saga,))
    await sagas.client.get_workflow_handle(handle.id).signal(MakeInStages.go)
    cause = await sagas.failure(handle)
    assert cause.type == "UndoIncomplete"
    assert "restored from an older copy" in cause.message
    assert sorted(world.things) == ["b", "e"]
