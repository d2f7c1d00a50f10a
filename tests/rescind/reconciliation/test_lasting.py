"""A reconciliation outlives its saga, its workers, its own history, and whoever else works on the saga."""

import asyncio
import uuid

from temporalio.client import Client
from temporalio.worker import Worker

from rescind import RecordState, SagaState
from rescind._operations_queue import OPERATIONS_QUEUE
from rescind._states import Verdict
from rescind.ledger import Claimed, EffectAddress, Ledger
from rescind.reconciliation import ensure_reconciliation, reconciliation_id
from rescind.reconciliation._case import ReconcileOrder
from rescind.reconciliation._open import RECONCILE
from tests.rescind.reconciliation.desk import Desk
from tests.rescind.reconciliation.receiver import Receiver
from tests.rescind.toy_workflows import WORKFLOWS, MakeThings, MakeTogether, Plan
from tests.rescind.toy_world import World

B = "make_thing#2"


async def test_the_worker_is_restarted_in_between(
    client: Client, ledger: Ledger, posts: Receiver, world: World
) -> None:
    """What is open stays open, is not alerted anew, and the word of a person is taken by the next worker."""
    queue = f"restarted-{uuid.uuid4()}"
    desk = Desk(client, ledger, queue, posts)
    async with Worker(client, task_queue=queue, workflows=WORKFLOWS):
        handle = await desk.conflict(world)
        await desk.alerts(handle, 1)
    async with Worker(client, task_queue=queue, workflows=WORKFLOWS):
        await desk.say(handle, "waive", B, note="they keep it")
        await desk.ended(handle)
    assert [alert.number for alert in await desk.alerts(handle, 2)] == [1, 0]
    assert (await desk.view(handle)).state is SagaState.CLOSED


async def test_one_for_a_saga_with_several_effects(desk: Desk, world: World) -> None:
    """An outage opens one workflow and sends one alert, however many effects are stuck; each is answered by itself."""
    names = ["a", "b", "c", "d"]
    for name in names:
        world.plan[f"unmake {name}"] = ["fail"] * 3
    handle = await desk.start(MakeThings.run, Plan(world=world.name, things=names, fail=True))
    await desk.failure(handle)
    (alert,) = await desk.alerts(handle, 1)
    assert [line.step for line in alert.effects] == [f"make_thing#{number}" for number in (4, 3, 2, 1)]
    answers = await asyncio.gather(
        *(desk.say(handle, "retry", f"make_thing#{number}") for number in (1, 2, 3)),
        desk.say(handle, "waive", "make_thing#4", note="keep it"),
    )
    assert [answer.state for answer in answers] == [*[RecordState.UNDONE] * 3, RecordState.RESOLVED]
    assert sorted((await desk.ended(handle)).closed) == [f"make_thing#{number}" for number in (1, 2, 3, 4)]
    assert list(world.things) == ["d"]


async def test_the_saga_is_cancelled(desk: Desk, world: World) -> None:
    """A cancelled saga that can't be undone opens one as well."""
    handle = await desk.held_back(world)
    world.things["b"] = "somebody else"
    await handle.cancel()
    assert (await desk.failure(handle)).type == "UndoIncomplete"
    await desk.alerts(handle, 1)
    await desk.say(handle, "waive", B, note="they keep it")
    await desk.ended(handle)


async def test_parallel_steps(desk: Desk, world: World) -> None:
    """Steps side by side are open side by side."""
    world.plan["make c"] = ["refuse"]
    for name in "ab":
        world.plan[f"unmake {name}"] = ["conflict"]
    handle = await desk.start(MakeTogether.run, Plan(world=world.name, things=["a", "b", "c"]))
    await desk.failure(handle)
    for number in (1, 2):
        assert (await desk.say(handle, "retry", f"make_thing#{number}")).state is RecordState.UNDONE
    await desk.ended(handle)
    assert world.things == {}


async def test_a_clean_undo_opens_none(desk: Desk, world: World) -> None:
    """Nobody is called for nothing."""
    world.plan["make b"] = ["refuse"]
    handle = await desk.start(MakeThings.run, Plan(world=world.name, things=["a", "b"]))
    await desk.failure(handle)
    assert "start_child_workflow_execution_initiated" not in await desk.events(handle)


