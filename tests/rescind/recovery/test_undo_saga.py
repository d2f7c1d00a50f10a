"""A committed saga is undone from the ledger, whole or in part, also when its history is gone."""

import asyncio
from typing import Any

import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.client import WorkflowExecutionStatus

from rescind import Outcome, RecordState, SagaReport, SagaState
from tests.rescind.recovery.conftest import Undo
from tests.rescind.sagas import Handle, Sagas, eventually
from tests.rescind.toy_workflows import MakeThings, Plan
from tests.rescind.toy_world import World

pytestmark = pytest.mark.usefixtures("toy_worker")


async def made(sagas: Sagas, world: World, *things: str, **plan: Any) -> Handle:
    """A saga that has made these things and is done."""
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=list(things), **plan))
    await handle.result()
    return handle


async def test_committed_saga(sagas: Sagas, world: World, undo: Undo) -> None:
    """Every step is taken back, last first, and the ledger's report says who undid it and why."""
    handle = await made(sagas, world, "a", "b", "c")
    report: SagaReport = await (await undo(handle)).result()
    assert world.things == {}
    assert [call for call in world.log if call.startswith("unmake")] == ["unmake c", "unmake b", "unmake a"]
    assert report.outcome is Outcome.UNDONE
    view = await sagas.view(handle)
    assert (view.state, view.epoch) == (SagaState.CLOSED, 1)
    assert SagaReport.model_validate(view.report) == report
    assert report.error == "undone after the fact, anna: regretted"
    assert [step.restoration and step.restoration.grade for step in report.steps] == ["exact"] * 3


async def test_undone_twice(sagas: Sagas, world: World, undo: Undo) -> None:
    """Two at once are one, and a later one finds nothing to do; each step is undone once."""
    world.plan["unmake b"] = ["slow"]
    handle = await made(sagas, world, "a", "b")
    first, second = await asyncio.gather(undo(handle), undo(handle))
    assert first.first_execution_run_id == second.first_execution_run_id
    await first.result()
    later = await undo(handle)
    report: SagaReport = await later.result()
    assert report.outcome is Outcome.UNDONE
    assert later.first_execution_run_id != first.first_execution_run_id
    assert sorted(call for call in world.log if call.startswith("unmake")) == ["unmake a", "unmake b"]


async def test_history_is_gone(sagas: Sagas, world: World, undo: Undo) -> None:
    """The ledger is enough; where the saga's queue is not known any more, the operations queue's workers undo it."""
    handle = await made(sagas, world, "a", "b")
    await sagas.client.workflow_service.delete_workflow_execution(
        DeleteWorkflowExecutionRequest(
            namespace=sagas.client.namespace, workflow_execution=WorkflowExecution(workflow_id=handle.id)
        )
    )
    await (await undo(handle)).result()
    assert world.things == {}


async def test_running_saga(sagas: Sagas, world: World, undo: Undo) -> None:
    """It is refused: a running saga is cancelled, not undone; nothing is touched."""
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a", "b"], wait=1))
    await eventually(lambda: "a" in world.things)
    cause = await sagas.failure(await undo(handle))
    assert cause.type == "UndoRefused"
    assert cause.message == (
        "not undone: its workflow is running; cancel that, and it undoes its steps itself. Nothing was touched"
    )
    assert list(world.things) == ["a"]
    await handle.signal(MakeThings.go)
    assert await handle.result() == ["a", "b"]
    assert (await sagas.view(handle)).epoch == 0


async def test_unknown_saga(sagas: Sagas, world: World, undo: Undo) -> None:
    """A saga that the ledger does not have is refused."""
    handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=[]))
    await handle.result()
    handle = sagas.client.get_workflow_handle("nothing", first_execution_run_id="here")
    cause = await sagas.failure(await undo(handle))
    assert cause.message == "not undone: the ledger has no saga nothing/here. Nothing was touched"


async def test_somebody_has_changed_it_since(sagas: Sagas, world: World, undo: Undo) -> None:
    """The conflict is left to a person, nothing of it is destroyed, and the rest is undone."""
    handle = await made(sagas, world, "a", "b", "c")
    world.things["b"] = "somebody else"
    report = await sagas.report(await undo(handle))
    assert world.things == {"b": "somebody else"}
    assert report.outcome is Outcome.INCOMPLETE
    assert await sagas.states(handle) == ["undone", "stuck", "undone"]
    assert (await sagas.view(handle)).state is SagaState.UNWINDING
    reconciliation = sagas.client.get_workflow_handle(
        f"rescind-reconcile/{handle.id}/{handle.first_execution_run_id}"
    )
    assert (await reconciliation.describe()).status is WorkflowExecutionStatus.RUNNING
    await reconciliation.terminate()


