"""Starting anew under a workflow id whose previous saga is in doubt."""

import pytest

from rescind import SagaState
from rescind._states import Verdict
from rescind.ledger import EffectAddress
from tests.rescind.sagas import Sagas
from tests.rescind.toy_workflows import MakeThings, Plan
from tests.rescind.toy_world import World

pytestmark = pytest.mark.usefixtures("toy_worker")


async def test_previous_saga_is_in_doubt(sagas: Sagas, world: World) -> None:
    """The new one is refused at its first step and changes nothing; once a person has decided, it goes on."""
    world.plan["make b"] = ["lose_reply"]
    doubtful = await sagas.start(
        MakeThings.run, Plan(world=world.name, things=["a", "b"], tool="toy.make_blind")
    )
    await sagas.failure(doubtful)
    assert await sagas.states(doubtful) == ["undone", "in_doubt"]
    again = await sagas.start(MakeThings.run, Plan(world=world.name, things=["x", "y"]), id=doubtful.id)
    cause = await sagas.failure(again)
    assert cause.type == "SagaUndone"
    assert "an earlier saga of this workflow id has a step of which nobody can tell" in cause.message
    assert "Nothing had been changed" in cause.message
    assert list(world.things) == ["b"]
    assert (await sagas.view(again)).state is SagaState.CLOSED
    view = await sagas.view(doubtful)
    effect = view.effects[1]
    at = EffectAddress(view.id, view.epoch, effect.key, effect.seq)
    await sagas.ledger.resolve(at, Verdict.DONE, who="anna", note="taken away by hand")
    after = await sagas.start(MakeThings.run, Plan(world=world.name, things=["x", "y"]), id=doubtful.id)
    assert await after.result() == ["x", "y"]
    await sagas.client.get_workflow_handle(
        f"rescind-reconcile/{doubtful.id}/{doubtful.first_execution_run_id}"
    ).terminate()
