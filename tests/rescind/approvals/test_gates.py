"""Points of no return on a real server: what people say, what is done then, and what is on record."""

import pytest
from temporalio.api.sdk.v1 import WorkflowMetadata
from temporalio.client import WorkflowExecutionStatus

from rescind import SagaState
from tests.rescind.approvals.conftest import People, lines
from tests.rescind.approvals.gated_workflows import AskDeafly, Asking, AskPeople
from tests.rescind.sagas import Handle, Sagas, until
from tests.rescind.toy_world import World

pytestmark = pytest.mark.usefixtures("worker")
NOTHING_LEFT: dict[str, str] = {}
ANNA = {"who": "anna", "note": "go ahead"}


async def begun(sagas: Sagas, world: World, **asking: object) -> tuple[Handle, People]:
    handle = await sagas.start(AskPeople.run, Asking.model_validate({"world": world.name, **asking}))
    return handle, People(handle)


async def test_approved(sagas: Sagas, world: World) -> None:
    """It waits and shows what for, runs once approved, and the journal says who approved it and why."""
    handle, people = await begun(sagas, world, before=["a"])
    waits = await people.asked("tell_world#1")
    assert (waits.people, waits.given, waits.risk) == (1, [], "high")
    assert list(world.things) == ["a"]
    [gate] = await sagas.ledger.gates(await sagas.saga_id(handle))
    assert gate.shown == {
        "step": "tell_world#1",
        "workflow": handle.id,
        "tool": "toy.tell_world",
        "request": {"world": world.name, "name": "hello", "padding": ""},
    }
    answer = await people.say("approve", step="tell_world#1", digest=gate.digest, **ANNA)
    assert answer == "tell_world#1 is approved by anna: go ahead"
    await handle.result()
    assert sorted(world.things) == ["a", "hello"]
    view = await sagas.view(handle)
    assert view.state is SagaState.SEALED
    begin = [str(line.body) for line in view.journal if line.event == "begin"][-1]
    assert "'who': 'anna'" in begin
    assert "'note': 'go ahead'" in begin
    assert await lines(sagas, handle) == ["ask", "approve"]
    assert (await sagas.ledger.verify(view.id)).differences == []
    assert await sagas.ledger.gates(view.id) == []


async def test_what_people_see_in_the_web_ui(sagas: Sagas, world: World) -> None:
    """The workflow's current details are a Markdown table of what is asked, and it is found by a search attribute."""
    handle, people = await begun(sagas, world, tell=["hello | there"])
    waits = await people.asked("tell_world#1")
    shown = await handle.query("__temporal_workflow_metadata", result_type=WorkflowMetadata)
    text = shown.current_details
    assert "**waits for approval: tell_world#1**" in text
    assert "hello \\| there" in text
    assert waits.digest in text
    query = f"RescindWaitsFor = 'approval' AND WorkflowId = '{handle.id}'"

    async def found() -> bool:
        return [each.id async for each in sagas.client.list_workflows(query)] == [handle.id]

    await until(found)
    await people.say("approve", step="tell_world#1", who="anna")
    await handle.result()

    async def gone() -> bool:
        return not await found()

    await until(gone)


async def test_rejected(sagas: Sagas, world: World) -> None:
    """What was done is undone, the workflow is FAILED and not cancelled, and the reason is who rejected it and why."""
    handle, people = await begun(sagas, world, before=["a"])
    await people.asked("tell_world#1")
    assert "needs a note" in await people.refused("reject", {"step": "tell_world#1", "who": "anna"})
    answer = await people.say("reject", step="tell_world#1", who="anna", note="too early")
    assert answer == "tell_world#1 is rejected by anna: too early"
    cause = await sagas.failure(handle)
    assert cause.type == "SagaUndone"
    assert cause.message == (
        "tell_world#1 failed: rejected by anna: too early. 1 step had taken effect and is undone"
    )
    assert await sagas.status(handle) is WorkflowExecutionStatus.FAILED
    assert world.things == NOTHING_LEFT
    assert await lines(sagas, handle) == ["ask", "reject"]


async def test_nobody_approves_in_time(sagas: Sagas, world: World) -> None:
    """It expires, everything is undone, and the reason says so (scenario 15)."""
    handle, _ = await begun(sagas, world, before=["a"], within=1.0)
    report = await sagas.report(handle)
    assert (report.failed_at, report.error) == (
        "tell_world#1",
        "nobody approved it in time; its approval has expired",
    )
    assert world.things == NOTHING_LEFT
    assert await lines(sagas, handle) == ["ask", "expire"]


async def test_cancelled_while_it_waits(sagas: Sagas, world: World) -> None:
    """Every finished step is undone, and the workflow is CANCELED (scenario 1)."""
    handle, people = await begun(sagas, world, before=["a", "b"])
    await people.asked("tell_world#1")
    await handle.cancel()
    await sagas.cancelled(handle)
    assert world.things == NOTHING_LEFT
    assert await sagas.states(handle) == ["undone", "undone"]
    assert await sagas.ledger.gates(await sagas.saga_id(handle)) == []


