"""The sweeper takes back what no workflow takes back any more, each once, and leaves everything else alone."""

import logging
import uuid
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest, DescribeNamespaceRequest
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowHandle
from temporalio.service import RPCError, RPCStatusCode

from rescind import Catalogue, SagaState
from rescind._bench import Bench
from rescind._states import Repeat
from rescind.ledger import EffectAddress, Ledger
from rescind.recovery import Sweeping
from rescind.recovery._look import Look
from rescind.recovery._sweep import PageOrder, Swept
from tests.rescind.recovery.conftest import Look as LookOnce
from tests.rescind.recovery.conftest import Undo
from tests.rescind.sagas import Handle, Sagas, eventually, until
from tests.rescind.toy_workflows import BROKEN, MakeThings, MakeWithBug, Plan
from tests.rescind.toy_world import TOOLS, World

pytestmark = pytest.mark.usefixtures("toy_worker")


def name(handle: Handle) -> str:
    """The saga's workflow id and first run id."""
    return f"{handle.id}/{handle.first_execution_run_id}"


async def started(sagas: Sagas, world: World, **options: object) -> Handle:
    """A saga that has made two of three things, and waits."""
    plan = Plan(world=world.name, things=["a", "b", "c"], wait=2)
    handle = await sagas.start(MakeThings.run, plan, **options)
    await eventually(lambda: len(world.things) == 2)
    return handle


async def ended(sagas: Sagas, handle: Handle) -> SagaState:
    """Wait for the undo that was started for a saga, and answer with the saga's state."""
    await sagas.client.get_workflow_handle(f"rescind-undo/{name(handle)}").result()
    return (await sagas.view(handle)).state


async def forgotten(sagas: Sagas, handle: Handle) -> None:
    """Delete a workflow, and wait until the server does not know it any more."""
    await sagas.client.workflow_service.delete_workflow_execution(
        DeleteWorkflowExecutionRequest(
            namespace=sagas.client.namespace, workflow_execution=WorkflowExecution(workflow_id=handle.id)
        )
    )

    async def unknown() -> bool:
        try:
            await handle.describe()
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return True
            raise
        return False

    await until(unknown)


async def test_terminated(sagas: Sagas, world: World, look: LookOnce) -> None:
    """It is undone, and the journal says by whom and why."""
    handle = await started(sagas, world)
    await handle.terminate()
    swept = await look()
    assert name(handle) in swept.undoing
    assert await ended(sagas, handle) is SagaState.CLOSED
    assert world.things == {}
    claims = [line.body for line in (await sagas.view(handle)).journal if line.event == "claim"]
    assert [isinstance(claim, dict) and claim["why"] for claim in claims] == [
        "the sweeper: its workflow is terminated"
    ]


async def test_timed_out(sagas: Sagas, world: World, look: LookOnce) -> None:
    """An execution time-out is the same."""
    handle = await started(sagas, world, execution_timeout=timedelta(seconds=3))

    async def timed_out() -> bool:
        return await sagas.status(handle) is WorkflowExecutionStatus.TIMED_OUT

    await until(timed_out)
    await look()
    assert await ended(sagas, handle) is SagaState.CLOSED
    assert world.things == {}


async def test_bug_after_the_seal_and_a_terminate(sagas: Sagas, world: World, look: LookOnce) -> None:
    """A saga that is sealed and whose workflow did not complete is undone."""
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a", "b"], bug_after=True))

    async def is_sealed() -> bool:
        saga = await sagas.ledger.show(await sagas.saga_id(handle))
        return saga is not None and saga.state is SagaState.SEALED

    await until(is_sealed)
    await look()
    assert sorted(world.things) == ["a", "b"]
    await handle.terminate()
    await look()
    assert await ended(sagas, handle) is SagaState.CLOSED
    assert world.things == {}


async def test_completed(sagas: Sagas, world: World, look: LookOnce) -> None:
    """Its seal becomes final, and nothing is undone, however often it is looked at."""
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a"]))
    await handle.result()
    swept = await look()
    assert swept.promoted >= 1
    assert (await sagas.view(handle)).state is SagaState.COMMITTED
    await look()
    assert list(world.things) == ["a"]


