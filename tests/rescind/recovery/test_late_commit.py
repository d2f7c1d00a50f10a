"""A workflow that goes on between a look into the ledger and Temporal's answer: what it commits then stays."""

from types import ModuleType

import pytest
from temporalio.client import Client, WorkflowFailureError

from rescind import SagaState
from rescind.recovery import _look, _take_over
from rescind.recovery._fate import Owner, owner_of
from tests.rescind.recovery.conftest import Look, Undo
from tests.rescind.sagas import Handle, Sagas, until
from tests.rescind.toy_workflows import MakeThings, Plan
from tests.rescind.toy_world import World

pytestmark = pytest.mark.usefixtures("toy_worker")


async def started(sagas: Sagas, world: World, *, changes: bool) -> Handle:
    """A saga that has taken the first of two steps, and waits; whether that step has changed anything."""
    if not changes:
        world.things["a"] = "wanted"
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a", "b"], wait=1))

    async def taken() -> bool:
        view = await sagas.ledger.show(await sagas.saga_id(handle))
        return view is not None and [effect.state for effect in view.effects] == ["applied"]

    await until(taken)
    return handle


def completes_meanwhile(monkeypatch: pytest.MonkeyPatch, module: ModuleType, handle: Handle) -> None:
    """The saga's workflow goes on and completes right before Temporal is asked for it."""

    async def asked(client: Client, saga: str) -> Owner:
        if saga == f"{handle.id}/{handle.first_execution_run_id}":
            await handle.signal(MakeThings.go)
            await handle.result()
        return await owner_of(client, saga)

    monkeypatch.setattr(module, "owner_of", asked)


@pytest.mark.parametrize("changes", [True, False])
async def test_sweeper(
    sagas: Sagas, world: World, look: Look, monkeypatch: pytest.MonkeyPatch, *, changes: bool
) -> None:
    """It makes the seal final, whatever stood when it read its page, and asks nobody."""
    handle = await started(sagas, world, changes=changes)
    completes_meanwhile(monkeypatch, _look, handle)
    swept = await look()
    assert (await sagas.view(handle)).state is SagaState.COMMITTED
    assert await sagas.states(handle) == ["applied", "applied"]
    assert world.things.keys() == {"a", "b"}
    assert [line.event for line in (await sagas.view(handle)).journal].count("claim") == 0
    assert not [question for question in swept.questions if handle.id in question]


async def test_undo_of_what_is_not_committed(
    sagas: Sagas, world: World, undo: Undo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An undo that takes no committed saga takes none that was committed while it asked."""
    handle = await started(sagas, world, changes=True)
    completes_meanwhile(monkeypatch, _take_over, handle)
    with pytest.raises(WorkflowFailureError) as refused:
        await (await undo(handle, committed=False)).result()
    assert "committed" in str(refused.value.cause)
    assert (await sagas.view(handle)).state is SagaState.COMMITTED
    assert world.things.keys() == {"a", "b"}