async def test_undo_is_killed_half_way(sagas: Sagas, world: World, undo: Undo) -> None:
    """The next one goes on where it stopped, and nothing is undone twice that reported its end."""
    handle = await made(sagas, world, "a", "b", "c")
    world.plan["unmake b"] = ["slow"]
    first = await undo(handle)
    await eventually(lambda: "unmake b" in world.log)
    await first.terminate()
    assert (await sagas.view(handle)).state is SagaState.UNWINDING
    report: SagaReport = await (await undo(handle)).result()
    assert report.outcome is Outcome.UNDONE
    assert world.things == {}
    assert (await sagas.view(handle)).epoch == 2
    assert world.log.count("unmake c") == 1


async def test_cancelled_undo(sagas: Sagas, world: World, undo: Undo) -> None:
    """A cancellation does not stop it half-way."""
    handle = await made(sagas, world, "a", "b", "c")
    world.plan["unmake b"] = ["slow"]
    running = await undo(handle)
    await eventually(lambda: "unmake b" in world.log)
    await running.cancel()
    report: SagaReport = await running.result()
    assert report.outcome is Outcome.UNDONE
    assert world.things == {}


async def test_reset_of_a_saga_that_was_undone(sagas: Sagas, world: World, undo: Undo) -> None:
    """The reset run fails with an error that names the way out; it never completes on undone effects."""
    handle = await made(sagas, world, "a", "b")
    await (await undo(handle)).result()
    for before in (1, 2):
        cause = await sagas.failure(await sagas.reset(handle, before_activity=before))
        assert cause.type == "SagaTakenOver"
        assert "start a new workflow" in cause.message
    assert world.things == {}
    assert world.makes == {"a": 1, "b": 1}


async def test_part(sagas: Sagas, world: World, undo: Undo) -> None:
    """The steps that are named are undone, newest first; the rest stands and the saga stays committed."""
    handle = await made(sagas, world, "a", "b", "c")
    report: SagaReport = await (await undo(handle, "make_thing#1", "make_thing#3")).result()
    assert list(world.things) == ["b"]
    assert [call for call in world.log if call.startswith("unmake")] == ["unmake c", "unmake a"]
    assert [step.step for step in report.steps] == ["make_thing#1", "make_thing#3"]
    view = await sagas.view(handle)
    assert (view.state, [effect.state for effect in view.effects]) == (
        SagaState.COMMITTED,
        [RecordState.UNDONE, RecordState.APPLIED, RecordState.UNDONE],
    )
    again: SagaReport = await (await undo(handle, "make_thing#1")).result()
    assert again.outcome is Outcome.UNDONE
    rest: SagaReport = await (await undo(handle)).result()
    assert rest.outcome is Outcome.UNDONE
    assert world.things == {}
    assert (await sagas.view(handle)).state is SagaState.CLOSED
    assert sorted(world.log[-3:]) == ["unmake a", "unmake b", "unmake c"]


async def test_part_that_conflicts(sagas: Sagas, world: World, undo: Undo) -> None:
    """It is stuck and told so, and the saga stays committed: nothing else of it is in question."""
    handle = await made(sagas, world, "a", "b")
    world.things["b"] = "somebody else"
    cause = await sagas.failure(await undo(handle, "make_thing#2"))
    assert cause.type == "UndoIncomplete"
    assert "The rest of the saga stands" in cause.message
    assert (await sagas.view(handle)).state is SagaState.COMMITTED
    assert await sagas.states(handle) == ["applied", "stuck"]
    await sagas.client.get_workflow_handle(
        f"rescind-reconcile/{handle.id}/{handle.first_execution_run_id}"
    ).terminate()


async def test_step_that_is_not_there(sagas: Sagas, world: World, undo: Undo) -> None:
    """It is refused before anything is claimed."""
    handle = await made(sagas, world, "a")
    cause = await sagas.failure(await undo(handle, "make_thing#2"))
    assert cause.message == "not undone: it has no step make_thing#2. Nothing was touched"
    assert (await sagas.view(handle)).epoch == 0


async def test_long_saga(sagas: Sagas, world: World, undo: Undo) -> None:
    """It continues as new from the ledger, page by page, also past a step that is stuck; the report has every step."""
    handle = await made(sagas, world, "a", "b", "c", "d", "e")
    world.things["d"] = "somebody else"
    running = await undo(handle, page=2)
    report = await sagas.report(running)
    assert [call for call in world.log if call.startswith("unmake")] == [
        f"unmake {thing}" for thing in ("e", "d", "c", "b", "a")
    ]
    assert [step.state for step in report.steps] == ["undone", "undone", "undone", "stuck", "undone"]
    first = sagas.client.get_workflow_handle(running.id, run_id=running.first_execution_run_id)
    assert (await first.describe()).status is WorkflowExecutionStatus.CONTINUED_AS_NEW
    view = await sagas.view(handle)
    assert (view.epoch, SagaReport.model_validate(view.report)) == (1, report)
    await sagas.client.get_workflow_handle(
        f"rescind-reconcile/{handle.id}/{handle.first_execution_run_id}"
    ).terminate()
