"""The check before a call: the world is asked again after people have approved, and what it refuses is not called."""

from collections.abc import AsyncIterator

import pytest
from temporalio.worker import Worker

from rescind.ledger import SagaView
from tests.rescind.approvals.conftest import People, lines
from tests.rescind.approvals.gated_workflows import Asking, AskPeople
from tests.rescind.conftest import NewWorker
from tests.rescind.sagas import Sagas
from tests.rescind.toy_workflows import MakeThings, Plan
from tests.rescind.toy_world import Behaviour, World


@pytest.fixture(autouse=True)
async def worker(new_worker: NewWorker) -> AsyncIterator[Worker]:
    """One worker of these workflows."""
    async with new_worker(workflows=[AskPeople, MakeThings]) as running:
        yield running


def begun(view: SagaView, step: str) -> list[str]:
    """What the journal says of the attempts at a step, in order."""
    return [str(line.body) for line in view.journal if line.event == "begin" and step in str(line.body)]


async def test_the_world_has_changed_while_people_thought(sagas: Sagas, world: World) -> None:
    """Approved, then refused by the check: nothing is called, all is undone, and the approval is on record."""
    handle = await sagas.start(AskPeople.run, Asking(world=world.name, before=["a"]))
    people = People(handle)
    await people.asked("tell_world#1")
    world.plan["check hello"] = ["refuse"]
    await people.say("approve", step="tell_world#1", who="anna")
    report = await sagas.report(handle)
    assert (report.failed_at, report.error) == (
        "tell_world#1",
        "nobody wants hello any more (asked before the call, which was not made)",
    )
    assert world.log == ["make a", "check hello", "unmake a"]
    assert await sagas.states(handle) == ["undone", "absent"]
    view = await sagas.view(handle)
    assert "'who': 'anna'" in begun(view, "tell_world#1")[-1]
    assert await lines(sagas, handle) == ["ask", "approve"]


async def test_a_refused_step_is_tried_again_by_a_reset(sagas: Sagas, world: World) -> None:
    """Its approval was for the try that the world refused, so people are asked anew."""
    world.plan["check one"] = ["refuse"]
    handle = await sagas.start(AskPeople.run, Asking(world=world.name, tell=["one", "two"], catch=True))
    people = People(handle)
    await people.asked("tell_world#1")
    await people.say("approve", step="tell_world#1", who="anna")
    await people.asked("tell_world#2")
    again = People(await sagas.reset(handle, before_activity=1))
    assert (await again.asked("tell_world#1")).given == []
    assert world.log == ["check one"]
    await again.say("approve", step="tell_world#1", who="ben")
    await again.asked("tell_world#2")
    assert world.log == ["check one", "tell one"]
    await again.handle.cancel()


@pytest.mark.parametrize("no_answer", ["lose_reply", "hang"])
async def test_the_world_does_not_answer(sagas: Sagas, world: World, no_answer: Behaviour) -> None:
    """The call is not made; the next attempt asks again, with the same approval."""
    world.plan["check hello"] = [no_answer, "ok"]
    handle = await sagas.start(AskPeople.run, Asking(world=world.name))
    people = People(handle)
    await people.asked("tell_world#1")
    await people.say("approve", step="tell_world#1", who="anna")
    await handle.result()
    assert world.log == ["check hello", "check hello", "tell hello"]
    assert await lines(sagas, handle) == ["ask", "approve"]


@pytest.mark.parametrize(
    ("tool", "first", "then"),
    [
        ("toy.make_thing", "not_now", ["check a", "make a"]),
        ("toy.make_thing", "fail", ["find a", "check a", "make a"]),
        ("toy.make_thing", "lose_reply", ["find a"]),
        ("toy.make_deduplicated", "lose_reply", ["make a"]),
    ],
    ids=["proven to have done nothing", "not found", "found", "known by its key"],
)
async def test_a_second_attempt(
    sagas: Sagas, world: World, tool: str, first: Behaviour, then: list[str]
) -> None:
    """It is checked again where the first is known to have done nothing, and not where it may see its own work."""
    world.plan["make a"], world.plan["check a"] = [first], ["ok", "ok"]
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a"], tool=tool))
    await handle.result()
    assert world.log == ["check a", "make a", *then]
