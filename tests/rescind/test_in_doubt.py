"""Lost replies, time-outs and late effects: asked, never guessed; one effect at most, and none left unseen."""

import asyncio

import pytest

from rescind import Outcome, SagaState
from tests.rescind.sagas import Sagas, eventually
from tests.rescind.toy_workflows import MakeThings, Plan
from tests.rescind.toy_world import World

pytestmark = pytest.mark.usefixtures("toy_worker")


async def test_the_reply_is_lost(sagas: Sagas, world: World) -> None:
    """The provider acted and dropped the connection: one effect, the result comes from the lookup."""
    world.plan["make a"] = ["lose_reply"]
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a", "b"]))
    assert await handle.result() == ["a", "b"]
    assert world.makes == {"a": 1, "b": 1}
    assert "find a" in world.log
    assert (await sagas.view(handle)).effects[0].found


async def test_the_time_out_and_the_lookup_says_applied(sagas: Sagas, world: World) -> None:
    """The provider acted and never answered: the saga goes on with what the lookup found."""
    world.plan["make a"] = ["hang"]
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a", "b"]))
    assert await handle.result() == ["a", "b"]
    assert world.makes == {"a": 1, "b": 1}


async def test_it_acts_late_after_the_client_has_gone(sagas: Sagas, world: World) -> None:
    """The retry waits until nothing can be in flight, and then finds the late effect."""
    world.plan["make a"] = ["late"]
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a"], fail=True))
    assert (await sagas.failure(handle)).type == "SagaUndone"
    await asyncio.sleep(1.5)
    assert world.things == {}
    assert world.makes == {"a": 1}


async def test_refused_at_the_second_attempt_after_a_lost_reply(sagas: Sagas, world: World) -> None:
    """A refusal proves nothing about the attempt before it: the step is looked up, stands, and is undone."""
    world.plan["find a"] = ["fail", "ok"]
    world.plan["make a"] = ["lose_reply"]
    world.plan["make b"] = ["refuse"]
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a", "b"]))
    assert (await sagas.failure(handle)).type == "SagaUndone"
    assert world.things == {}
    assert world.makes == {"a": 1}


async def test_refused_for_good_is_absent(sagas: Sagas, world: World) -> None:
    """A refused step is absent without being looked up, and nothing is undone for it."""
    world.plan["make a"] = ["refuse"]
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a"]))
    await sagas.failure(handle)
    assert world.log == ["make a"]
    assert await sagas.states(handle) == ["absent"]


async def test_refused_in_six_million_characters(sagas: Sagas, world: World) -> None:
    """The words are cut, so that the refusal can be reported: it is final, and it is heard at once."""
    world.plan["make a"] = ["refuse_at_length"] * 9
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a"]))
    assert len((await sagas.failure(handle)).message) < 10_000
    assert world.log == ["make a"]
    assert await sagas.states(handle) == ["absent"]


async def test_not_now_is_tried_again(sagas: Sagas, world: World) -> None:
    """Nothing happened but may: it is tried again after the time that the provider asked for."""
    world.plan["make a"] = ["not_now", "not_now"]
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a"]))
    assert await handle.result() == ["a"]
    assert world.log == ["make a"] * 3


async def test_not_now_for_ever(sagas: Sagas, world: World) -> None:
    """The tries are used up; every one is proven empty, so the step is absent without a lookup."""
    world.plan["make b"] = ["not_now"] * 9
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a", "b"]))
    assert (await sagas.failure(handle)).type == "SagaUndone"
    assert world.log.count("make b") == 3
    assert await sagas.states(handle) == ["undone", "absent"]


async def test_no_attempt_ever_reports(sagas: Sagas, world: World) -> None:
    """Attempts that outlive their time are counted too: no call more than the tries is made, and then it is settled."""
    world.plan["make b"] = ["deaf"] * 9
    handle = await sagas.start(
        MakeThings.run, Plan(world=world.name, things=["a", "b"], tool="toy.make_deduplicated")
    )
    assert (await sagas.failure(handle)).type == "UndoIncomplete"
    assert world.log.count("make b") == 3
    assert await sagas.states(handle) == ["undone", "in_doubt"]


async def test_no_lookup_and_a_lost_reply(sagas: Sagas, world: World) -> None:
    """Called once, in doubt; it is not undone blindly, the rest is, and the message says what to check."""
    world.plan["make b"] = ["lose_reply"]
    handle = await sagas.start(
        MakeThings.run, Plan(world=world.name, things=["a", "b"], tool="toy.make_blind")
    )
    cause = await sagas.failure(handle)
    assert cause.type == "UndoIncomplete"
    assert "check with the provider whether make_blind#2 took effect" in cause.message
    assert world.log.count("make b") == 1
    assert list(world.things) == ["b"]
    assert await sagas.states(handle) == ["undone", "in_doubt"]
    assert (await sagas.view(handle)).state is SagaState.UNWINDING


