"""Recorded histories still replay, and a workflow that was changed without a patch does not."""

import json
from typing import Any

import pytest
from temporalio import workflow
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer
from temporalio.workflow import NondeterminismError

from rescind import RescindPlugin, Saga
from rescind.plans import ExecutePlan
from rescind.reconciliation._workflow import Reconcile
from rescind.recovery._undo_saga import UndoSaga
from tests.histories import NAMES, OTHERS, recorded
from tests.rescind.approvals.gated_workflows import AskPeople
from tests.rescind.toy_workflows import MakeThings, Plan
from tests.rescind.toy_world import TOOLS

with workflow.unsafe.imports_passed_through():
    from tests.rescind import toy_world as toy

NOWHERE = "postgresql://nobody@127.0.0.1:1/ledger"
"""Replaying needs no ledger and no server."""


@workflow.defn(name="MakeThings")
class MakeThingsInAnotherOrder:
    """The toy workflow with a change that a recorded history does not fit: the last thing first."""

    @workflow.run
    async def run(self, plan: Plan) -> list[str]:
        """Make them from the last to the first, under names of their own."""
        async with Saga() as saga:
            for name in reversed(plan.things):
                request = toy.MakeThing(world=plan.world, name=name)
                await saga.step(toy.MAKE_THING, request, name=f"make_{name}")
            await saga.commit()
        return plan.things


@workflow.defn(name="MakeThings")
class MakeThingsWithoutASaga:
    """The toy workflow without its saga: nothing is scheduled."""

    @workflow.run
    async def run(self, plan: Plan) -> list[str]:
        """Do nothing."""
        return plan.things


def replayer(definition: Any) -> Replayer:
    """A replayer of one workflow, with the plugin."""
    return Replayer(workflows=[definition], plugins=[RescindPlugin(TOOLS, ledger=NOWHERE)])


@pytest.mark.parametrize("name", NAMES)
async def test_a_recorded_history(name: str) -> None:
    """The code of today takes the same way through it."""
    await replayer(MakeThings).replay_workflow(recorded(name))


@pytest.mark.parametrize(
    ("name", "definition"),
    list(zip(OTHERS, (Reconcile, UndoSaga, ExecutePlan, ExecutePlan, AskPeople), strict=True)),
)
async def test_a_recorded_history_of_another_workflow(name: str, definition: type) -> None:
    """The SDK's own workflows, and a saga that waited for a person, take the same way, too."""
    await replayer(definition).replay_workflow(recorded(name))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("changed", [MakeThingsInAnotherOrder, MakeThingsWithoutASaga])
async def test_a_changed_workflow(name: str, changed: type) -> None:
    """It fails the replay of each history, so these histories would show such a change."""
    with pytest.raises(NondeterminismError):
        await replayer(changed).replay_workflow(recorded(name))


async def test_a_history_without_its_seal() -> None:
    """The seal is in the history: one from which its marker is cut does not replay."""
    history = json.loads(recorded("success").to_json())
    kept = [event for event in history["events"] if "markerRecordedEventAttributes" not in event]
    assert len(kept) == len(history["events"]) - 1
    for number, event in enumerate(kept, start=1):
        event["eventId"] = str(number)
    with pytest.raises(NondeterminismError):
        await replayer(MakeThings).replay_workflow(WorkflowHistory.from_json("success", {"events": kept}))


def test_what_the_histories_show() -> None:
    """Each ended, or waits, in the way its name says."""
    ends = {name: json.loads(recorded(name).to_json())["events"][-1]["eventType"] for name in NAMES}
    assert ends == {
        "success": "EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED",
        "undone": "EVENT_TYPE_WORKFLOW_EXECUTION_FAILED",
        "cancelled_in_mid_unwind": "EVENT_TYPE_WORKFLOW_EXECUTION_FAILED",
        "waiting": "EVENT_TYPE_WORKFLOW_TASK_COMPLETED",
        "in_doubt": "EVENT_TYPE_WORKFLOW_EXECUTION_FAILED",
    }
    cancelled = json.loads(recorded("cancelled_in_mid_unwind").to_json())["events"]
    kinds = [event["eventType"].removeprefix("EVENT_TYPE_") for event in cancelled]
    scheduled = [index for index, kind in enumerate(kinds) if kind == "ACTIVITY_TASK_SCHEDULED"]
    assert scheduled[-3] < kinds.index("WORKFLOW_EXECUTION_CANCEL_REQUESTED") < scheduled[-2]