@pytest.mark.parametrize(
    "word",
    [
        {"step": 7, "who": "anna"},
        {"step": "tell_world#1", "who": ["anna"]},
        {"step": "tell_world#1"},
        {"who": "anna"},
        "yes",
        None,
        {"step": "tell_world#1", "who": "anna", "approved": True},
        {"step": "tell_world#2", "who": "anna"},
        {"step": "tell_world#1", "who": "anna", "digest": "0" * 64},
    ],
)
async def test_a_word_that_does_not_fit(sagas: Sagas, world: World, word: object) -> None:
    """Its sender gets an error, and the saga still waits (scenarios 31 and 33)."""
    handle, people = await begun(sagas, world)
    await people.asked("tell_world#1")
    assert "Nothing was changed by this" in await people.refused("approve", word)
    assert world.log == []
    await people.say("approve", step="tell_world#1", who="anna")
    await handle.result()
    assert await lines(sagas, handle) == ["ask", "approve"]


async def test_approved_before_the_gate_is_reached(sagas: Sagas, world: World) -> None:
    """It is refused aloud, and opens nothing later (scenario 32)."""
    handle, people = await begun(sagas, world, before=["a"], pause=True)
    await sagas.until(handle, "activity_task_completed")
    why = await people.refused("approve", {"step": "tell_world#1", "who": "anna"})
    assert "has not been reached" in why
    await handle.signal("go")
    assert (await people.asked("tell_world#1")).given == []
    assert list(world.things) == ["a"]
    await handle.cancel()
    await sagas.cancelled(handle)


async def test_the_first_gate_approved_twice(sagas: Sagas, world: World) -> None:
    """The second gate is still shut (scenario 33)."""
    handle, people = await begun(sagas, world, tell=["one", "two"])
    first = await people.asked("tell_world#1")
    await people.say("approve", step="tell_world#1", who="anna")
    second = await people.asked("tell_world#2")
    for again in ({"step": "tell_world#1"}, {"digest": first.digest}):
        assert "does not wait" in await people.refused("approve", {**again, "who": "anna"})
    why = await people.refused("approve", {"step": "tell_world#2", "digest": first.digest, "who": "anna"})
    assert "not what was seen" in why
    assert list(world.things) == ["one"]
    await people.say("approve", digest=second.digest[:12], who="anna")
    await handle.result()
    assert list(world.things) == ["one", "two"]


async def test_a_critical_tool(sagas: Sagas, world: World) -> None:
    """It takes two different people: the same one twice is one."""
    handle, people = await begun(sagas, world, shout=True)
    assert (await people.asked("shout#1")).people == 2
    answer = await people.say("approve", step="shout#1", who="anna")
    assert answer == "shout#1 is approved by anna; it takes 1 more of 2"
    assert "another one is needed" in await people.refused("approve", {"step": "shout#1", "who": " Anna"})
    assert (await people.asked("shout#1")).given == ["anna"]
    assert world.log == []
    await people.say("approve", step="shout#1", who="ben")
    await handle.result()
    assert list(world.things) == ["hello"]
    assert await lines(sagas, handle) == ["ask", "approve", "approve"]


async def test_a_rejected_step_that_is_caught(sagas: Sagas, world: World) -> None:
    """Nothing of it was begun, so the saga may go on; the next gate is asked for itself."""
    handle, people = await begun(sagas, world, tell=["one", "two"], catch=True, after=["a"])
    await people.asked("tell_world#1")
    await people.say("reject", step="tell_world#1", who="anna", note="no")
    await people.asked("tell_world#2")
    await people.say("approve", step="tell_world#2", who="anna")
    await handle.result()
    assert sorted(world.things) == ["a", "two"]


async def test_reset_after_the_approval_was_used(sagas: Sagas, world: World) -> None:
    """What stands is not done again and asks nobody again; the word that Temporal offers again opens nothing else."""
    handle, people = await begun(sagas, world, before=["a"], tell=["one", "two"])
    await people.asked("tell_world#1")
    await people.say("approve", step="tell_world#1", who="anna")
    await people.asked("tell_world#2")
    again = People(await sagas.reset(handle, before_activity=2))
    await again.asked("tell_world#2")
    assert list(world.things) == ["a", "one"]
    await again.say("approve", step="tell_world#2", who="ben")
    await again.handle.result()
    assert world.log == ["make a", "tell one", "tell two"]
    assert await lines(sagas, handle) == ["ask", "approve", "ask", "approve"]


async def test_a_later_step_fails(sagas: Sagas, world: World) -> None:
    """Everything reversible is undone, and what can't be is left to a person."""
    world.plan["make b"] = ["refuse"]
    handle, people = await begun(sagas, world, before=["a"], after=["b"])
    await people.asked("tell_world#1")
    await people.say("approve", step="tell_world#1", who="anna")
    assert (await sagas.failure(handle)).type == "UndoIncomplete"
    assert list(world.things) == ["hello"]
    assert await sagas.states(handle) == ["undone", "stuck", "absent"]


async def test_a_workflow_with_an_update_of_this_name(sagas: Sagas, world: World) -> None:
    """The step is refused with the way out, since nobody could approve it."""
    handle = await sagas.start(AskDeafly.run, Asking(world=world.name))
    assert "nobody can approve it" in (await sagas.failure(handle)).message
    assert world.log == []
