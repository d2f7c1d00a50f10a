"""Plans that are run: side by side and in order, with references, to success or back."""

from __future__ import annotations

import asyncio

import pytest
from temporalio.client import WorkflowExecutionStatus

from rescind import Outcome
from rescind._operations_queue import operation_id
from rescind.plans import Plan, PlanOrder, Problem
from tests.rescind.plans.conftest import Plans
from tests.rescind.sagas import eventually

pytestmark = pytest.mark.usefixtures("plan_worker")


async def test_a_plan_to_its_success(plans: Plans) -> None:
    """Steps run by what they need, results go where they are referred to, and the point of no return comes last."""
    tell = plans.named("tell", {"$join": ["about ", {"$ref": "b.name"}]}, tool="toy.tell_world")
    count = plans.make("count", "a", tool="toy.count_things")
    done = await plans.done(
        tell, plans.named("b", {"$join": [{"$ref": "a.name"}, "-b"]}), plans.make("a"), count
    )
    assert plans.world.log[0] == "make a"
    assert plans.world.log[-1] == "tell about a-b"
    assert set(plans.world.things) == {"a", "a-b", "about a-b"}
    counted = done.steps["count"].result
    assert counted in [
        {"changed": False, "name": name, "note": ""} for name in ("1", "2")
    ]  # b runs beside it
    assert [step.became.value for step in done.steps.values()] == ["done"] * 4


async def test_a_failure_undoes_in_reverse_order_of_start(plans: Plans) -> None:
    """The last started is the first undone, along what they need, and a later stage is not begun."""
    plans.world.plan["make d"] = ["refuse"]
    report = await plans.report(
        plans.make("a"),
        plans.make("b", "a"),
        plans.make("c", "b"),
        plans.make("d", "c"),
        plans.named("tell", "all", tool="toy.tell_world"),
    )
    assert (report.outcome, report.failed_at) == (Outcome.UNDONE, "d#1")
    assert plans.world.things == {}
    assert [each for each in plans.world.log if each.startswith("unmake")] == [
        "unmake c",
        "unmake b",
        "unmake a",
    ]
    assert "tell all" not in plans.world.log


async def test_steps_side_by_side(plans: Plans) -> None:
    """One fails fast; the slow one beside it is waited for and undone, and nothing lands after the end."""
    plans.world.plan.update({"make slow": ["slow"], "make bad": ["refuse"]})
    report = await plans.report(plans.make("slow"), plans.make("bad"), plans.make("after", "slow"))
    assert report.outcome is Outcome.UNDONE
    assert plans.world.things == {}
    assert "make after" not in plans.world.log


async def test_no_more_at_a_time_than_the_plan_says(plans: Plans) -> None:
    """With one at a time they run in the plan's order, and each is over before the next."""
    plans.world.plan["make a"] = ["slow"]
    handle = await plans.start(plans.make("a"), plans.make("b"), parallel=1)
    await eventually(lambda: "make a" in plans.world.log)
    assert plans.world.log == ["make a"]
    await handle.result()
    assert plans.world.log == ["make a", "make b"]


async def test_edited_arguments(plans: Plans) -> None:
    """A step that is refused is tried with others: a new key, one effect, and the plan goes on with its result."""
    plans.world.plan["make taken"] = ["refuse"]
    other = {"action": "retry", "arguments": {"world": plans.world.name, "name": "free"}}
    done = await plans.done(
        plans.named("a", "taken", on_failure=[other]), plans.named("b", {"$join": [{"$ref": "a.name"}, "!"]})
    )
    assert set(plans.world.things) == {"free", "free!"}
    assert plans.world.keys["taken"].isdisjoint(plans.world.keys["free"])
    assert (done.steps["a"].tries, done.steps["a"].error) == (2, "taken is not allowed")


async def test_a_substitute(plans: Plans) -> None:
    """Another tool takes the step's place, and is undone with the rest when a later one fails."""
    plans.world.plan.update({"make a": ["refuse"], "make b": ["refuse"]})
    arguments = {"world": plans.world.name, "name": "instead"}
    substitute = {"action": "substitute", "tool": "toy.make_deduplicated", "arguments": arguments}
    report = await plans.report(plans.make("a", on_failure=[substitute]), plans.make("b", "a"))
    assert [(step.step, step.tool, step.state.value) for step in report.steps] == [
        ("a#1", "toy.make_thing", "absent"),
        ("a#2", "toy.make_deduplicated", "undone"),
        ("b#1", "toy.make_thing", "absent"),
    ]
    assert plans.world.things == {}


async def test_a_step_that_is_skipped(plans: Plans) -> None:
    """The plan goes on without it, with what it says for where there is no result."""
    plans.world.plan["make a"] = ["refuse"]
    done = await plans.done(
        plans.make("a", on_failure=[{"action": "skip"}]),
        plans.named("b", {"$ref": "a.name", "otherwise": "alone"}, "a"),
    )
    assert set(plans.world.things) == {"alone"}
    assert (done.steps["a"].became.value, done.steps["a"].error) == ("skipped", "a is not allowed")


async def test_a_step_in_doubt_is_never_skipped(plans: Plans) -> None:
    """Nobody can tell whether it happened, so the plan is undone and a person is asked."""
    plans.world.plan["make a"] = ["lose_reply"]
    report = await plans.report(
        plans.make("first"),
        plans.make("a", "first", tool="toy.make_blind", on_failure=[{"action": "skip"}]),
    )
    assert (report.outcome, report.failed_at) == (Outcome.INCOMPLETE, "a#1")
    assert [step.state.value for step in report.steps] == ["undone", "in_doubt"]


