"""What a critical tool has done is undone after the fact only when a second person agrees."""

from datetime import timedelta
from typing import cast

import pytest

from rescind import Outcome, SagaReport, SagaState
from rescind.ledger import EffectAddress, GateState, Ledger
from tests.rescind.approvals.conftest import People, lines
from tests.rescind.recovery.conftest import Look, Undo
from tests.rescind.sagas import Handle, Sagas, eventually
from tests.rescind.toy_workflows import MakeThings, Plan
from tests.rescind.toy_world import World

pytestmark = pytest.mark.usefixtures("toy_worker")
DEAR = "toy.make_dear"


async def made(sagas: Sagas, world: World, *things: str, tool: str = DEAR) -> Handle:
    """A saga that has made these things and is done."""
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=list(things), tool=tool))
    await handle.result()
    return handle


async def asked(ledger: Ledger, sagas: Sagas, handle: Handle) -> list[str]:
    """The workflows that wait for people's word on this saga, as the command `approvals` finds them."""
    saga = await sagas.saga_id(handle)
    waiting = [
        cast("dict[str, str]", gate.shown) for gate in await ledger.gates(limit=10_000) if gate.saga == saga
    ]
    return [shown["workflow"] for shown in waiting]


async def untouched(sagas: Sagas, handle: Handle, world: World, *things: str) -> None:
    """Everything stands, nobody has claimed it, and it is committed."""
    view = await sagas.view(handle)
    assert (sorted(world.things), view.state, view.epoch) == (sorted(things), SagaState.COMMITTED, 0)
    assert (await sagas.ledger.verify(view.id)).differences == []


async def test_second_person_agrees(sagas: Sagas, ledger: Ledger, world: World, undo: Undo) -> None:
    """The order is the first word, the same person's second one is refused; then all is undone, and that is used up."""
    handle = await made(sagas, world, "a", "b")
    undoing = await undo(handle)
    people = People(undoing)
    waits = await people.asked("undo")
    assert (waits.risk, waits.people, waits.given) == ("critical", 2, ["anna: regretted"])
    assert await asked(ledger, sagas, handle) == [undoing.id]
    await untouched(sagas, handle, world, "a", "b")
    again = {"step": "undo", "who": "Anna", "note": "as I said"}
    assert "another one is needed" in await people.refused("approve", again)
    assert (
        await people.say("approve", digest=waits.digest, who="ben")
        == "undo is approved by anna: regretted; ben"
    )
    report: SagaReport = await undoing.result()
    assert (report.outcome, world.things) == (Outcome.UNDONE, {})
    assert [step.step for step in report.steps] == ["make_dear#1", "make_dear#2"]
    assert await lines(sagas, handle) == ["ask", "approve", "approve"]
    assert await asked(ledger, sagas, handle) == []
    view = await sagas.view(handle)
    assert (view.state, (await ledger.verify(view.id)).differences) == (SagaState.CLOSED, [])


async def test_second_person_refuses(sagas: Sagas, world: World, undo: Undo) -> None:
    """Nothing is touched, and the failure says who has refused and why; who orders it again has to be agreed to."""
    handle = await made(sagas, world, "a")
    first = await undo(handle)
    await People(first).asked("undo")
    await People(first).say("reject", step="undo", who="ben", note="it is needed")
    cause = await sagas.failure(first)
    assert cause.type == "UndoRefused"
    assert cause.message == "not undone: rejected by ben: it is needed. Nothing was touched"
    await untouched(sagas, handle, world, "a")
    second = await undo(handle)
    assert (await People(second).asked("undo")).given == ["anna: regretted"]
    await second.terminate()


async def test_nobody_agrees(sagas: Sagas, world: World, undo: Undo, monkeypatch: pytest.MonkeyPatch) -> None:
    """After its time it is refused, and nothing was touched."""
    monkeypatch.setattr("rescind.recovery._agreement._WITHIN", timedelta(seconds=1))
    handle = await made(sagas, world, "a")
    cause = await sagas.failure(await undo(handle))
    assert cause.message == (
        "not undone: nobody approved it in time; its approval has expired. Nothing was touched"
    )
    await untouched(sagas, handle, world, "a")


async def test_cancelled_while_it_waits(sagas: Sagas, world: World, undo: Undo) -> None:
    """It ends, and nothing was touched."""
    handle = await made(sagas, world, "a")
    undoing = await undo(handle)
    await People(undoing).asked("undo")
    await undoing.cancel()
    await sagas.cancelled(undoing)
    await untouched(sagas, handle, world, "a")


async def test_part(sagas: Sagas, world: World, undo: Undo) -> None:
    """A part with a critical step waits, and what was agreed to is no agreement to another part."""
    handle = await made(sagas, world, "alpha", "beta", "gamma")
    first = await undo(handle, "make_dear#2")
    await People(first).asked("undo")
    await People(first).say("approve", step="undo", who="ben")
    await first.result()
    assert sorted(world.things) == ["alpha", "gamma"]
    second = await undo(handle, "make_dear#3")
    assert (await People(second).asked("undo")).given == ["anna: regretted"]
    await People(second).say("approve", step="undo", who="cleo")
    await second.result()
    assert list(world.things) == ["alpha"]
    assert (await sagas.view(handle)).state is SagaState.COMMITTED


async def test_what_is_not_critical(sagas: Sagas, world: World, undo: Undo) -> None:
    """It asks nobody."""
    handle = await made(sagas, world, "a", tool="toy.make_thing")
    await (await undo(handle)).result()
    assert world.things == {}
    assert await lines(sagas, handle) == []


async def test_sweeper_asks_nobody(sagas: Sagas, world: World, look: Look) -> None:
    """What was never committed is undone, however critical it is."""
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a", "b"], tool=DEAR, wait=1))
    await eventually(lambda: "a" in world.things)
    await handle.terminate()
    await look()
    await eventually(lambda: not world.things)
    assert await lines(sagas, handle) == []


async def test_undo_is_terminated_after_the_agreement(sagas: Sagas, world: World, undo: Undo) -> None:
    """What was agreed to and begun is gone on with by the next undo, which asks nobody again."""
    handle = await made(sagas, world, "a", "b")
    world.plan["unmake b"] = ["slow"]
    first = await undo(handle)
    await People(first).asked("undo")
    await People(first).say("approve", step="undo", who="ben")
    await eventually(lambda: "unmake b" in world.log)
    await first.terminate()
    await (await undo(handle, who="cleo")).result()
    assert world.things == {}
    assert await lines(sagas, handle) == ["ask", "approve", "approve"]


@pytest.mark.parametrize("state", ["granted", "waiting", "granted to another"])
async def test_undo_is_terminated_before_its_claim(
    sagas: Sagas, ledger: Ledger, world: World, undo: Undo, state: str
) -> None:
    """The same order takes up what was agreed to, or the question as it stood; another's is asked about anew."""
    handle = await made(sagas, world, "a")
    first = await undo(handle)
    digest = (await People(first).asked("undo")).digest
    await first.terminate()
    view = await sagas.view(handle)
    if "granted" in state:
        at = EffectAddress(view.id, 0, f"{view.id.partition('/')[2]}/undo", ())
        answer = await ledger.decide(at, digest=digest, verdict="approve", who="ben", note=None, word="late")
        assert getattr(answer, "state", None) is GateState.GRANTED
    who = "cleo" if "another" in state else "anna"
    second = await undo(handle, who=who)
    if state != "granted":
        assert (await People(second).asked("undo")).given == [f"{who}: regretted"]
        await People(second).say("approve", step="undo", who="ben")
    await second.result()
    assert world.things == {}