async def test_the_lookup_cannot_tell(sagas: Sagas, world: World) -> None:
    """Nobody guesses: the step is in doubt."""
    world.plan["make a"], world.plan["find a"] = ["lose_reply"], ["fail"] * 9
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a"]))
    assert (await sagas.report(handle)).outcome is Outcome.INCOMPLETE
    assert await sagas.states(handle) == ["in_doubt"]
    assert world.makes == {"a": 1}


async def test_the_lookup_is_away_for_some_seconds(sagas: Sagas, world: World) -> None:
    """It is asked again after a while, and what it says in the end holds."""
    world.plan["make a"], world.plan["find a"] = ["lose_reply"], ["lose_reply"] * 7
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a"]))
    await handle.result()
    assert await sagas.states(handle) == ["applied"]
    assert world.makes == {"a": 1}


async def test_a_result_outside_the_contract(sagas: Sagas, world: World) -> None:
    """One effect; the step fails, and is undone with the result that the lookup gives."""
    world.plan["make a"] = ["garbage"]
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a"]))
    cause = await sagas.failure(handle)
    assert cause.type == "SagaUndone"
    assert "not its result" in cause.message
    assert world.makes == {"a": 1}
    assert world.things == {}


async def test_a_result_of_three_megabytes(sagas: Sagas, world: World) -> None:
    """One effect, a failure in words, and it is undone from the ledger."""
    world.plan["make a"] = ["huge"]
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a"]))
    cause = await sagas.failure(handle)
    assert cause.type == "SagaUndone"
    assert "too large" in cause.message
    assert world.makes == {"a": 1}
    assert world.things == {}


async def test_a_request_that_is_too_large(sagas: Sagas, world: World) -> None:
    """It is refused before anything is scheduled."""
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a"], padding=1_600_000))
    assert "Pass a reference" in (await sagas.failure(handle)).message
    assert world.log == []


async def test_request_and_result_that_fit_only_apart(sagas: Sagas, world: World) -> None:
    """No receipt is too large to be undone: it is built from the ledger."""
    world.plan["make a"] = ["large"]
    plan = Plan(world=world.name, things=["a"], padding=1_400_000, fail=True)
    handle = await sagas.start(MakeThings.run, plan)
    assert (await sagas.failure(handle)).type == "SagaUndone"
    assert world.things == {}


async def test_results_that_are_too_large_together(sagas: Sagas, world: World) -> None:
    """Two that fit only apart don't stop the report: it goes without them, and the ledger has both."""
    world.plan["make a"], world.plan["make b"] = ["large"], ["large"]
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a", "b"], fail=True))
    report = await sagas.report(handle)
    assert [step.result for step in report.steps] == [None, None]
    assert world.things == {}
    assert all(len(str(effect.result)) > 1_400_000 for effect in (await sagas.view(handle)).effects)


async def test_a_double_that_reports_late_is_undone_twice(sagas: Sagas, world: World) -> None:
    """Whatever a zombie leaves, no clean report stands over it."""
    world.plan["make a"] = ["hang"]
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a"], fail=True))
    await eventually(lambda: world.makes["a"] == 1)
    await sagas.failure(handle)
    assert world.things == {}
    assert (await sagas.view(handle)).state is SagaState.CLOSED


async def test_a_retry_that_finds_its_own_work(sagas: Sagas, world: World) -> None:
    """While an earlier attempt is unproven, a no-op does not count as one: the effect is undone."""
    world.plan["make a"] = ["lose_reply"]
    plan = Plan(world=world.name, things=["a"], fail=True, tool="toy.make_deduplicated")
    handle = await sagas.start(MakeThings.run, plan)
    report = await sagas.report(handle)
    assert report.outcome is Outcome.UNDONE
    assert world.things == {}
    assert (await sagas.view(handle)).state is SagaState.CLOSED


async def test_a_result_that_no_undo_can_read(sagas: Sagas, world: World) -> None:
    """It is left to a person at once; the try has reported, so that what the person says is not waited for."""
    world.plan["make a"] = ["garbage"]
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a"], tool="toy.make_blind"))
    report = await sagas.report(handle)
    assert (report.outcome, report.steps[0].state) == (Outcome.INCOMPLETE, "stuck")
    assert "no lookup gives a better one" in str(report.steps[0].error)
    events = [line.event for line in (await sagas.view(handle)).journal]
    assert events[events.index("undo_begin") + 1] == "undo_finish"
    assert list(world.things) == ["a"]
    saga = f"{handle.id}/{handle.first_execution_run_id}"
    await sagas.client.get_workflow_handle(f"rescind-reconcile/{saga}").terminate()
