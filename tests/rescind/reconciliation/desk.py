"""Sagas that need a person, and what people say to their reconciliations."""

from dataclasses import dataclass
from typing import Any

import pytest
from temporalio.client import WorkflowExecutionStatus, WorkflowUpdateFailedError

from rescind import SagaReport
from rescind._recorded import report_of
from rescind._workflow import deepest
from rescind.reconciliation import Alert, Answer, Reconciled, reconciliation_id
from rescind.reconciliation._case import Case
from tests.rescind.reconciliation.receiver import Receiver
from tests.rescind.sagas import Handle, Sagas, eventually
from tests.rescind.toy_workflows import MakeThings, Plan
from tests.rescind.toy_world import World


@dataclass
class Desk(Sagas):
    """What a test needs to bring sagas before people."""

    posts: Receiver

    async def left_behind(self, plan: Plan) -> Handle:
        """Run a saga that fails and leaves something behind."""
        handle = await self.start(MakeThings.run, plan)
        assert (await self.failure(handle)).type == "UndoIncomplete"
        return handle

    async def held_back(self, world: World) -> Handle:
        """Start a saga that waits, with two things made."""
        plan = Plan(world=world.name, things=["a", "b"], wait=2, fail=True)
        handle = await self.start(MakeThings.run, plan)
        await eventually(lambda: len(world.things) == 2)
        return handle

    async def let_fail(self, handle: Handle) -> Handle:
        """Let it fail, and leave something behind."""
        await handle.signal(MakeThings.go)
        assert (await self.failure(handle)).type == "UndoIncomplete"
        return handle

    async def conflict(self, world: World) -> Handle:
        """Run a saga whose second thing is somebody else's when it is undone."""
        handle = await self.held_back(world)
        world.things["b"] = "somebody else"
        return await self.let_fail(handle)

    def saga(self, handle: Handle) -> str:
        """Workflow id and first run id."""
        return f"{handle.id}/{handle.first_execution_run_id}"

    def reconciliation(self, handle: Handle) -> Handle:
        """The saga's reconciliation."""
        return self.client.get_workflow_handle(reconciliation_id(self.saga(handle)), result_type=Reconciled)

    async def say(self, handle: Handle, verb: str, step: str, **more: Any) -> Answer:
        """Say a word as anna."""
        word = {"step": step, "who": "anna"} | more
        answer: Answer = await self.reconciliation(handle).execute_update(verb, word, result_type=Answer)
        return answer

    async def details(self, handle: Handle) -> str:
        """The current details of the reconciliation, as the Web UI asks for them."""
        told = await self.reconciliation(handle).query("__temporal_workflow_metadata")
        return str(told.current_details)

    async def refused(self, handle: Handle, verb: str, word: object) -> str:
        """Say what is refused; answer with why."""
        with pytest.raises(WorkflowUpdateFailedError) as failed:
            await self.reconciliation(handle).execute_update(verb, word)
        return deepest(failed.value.cause)

    async def ended(self, handle: Handle) -> Reconciled:
        """Wait for the reconciliation to end."""
        reconciled: Reconciled = await self.reconciliation(handle).result()
        return reconciled

    async def status_of_reconciliation(self, handle: Handle) -> WorkflowExecutionStatus | None:
        """Whether it is open."""
        return (await self.reconciliation(handle).describe()).status

    async def open(self, handle: Handle) -> list[str]:
        """The steps that are open."""
        case = await self.reconciliation(handle).query("rescind_open", result_type=Case)
        return [step.step for step in case.steps] if case else []

    async def shown(self, handle: Handle) -> SagaReport:
        """What the command `show` has of the saga."""
        return report_of(await self.view(handle))

    async def alerts(self, handle: Handle, number: int) -> list[Alert]:
        """Wait for so many alerts."""
        await eventually(lambda: len(self.posts.of(self.saga(handle))) >= number, within=90)
        return self.posts.of(self.saga(handle))

    async def journal(self, handle: Handle, event: str) -> list[dict[str, Any]]:
        """The bodies of the journal's lines about one event."""
        lines = (await self.view(handle)).journal
        return [line.body for line in lines if line.event == event and isinstance(line.body, dict)]
