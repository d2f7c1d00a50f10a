"""A workflow that is reset after people have decided: what they let stand is never called clean."""

import pytest

from rescind import Outcome, SagaState
from rescind._states import RecordState
from tests.rescind.reconciliation.desk import Desk
from tests.rescind.sagas import event_name
from tests.rescind.toy_world import World

pytestmark = pytest.mark.usefixtures("toy_worker")


async def test_reset_after_something_was_waived(desk: Desk, world: World) -> None:
    """Whatever task it is reset to, the run fails, and neither it nor the ledger says that all is undone."""
    handle = await desk.conflict(world)
    await desk.alerts(handle, 1)
    await desk.say(handle, "waive", "make_thing#2", note="they keep it")
    await desk.ended(handle)
    first = desk.client.get_workflow_handle(handle.id, run_id=handle.first_execution_run_id)
    tasks = [
        event.event_id
        async for event in first.fetch_history_events()
        if event_name(event) == "workflow_task_completed"
    ]
    ends: set[str] = set()
    for task in tasks:
        failure = await desk.failure(await desk.reset_to(first, task))
        ends.add(str(failure.type))
        if failure.type == "SagaTakenOver":
            assert "start a new workflow" in str(failure)
    assert ends == {"SagaTakenOver", "UndoIncomplete"}
    assert world.things == {"b": "somebody else"}
    view, report = await desk.view(handle), await desk.shown(handle)
    assert (view.state, report.outcome) == (SagaState.CLOSED, Outcome.LEFT)
    assert view.effects[1].state is RecordState.RESOLVED
