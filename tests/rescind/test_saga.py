"""The saga on a real server: what stands in the world and in the ledger after each ending."""

import pytest
from temporalio.client import WorkflowContinuedAsNewError, WorkflowExecutionStatus
from temporalio.common import RetryPolicy

from rescind import Compensation, Outcome, SagaState
from rescind._states import Repeat
from rescind.ledger import EffectAddress
from tests.rescind.sagas import Sagas, eventually
from tests.rescind.toy_workflows import ContinuesAsNew, MakeThings, MakeTogether, Plan, ReadOnly, TwoSagas
from tests.rescind.toy_world import World

pytestmark = pytest.mark.usefixtures("toy_worker")


async def test_success(sagas: Sagas, world: World) -> None:
    """A committed saga stands, is sealed, and every effect is applied."""
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a", "b", "c"]))
    assert await handle.result() == ["a", "b", "c"]
    assert sorted(world.things) == ["a", "b", "c"]
    assert (await sagas.view(handle)).state is SagaState.SEALED
    assert await sagas.states(handle) == ["applied"] * 3


async def test_a_failed_step_undoes_everything_last_first(sagas: Sagas, world: World) -> None:
    """A failed saga leaves the world as it was; the failure's report and the ledger's are the same."""
    world.plan["make c"] = ["refuse"]
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a", "b", "c"]))
    cause = await sagas.failure(handle)
    assert cause.type == "SagaUndone"
    assert cause.message == "make_thing#3 failed: c is not allowed. 2 steps had taken effect and are undone"
    assert world.things == {}
    assert [call for call in world.log if call.startswith("unmake")] == ["unmake b", "unmake a"]
    view = await sagas.view(handle)
    assert view.state is SagaState.CLOSED
    assert view.report == cause.details[0]


async def test_the_report_names_the_step_the_words_and_each_outcome(sagas: Sagas, world: World) -> None:
    """The report says where and why it failed, and for each step how it was restored."""
    world.plan["make b"] = ["refuse"]
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a", "b"]))
    report = await sagas.report(handle)
    assert (report.outcome, report.failed_at, report.error) == (
        Outcome.UNDONE,
        "make_thing#2",
        "b is not allowed",
    )
    first, second = report.steps
    assert first.compensation is Compensation.COMPENSATED
    assert first.restoration is not None
    assert first.restoration.grade == "exact"
    assert second.compensation is Compensation.NOT_NEEDED
    assert second.error == "b is not allowed"


async def test_the_cause_chain_ends_in_the_providers_words(sagas: Sagas, world: World) -> None:
    """The original error is the deepest cause of the workflow's failure."""
    world.plan["make a"] = ["refuse"]
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a"]))
    error: BaseException = await sagas.failure(handle)
    while error.__cause__ is not None:
        error = error.__cause__
    assert "a is not allowed" in str(error)


async def test_nothing_had_been_changed(sagas: Sagas, world: World) -> None:
    """A saga whose first step is refused says that nothing had been changed."""
    world.plan["make a"] = ["refuse"]
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a", "b"]))
    assert (
        await sagas.failure(handle)
    ).message == "make_thing#1 failed: a is not allowed. Nothing had been changed"


async def test_left_without_a_commit(sagas: Sagas, world: World) -> None:
    """Leaving the block without a commit undoes every step and fails."""
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a", "b"], commit=False))
    assert "without a commit" in (await sagas.failure(handle)).message
    assert world.things == {}


async def test_a_seal_that_is_refused(sagas: Sagas, world: World) -> None:
    """An effect that only the ledger knows refuses it: the workflow undoes everything, and fails with a report."""
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a"], wait=1))
    await eventually(lambda: "a" in world.things)
    saga, key = await sagas.saga_id(handle), f"{handle.id}/{handle.first_execution_run_id}/make_thing#9"
    await sagas.ledger.begin(
        EffectAddress(saga, 0, key, (9,)),
        tool="toy.make_thing",
        version=1,
        repeat=Repeat.LOOKED_UP,
        digest="digest",
        request={"world": world.name, "name": "z"},
        ttl=0,
        owner="a run with other code",
    )
    await handle.signal(MakeThings.go)
    cause = await sagas.failure(handle)
    assert cause.type == "SagaUndone"
    assert "the saga was not sealed: an effect is not settled" in cause.message
    assert world.things == {}
    assert await sagas.states(handle) == ["undone", "absent"]