async def test_one_that_is_missing(desk: Desk, world: World) -> None:
    """It is opened anew by a client, and once: a second call finds it and makes it look again."""
    handle = await desk.conflict(world)
    await desk.alerts(handle, 1)
    await desk.reconciliation(handle).terminate()
    for _ in range(2):
        await ensure_reconciliation(desk.client, desk.saga(handle))
    await desk.alerts(handle, 2)
    opened = reconciliation_id(desk.saga(handle))
    runs = [each async for each in desk.client.list_workflows(f"WorkflowId = '{opened}'")]
    statuses = sorted(each.status.name for each in runs if each.status)
    assert statuses == ["RUNNING", "TERMINATED"]
    await desk.say(handle, "waive", B, note="they keep it")
    await desk.ended(handle)


async def test_one_for_a_saga_with_nothing_open(desk: Desk, world: World) -> None:
    """It looks and ends, and tells nobody."""
    handle = await desk.start(MakeThings.run, Plan(world=world.name, things=["a"]))
    await handle.result()
    opened = await ensure_reconciliation(desk.client, desk.saga(handle))
    assert (await opened.result()).closed == {}
    assert desk.posts.of(desk.saga(handle)) == []
    assert (await desk.view(handle)).state is SagaState.SEALED


async def test_a_saga_that_the_ledger_does_not_know(desk: Desk) -> None:
    """It fails in words at once."""
    opened = await ensure_reconciliation(desk.client, f"nobody-{uuid.uuid4()}/{uuid.uuid4()}")
    assert "the ledger has no saga" in (await desk.failure(opened)).message


async def test_its_history_grows(hasty: Desk, world: World) -> None:
    """It continues as new before it does, and neither alerts anew nor forgets what was said."""
    world.plan["unmake a"] = ["conflict"]
    world.plan["unmake b"] = ["fail"] * 999
    handle = await hasty.left_behind(Plan(world=world.name, things=["a", "b"], fail=True))
    await hasty.alerts(handle, 1)
    await hasty.reconciliation(handle).terminate()
    order = ReconcileOrder(saga=hasty.saga(handle), task_queue=hasty.task_queue, longest_history=30)
    again = await hasty.client.start_workflow(
        RECONCILE, order, id=hasty.reconciliation(handle).id, task_queue=OPERATIONS_QUEUE
    )
    await hasty.say(handle, "waive", "make_thing#1", note="keep it")
    first = hasty.client.get_workflow_handle(again.id, run_id=again.first_execution_run_id)
    await hasty.until(first, "workflow_execution_continued_as_new")
    world.plan["unmake b"] = []
    closed = (await hasty.ended(handle)).closed
    assert closed["make_thing#1"] == "left standing by anna: keep it"
    assert closed[B].startswith("undone: exact")
    described = await hasty.reconciliation(handle).describe()
    assert described.run_id != again.first_execution_run_id
    await hasty.alerts(handle, 3)
    numbers = [alert.number for alert in hasty.posts.of(hasty.saga(handle))]
    assert numbers in ([1, 1, 0], [1, 1, 2, 0])


async def test_somebody_takes_the_saga_over(desk: Desk, ledger: Ledger, world: World) -> None:
    """Its epoch is read anew, so that a person's word is taken all the same."""
    world.plan["unmake b"] = ["fail"] * 3
    handle = await desk.left_behind(Plan(world=world.name, things=["a", "b"], fail=True))
    await desk.alerts(handle, 1)
    assert await ledger.claim(await desk.saga_id(handle), 0, "somebody") == Claimed(1)
    assert (await desk.say(handle, "retry", B)).state is RecordState.UNDONE
    await desk.ended(handle)
    assert (await desk.view(handle)).state is SagaState.CLOSED


async def test_somebody_else_has_finished_it(desk: Desk, world: World) -> None:
    """Told to look again it finds nothing open, and ends."""
    handle = await desk.conflict(world)
    await desk.alerts(handle, 1)
    view = await desk.view(handle)
    effect = view.effects[1]
    at = EffectAddress(view.id, view.epoch, effect.key, effect.seq)
    await desk.ledger.resolve(at, Verdict.DONE, who="bert", note="deleted")
    await ensure_reconciliation(desk.client, desk.saga(handle))
    assert (await desk.ended(handle)).closed == {B: "by somebody else; the ledger has what became of it"}


async def test_a_workflow_id_of_a_thousand_characters(desk: Desk, world: World) -> None:
    """Its reconciliation has an id that Temporal takes."""
    world.plan["unmake a"] = ["conflict"]
    plan = Plan(world=world.name, things=["a"], fail=True)
    handle = await desk.start(MakeThings.run, plan, id=f"{uuid.uuid4()}{'x' * 950}")
    await desk.failure(handle)
    await desk.alerts(handle, 1)
    assert len(desk.reconciliation(handle).id) < 100
    await desk.say(handle, "waive", "make_thing#1", note="keep it")
    await desk.ended(handle)