async def test_a_result_that_the_next_tool_does_not_take(plans: Plans) -> None:
    """What only the run could show is a step that was not begun: its alternatives are tried."""
    look = plans.named("look", {"$ref": "long.name"}, tool="toy.find_named")
    shorter = {"action": "retry", "arguments": {"world": plans.world.name, "name": "short"}}
    done = await plans.done(plans.named("long", "nine-long"), look | {"on_failure": [shorter]})
    assert done.steps["look"].result == {"changed": False, "name": "short", "note": ""}
    assert "look nine-long" not in plans.world.log


async def test_without_an_alternative_it_undoes_the_plan(plans: Plans) -> None:
    """The report names the step, and says that it was not begun."""
    look = plans.named("look", {"$ref": "long.name"}, tool="toy.find_named")
    report = await plans.report(plans.named("long", "nine-long"), look)
    assert (report.outcome, report.failed_at) == (Outcome.UNDONE, "look")
    assert "look was not begun, since toy.find_named does not take its arguments" in (report.error or "")
    assert plans.world.things == {}


async def test_a_request_that_has_grown_too_large(plans: Plans) -> None:
    """Results that together are more than Temporal carries are refused before they are sent, and all is undone."""
    plans.world.plan["make a"] = ["large"]
    twice = {"$join": [{"$ref": "a.note"}, {"$ref": "a.note"}]}
    failure = await plans.sagas.failure(await plans.start(plans.make("a"), plans.named("b", twice)))
    assert failure.type == "SagaUndone"
    assert "bytes of JSON" in failure.message
    assert plans.world.things == {}


async def test_a_read_that_fails(plans: Plans) -> None:
    """It may be skipped like any step that has done nothing; otherwise it undoes the plan."""
    look = plans.make("look", tool="toy.find_named")
    plans.world.plan["look look"] = ["refuse", "refuse"]
    skipping = look | {"on_failure": [{"action": "skip"}]}
    done = await plans.done(skipping, plans.named("b", {"$ref": "look.name", "otherwise": "none"}))
    assert (done.steps["look"].became.value, done.steps["look"].error) == ("skipped", "nobody may look")
    report = await plans.report(plans.make("a"), look | {"needs": ["a"]})
    assert (report.outcome, report.failed_at) == (Outcome.UNDONE, "look")
    assert set(plans.world.things) == {"none"}


async def test_a_point_of_no_return_before_a_failure(plans: Plans) -> None:
    """What needs it early fails: everything that can be undone is, it stands, and a reconciliation is open."""
    plans.world.plan["make b"] = ["refuse"]
    handle = await plans.start(
        plans.make("a"), plans.named("tell", "all", tool="toy.tell_world"), plans.make("b", "tell")
    )
    report = await plans.sagas.report(handle)
    assert report.outcome is Outcome.INCOMPLETE
    assert [step.step for step in report.left] == ["tell#1"]
    assert set(plans.world.things) == {"all"}
    opened = plans.sagas.client.get_workflow_handle(operation_id("rescind-reconcile", report.saga))
    assert (await opened.describe()).status is WorkflowExecutionStatus.RUNNING
    await opened.terminate("the test is over")


async def test_a_time_of_its_own(plans: Plans) -> None:
    """A step with a shorter time than its tool's is cut off by it, and what it may have done is looked up."""
    plans.world.plan["make a"] = ["hang"]
    began = asyncio.get_running_loop().time()
    done = await plans.done(plans.make("a", timeout=0.5))
    assert asyncio.get_running_loop().time() - began < 6
    assert done.steps["a"].became.value == "done"
    assert plans.world.makes["a"] == 1


async def test_cancelled_in_the_middle(plans: Plans) -> None:
    """The running steps end, all are undone, and the workflow is CANCELED."""
    plans.world.plan["make b"] = ["slow"]
    handle = await plans.start(plans.make("a"), plans.make("b"), plans.make("c", "a", "b"))
    await eventually(lambda: "make b" in plans.world.log)
    await handle.cancel()
    await plans.sagas.cancelled(handle)
    assert plans.world.things == {}
    assert "make c" not in plans.world.log


async def test_a_plan_that_is_refused(plans: Plans) -> None:
    """Started past the command line it is refused all the same, with every problem, and nothing is begun."""
    steps = [
        plans.make("a"),
        plans.make("b", tool="toy.make_think"),
        plans.make("c", "d"),
    ]
    plan = Plan.model_validate({"steps": steps})
    failure = await plans.sagas.failure(await plans.begin(PlanOrder(plan=plan)))
    assert failure.type == "PlanRefused"
    problems = [Problem.model_validate(each) for each in failure.details]
    assert [each.place for each in problems] == ["/steps/1/tool", "/steps/2/needs/0"]
    assert "Nearest: toy.make_thing" in failure.message
    assert plans.world.log == []


async def test_no_event_more_than_by_hand(plans: Plans) -> None:
    """Beside the check, which is one activity, a plan costs what its steps cost."""
    handle = await plans.start(plans.make("a"), plans.make("b"), parallel=1)
    await handle.result()
    events = await plans.sagas.events(handle)
    assert events.count("marker_recorded") == 1  # the seal
    assert events.count("activity_task_scheduled") == 3
    assert not [event for event in events if "timer" in event or "search" in event]