async def test_a_caught_step_that_is_absent(sagas: Sagas, world: World) -> None:
    """A workflow may catch a step that did nothing, and go on."""
    world.plan["make b"] = ["refuse"]
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a", "b", "c"], catch=True))
    assert await handle.result() == ["a", "c"]
    assert await sagas.states(handle) == ["applied", "absent", "applied"]


async def test_a_caught_step_that_is_in_doubt(sagas: Sagas, world: World) -> None:
    """A workflow that catches a step in doubt is refused its commit; the rest is undone, the doubt is named."""
    world.plan["make b"] = ["lose_reply"]
    plan = Plan(world=world.name, things=["a", "b"], catch=True, tool="toy.make_blind")
    handle = await sagas.start(MakeThings.run, plan)
    cause = await sagas.failure(handle)
    assert cause.type == "UndoIncomplete"
    assert list(world.things) == ["b"]
    assert await sagas.states(handle) == ["undone", "in_doubt"]


async def test_a_step_that_changed_nothing_is_not_undone(sagas: Sagas, world: World) -> None:
    """The undo of a no-op is no call at all, and the thing that was there stays."""
    world.things["a"] = "wanted"
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a", "b"], fail=True))
    report = await sagas.report(handle)
    assert world.things == {"a": "wanted"}
    assert "unmake a" not in world.log
    assert report.steps[0].compensation is Compensation.NOT_NEEDED
    assert (await sagas.view(handle)).state is SagaState.CLOSED


async def test_a_thing_that_was_there_before(sagas: Sagas, world: World) -> None:
    """A step on what somebody else made is refused, and the unwinding does not touch it."""
    world.things["b"] = "somebody else"
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a", "b"]))
    assert (await sagas.failure(handle)).type == "SagaUndone"
    assert world.things == {"b": "somebody else"}


async def test_somebody_changed_it_since(sagas: Sagas, world: World) -> None:
    """A conflict destroys nothing, the rest is undone, and the failure names what is left."""
    handle = await sagas.start(
        MakeThings.run, Plan(world=world.name, things=["a", "b", "c"], wait=3, fail=True)
    )
    while len(world.things) < 3:
        await handle.query("rescind_report")
    world.things["b"] = "somebody else"
    await handle.signal(MakeThings.go)
    cause = await sagas.failure(handle)
    assert cause.type == "UndoIncomplete"
    assert "somebody else's now" in cause.message
    assert world.things == {"b": "somebody else"}
    assert await sagas.states(handle) == ["undone", "stuck", "undone"]


async def test_a_compensation_that_keeps_failing(sagas: Sagas, world: World) -> None:
    """It is stuck after its budget, and the records below it are undone meanwhile."""
    world.plan["unmake b"] = ["fail"] * 9
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a", "b"], fail=True))
    report = await sagas.report(handle)
    assert world.log.count("unmake b") == 3
    assert [step.step for step in report.left] == ["make_thing#2"]
    assert list(world.things) == ["b"]
    assert await sagas.states(handle) == ["undone", "stuck"]


async def test_the_reply_to_an_undo_is_lost(sagas: Sagas, world: World) -> None:
    """Finding the world restored at the second try is success."""
    world.plan["unmake a"] = ["lose_reply"]
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a"], fail=True))
    assert (await sagas.failure(handle)).type == "SagaUndone"
    assert world.log.count("unmake a") == 2


async def test_the_same_tool_twice(sagas: Sagas, world: World) -> None:
    """Two steps of one name have two keys, two effects and two undos."""
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a", "b"], fail=True))
    await sagas.failure(handle)
    keys = world.keys["a"] | world.keys["b"] | world.keys["undo a"] | world.keys["undo b"]
    assert len(keys) == 4
    assert all(len(key) <= 40 for key in keys)


async def test_an_approved_irreversible_tool(sagas: Sagas, world: World) -> None:
    """It runs, the journal says who approved it, and a later failure can't be clean."""
    plan = Plan(world=world.name, things=["a", "b"], tell="hello", approved=["toy.tell_world"], fail=True)
    handle = await sagas.start(MakeThings.run, plan)
    cause = await sagas.failure(handle)
    assert cause.type == "UndoIncomplete"
    assert "point of no return" in cause.message
    assert list(world.things) == ["hello"]
    view = await sagas.view(handle)
    assert any("pre-approved in the workflow's input" in str(line.body) for line in view.journal)
    assert await sagas.states(handle) == ["stuck", "undone", "undone"]