async def test_running(sagas: Sagas, world: World, look: LookOnce) -> None:
    """It is never touched, also not when the ledger has not heard of it for long."""
    handle = await started(sagas, world)
    swept = await look(grace=timedelta(0))
    assert swept.running >= 1
    assert (await sagas.view(handle)).epoch == 0
    await handle.signal(MakeThings.go)
    assert await handle.result() == ["a", "b", "c"]


async def test_terminated_saga_that_was_begun_anew(sagas: Sagas, world: World, look: LookOnce) -> None:
    """The earlier run of the workflow id is undone, and the one that runs now is left alone."""
    first = await started(sagas, world)
    await first.terminate()
    world.things.clear()
    second = await sagas.start(MakeThings.run, Plan(world=world.name, things=["x", "y"], wait=1), id=first.id)
    await eventually(lambda: "x" in world.things)
    assert name(first) in (await look()).undoing
    assert await ended(sagas, first) is SagaState.CLOSED
    await second.signal(MakeThings.go)
    assert await second.result() == ["x", "y"]
    assert (await sagas.view(second)).epoch == 0


async def test_gone(sagas: Sagas, world: World, look: LookOnce) -> None:
    """A workflow that Temporal does not know counts as gone only after the grace period; then its saga is undone."""
    handle = await started(sagas, world)
    await handle.terminate()
    await forgotten(sagas, handle)
    assert name(handle) not in (await look(many_gone=10_000)).undoing
    assert len(world.things) == 2
    assert name(handle) in (await look(grace=timedelta(0), many_gone=10_000)).undoing
    assert await ended(sagas, handle) is SagaState.CLOSED
    assert world.things == {}


async def test_sealed_and_gone(sagas: Sagas, world: World, look: LookOnce) -> None:
    """Most likely it completed: it is a question, and not undone."""
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a"]))
    await handle.result()
    await forgotten(sagas, handle)
    swept = await look(grace=timedelta(0), many_gone=10_000)
    assert any(name(handle) in question for question in swept.questions), swept
    assert list(world.things) == ["a"]
    await sagas.ledger.promote(await sagas.saga_id(handle))


async def test_undo_that_has_died(sagas: Sagas, world: World, look: LookOnce) -> None:
    """A saga whose undo was terminated half-way is undone by a new one; while one runs, no other is started."""
    handle = await started(sagas, world)
    await handle.terminate()
    world.plan["unmake b"] = ["slow", "slow"]
    await look()
    undo = sagas.client.get_workflow_handle(f"rescind-undo/{name(handle)}")
    await eventually(lambda: "unmake b" in world.log)
    assert name(handle) not in (await look()).undoing
    await undo.terminate()
    assert name(handle) in (await look()).undoing
    assert await ended(sagas, handle) is SagaState.CLOSED
    assert world.things == {}


async def test_stuck(sagas: Sagas, world: World, look: LookOnce) -> None:
    """What needs a person is not undone again at every look; a reconciliation that is missing is opened, once."""
    handle = await started(sagas, world)
    world.things["b"] = "somebody else"
    await handle.terminate()
    await look()
    failed = sagas.client.get_workflow_handle(f"rescind-undo/{name(handle)}")
    await sagas.failure(failed)
    calls = len(world.log)
    swept = await look()
    assert name(handle) not in [*swept.undoing, *swept.reconciling]
    reconciliation = sagas.client.get_workflow_handle(f"rescind-reconcile/{name(handle)}")
    await reconciliation.terminate()
    assert name(handle) in (await look()).reconciling
    assert name(handle) not in (await look()).reconciling
    assert world.log[calls:] == []
    await reconciliation.terminate()


async def test_nothing_stands(sagas: Sagas, world: World, look: LookOnce, ledger: Ledger) -> None:
    """A saga without an effect that stands is closed in silence."""
    world.plan["make a"] = ["refuse"] * 9
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a"], catch=True, wait=1))
    while not (view := await ledger.show(await sagas.saga_id(handle))) or not view.effects:
        await handle.describe()
    await handle.terminate()
    assert (await look()).closed >= 1
    view = await sagas.view(handle)
    assert view.state is SagaState.CLOSED
    assert world.log == ["make a"]


