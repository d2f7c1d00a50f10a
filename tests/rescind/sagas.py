"""Start toy workflows, and look at how they ended and what is on record."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest, ResetWorkflowExecutionRequest
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowFailureError, WorkflowHandle
from temporalio.exceptions import ApplicationError, CancelledError

from rescind import SagaReport
from rescind.ledger import Ledger, SagaView
from tests.rescind.toy_world import World

Handle = WorkflowHandle[Any, Any]


@dataclass
class Sagas:
    """What a test needs to run sagas and to look at them."""

    client: Client
    ledger: Ledger
    task_queue: str

    async def start(self, workflow: Any, plan: BaseModel, **options: Any) -> Handle:
        """Start a workflow under an id of its own."""
        options = {"id": f"toy-{uuid.uuid4()}", "task_queue": self.task_queue} | options
        return await self.client.start_workflow(workflow, plan, **options)

    async def failure(self, handle: Handle) -> ApplicationError:
        """Wait for a workflow to fail, and answer with its failure."""
        with pytest.raises(WorkflowFailureError) as failed:
            await handle.result()
        assert isinstance(failed.value.cause, ApplicationError), failed.value.cause
        return failed.value.cause

    async def report(self, handle: Handle) -> SagaReport:
        """Wait for a workflow to fail, and answer with the report in its failure."""
        return SagaReport.model_validate((await self.failure(handle)).details[0])

    async def cancelled(self, handle: Handle) -> None:
        """Wait for a workflow to close as CANCELED."""
        with pytest.raises(WorkflowFailureError) as failed:
            await handle.result()
        assert isinstance(failed.value.cause, CancelledError), failed.value.cause
        assert await self.status(handle) is WorkflowExecutionStatus.CANCELED

    async def status(self, handle: Handle) -> WorkflowExecutionStatus | None:
        """The workflow's status."""
        return (await handle.describe()).status

    async def saga_id(self, handle: Handle) -> str:
        """The saga's id in the ledger."""
        described = await self.client.workflow_service.describe_namespace(
            DescribeNamespaceRequest(namespace=self.client.namespace)
        )
        return f"{described.namespace_info.id}/{handle.id}/{handle.first_execution_run_id}"

    async def view(self, handle: Handle) -> SagaView:
        """What is on record of the saga."""
        view = await self.ledger.show(await self.saga_id(handle))
        assert view is not None
        return view

    async def states(self, handle: Handle) -> list[str]:
        """The states of the effects on record, in order."""
        return [effect.state.value for effect in (await self.view(handle)).effects]

    async def reset(self, handle: Handle, *, before_activity: int) -> Handle:
        """Reset a workflow to the workflow task that scheduled its n-th activity; answer with the new run."""
        tasks: list[int] = []
        first = self.client.get_workflow_handle(handle.id, run_id=handle.first_execution_run_id)
        async for event in first.fetch_history_events():
            name = event_name(event)
            if name == "workflow_task_completed":
                tasks.append(event.event_id)
            if name == "activity_task_scheduled":
                before_activity -= 1
                if not before_activity:
                    break
        return await self.reset_to(handle, tasks[-1])

    async def reset_to(self, handle: Handle, task: int) -> Handle:
        """Reset a run to the workflow task that was completed by this event; answer with the new run."""
        run = await self.client.workflow_service.reset_workflow_execution(
            ResetWorkflowExecutionRequest(
                namespace=self.client.namespace,
                workflow_execution=WorkflowExecution(
                    workflow_id=handle.id, run_id=handle.result_run_id or ""
                ),
                workflow_task_finish_event_id=task,
                reason="test",
                request_id=str(uuid.uuid4()),
            ),
            retry=True,
        )
        return self.client.get_workflow_handle(handle.id, run_id=run.run_id)

    async def until(self, handle: Handle, name: str) -> None:
        """Wait until a workflow has an event of this type."""
        async with asyncio.timeout(20):
            async for event in handle.fetch_history_events(wait_new_event=True):
                if event_name(event) == name:
                    return

    async def events(self, handle: Handle) -> list[str]:
        """The types of the workflow's events, in order."""
        return [event_name(event) async for event in handle.fetch_history_events()]


def event_name(event: Any) -> str:
    """`ActivityTaskScheduled` and the like."""
    attributes: str = event.WhichOneof("attributes")
    return attributes.removesuffix("_event_attributes")


def undone_by(world: World) -> list[str]:
    """What was taken away, in order."""
    return [call.removeprefix("unmake ") for call in world.log if call.startswith("unmake ")]


async def eventually(condition: Callable[[], bool], *, within: float = 15) -> None:
    """Wait until something is true; fail after so many seconds."""
    async with asyncio.timeout(within):
        while not condition():  # noqa: ASYNC110  (what it waits for is in the world, not in this loop)
            await asyncio.sleep(0.02)


async def until(answer: Callable[[], Awaitable[bool]], *, within: float = 60) -> None:
    """Ask a server until it says yes, ten times a second at most; fail after so many seconds."""
    async with asyncio.timeout(within):
        while not await answer():  # noqa: ASYNC110  (the answer is on a server, not in this loop)
            await asyncio.sleep(0.1)