async def test_a_read_only_step(sagas: Sagas, world: World) -> None:
    """It answers, and neither the stack nor the ledger knows of it."""
    world.things["there"] = "somebody"
    handle = await sagas.start(ReadOnly.run, Plan(world=world.name, things=[]))
    assert await handle.result() == "1"
    assert await sagas.states(handle) == []


async def test_a_second_saga_in_one_workflow(sagas: Sagas, world: World) -> None:
    """It is refused, and says to use one block."""
    handle = await sagas.start(TwoSagas.run, Plan(world=world.name, things=[]))
    assert "had a saga already" in (await sagas.failure(handle)).message


async def test_a_workflow_with_a_cron_schedule_or_a_retry_policy(sagas: Sagas, world: World) -> None:
    """Both are refused, since their runs would share the keys."""
    plan = Plan(world=world.name, things=["a"])
    handle = await sagas.start(MakeThings.run, plan, retry_policy=RetryPolicy(maximum_attempts=2))
    assert "retry policy" in (await sagas.failure(handle)).message
    handle = await sagas.start(MakeThings.run, plan, cron_schedule="@every 1s")
    with pytest.raises(WorkflowContinuedAsNewError):
        await handle.result(follow_runs=False)
    first = sagas.client.get_workflow_handle(handle.id, run_id=handle.first_execution_run_id)
    last = [event async for event in first.fetch_history_events()][-1]
    assert "cron schedule" in last.workflow_execution_failed_event_attributes.failure.message
    await sagas.client.get_workflow_handle(handle.id).terminate()
    assert world.log == []


async def test_parallel_steps_one_fails(sagas: Sagas, world: World) -> None:
    """The slow sibling is waited for and undone; nothing lands after the workflow has closed."""
    world.plan["make a"] = ["slow"]
    world.plan["make b"] = ["refuse"]
    for catch in (True, False):
        world.plan["make a"], world.plan["make b"] = ["slow"], ["refuse"]
        handle = await sagas.start(
            MakeTogether.run, Plan(world=world.name, things=["a", "b", "c"], catch=catch)
        )
        assert (await sagas.failure(handle)).type == "SagaUndone"
        assert await sagas.status(handle) is WorkflowExecutionStatus.FAILED
        assert world.things == {}
        assert "unmake a" in world.log
        world.log.clear()


async def test_parallel_steps_succeed(sagas: Sagas, world: World) -> None:
    """Steps side by side each have their key and stand."""
    handle = await sagas.start(MakeTogether.run, Plan(world=world.name, things=["a", "b", "c"]))
    assert await handle.result() == ["a", "b", "c"]
    assert (await sagas.view(handle)).state is SagaState.SEALED


async def test_a_workflow_that_has_continued_as_new(sagas: Sagas, world: World) -> None:
    """Its saga is refused, since it would share the keys of the run before."""
    handle = await sagas.start(ContinuesAsNew.run, Plan(world=world.name, things=["a"]))
    assert "continues another as new" in (await sagas.failure(handle)).message
    assert world.log == []


async def test_a_reset_of_an_undone_saga_with_steps_side_by_side(sagas: Sagas, world: World) -> None:
    """It fails by one error, although each of its steps has failed by one: a group would hang it for ever."""
    world.plan["make b"] = ["refuse"]
    handle = await sagas.start(MakeTogether.run, Plan(world=world.name, things=["a", "b", "c"]))
    await sagas.failure(handle)
    cause = await sagas.failure(await sagas.reset(handle, before_activity=1))
    assert cause.type == "SagaTakenOver"
    assert "start a new workflow" in cause.message


async def test_a_reset_of_an_undone_saga(sagas: Sagas, world: World) -> None:
    """It fails and says to start anew; it is never COMPLETED on undone effects, and nothing is done again."""
    world.plan["make b"] = ["refuse"]
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a", "b"]))
    await sagas.failure(handle)
    for before_step in (1, 2):
        again = await sagas.reset(handle, before_activity=before_step)
        cause = await sagas.failure(again)
        assert cause.type == "SagaTakenOver"
        assert "start a new workflow" in cause.message
    assert world.things == {}
    assert world.makes == {"a": 1}