async def test_bug(sagas: Sagas, world: World, look: LookOnce, caplog: pytest.LogCaptureFixture) -> None:
    """A running workflow whose own code fails is told of, and nothing of it is undone."""
    BROKEN["broken"] = True
    try:
        handle = await sagas.start(MakeWithBug.run, Plan(world=world.name, things=["a", "b", "c"]))
        swept = Swept()
        with caplog.at_level(logging.ERROR):
            while name(handle) not in swept.stalled:
                swept = await look(stalled_after=1)
        assert any("a bug or a worker of another version" in line for line in caplog.messages)
        assert sorted(world.things) == ["a", "b"]
    finally:
        BROKEN["broken"] = False
    await handle.result()
    assert sorted(world.things) == ["a", "b", "c"]


@pytest.fixture
async def bench(client: Client, ledger_dsn: str) -> AsyncIterator[Bench]:
    """What the sweeper's activity works with."""
    made = Bench(Catalogue(TOOLS), ledger_dsn, connections=2, threads=1)
    described = await client.workflow_service.describe_namespace(
        DescribeNamespaceRequest(namespace=client.namespace)
    )
    async with made.opened(described.namespace_info.id) as opened:
        yield opened


async def test_many_gone_at_once(bench: Bench, client: Client, ledger: Ledger) -> None:
    """Nothing is undone, and a person is asked; the look is bounded, and the next one goes on behind it."""
    batch = f"~{uuid.uuid4()}"
    names = [f"{bench.namespace_id}/{batch}-{number}/run" for number in range(6)]
    for saga in names:
        await ledger.begin(
            EffectAddress(saga, 0, f"{saga.partition('/')[2]}/a#1", (1,)),
            tool="toy.make_thing",
            version=1,
            repeat=Repeat.LOOKED_UP,
            digest="digest",
            request={"world": batch, "name": "a"},
            ttl=0,
            owner="run",
        )
    at_once = Sweeping(grace=timedelta(0), many_gone=2, limit=4)
    first = await Look(
        bench, client, PageOrder(sweeping=at_once, after=f"{bench.namespace_id}/{batch}")
    ).run()
    assert (first.looked_at, first.undoing, first.next_after) == (4, [], names[3])
    assert "4 of 4 unfinished sagas have a workflow that Temporal doesn't know" in first.questions[0]
    second = await Look(bench, client, PageOrder(sweeping=at_once, after=first.next_after)).run()
    assert len(second.undoing) == 2
    rest = Sweeping(grace=timedelta(0), many_gone=10)
    again = await Look(bench, client, PageOrder(sweeping=rest, after=f"{bench.namespace_id}/{batch}")).run()
    for saga in again.undoing + second.undoing:
        undo: WorkflowHandle[object, object] = client.get_workflow_handle(f"rescind-undo/{saga}")
        await undo.result()
    for saga in names:
        view = await ledger.show(saga)
        assert view is not None
        assert view.state is SagaState.CLOSED


async def test_reset_of_a_saga_that_was_swept(sagas: Sagas, world: World, look: LookOnce) -> None:
    """The reset run fails with an error that names the way out, and its effects stay undone."""
    handle = await started(sagas, world)
    await handle.terminate()
    await look()
    await ended(sagas, handle)
    again = await sagas.reset(handle, before_activity=2)
    await again.signal(MakeThings.go)
    cause = await sagas.failure(again)
    assert cause.type == "SagaTakenOver"
    assert "start a new workflow" in cause.message
    assert world.things == {}


async def test_reset_of_a_terminated_saga(sagas: Sagas, world: World, look: LookOnce) -> None:
    """While the reset run is running the sweeper leaves its saga alone."""
    handle = await started(sagas, world)
    await handle.terminate()
    again = await sagas.reset(handle, before_activity=2)
    assert name(handle) not in (await look()).undoing
    await again.signal(MakeThings.go)
    assert await again.result() == ["a", "b", "c"]
    assert world.makes == {"a": 1, "b": 1, "c": 1}
    await look()
    assert (await sagas.view(handle)).state is SagaState.COMMITTED


async def test_partly_undone_saga(sagas: Sagas, world: World, look: LookOnce, undo: Undo) -> None:
    """The sweeper leaves a committed saga alone of which a part was undone."""
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a", "b"]))
    await handle.result()
    await (await undo(handle, "make_thing#2")).result()
    swept = await look(grace=timedelta(0))
    assert name(handle) not in swept.undoing
    assert list(world.things) == ["a"]
