"""A worker of the business workflows on the dev server, with the sandbox as the outside world."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from temporalio.client import Client, WorkflowFailureError, WorkflowHandle
from temporalio.exceptions import ApplicationError
from temporalio.worker import Worker

from activities.billing import CREATE_INVOICE
from activities.crm import SET_STATUS
from activities.flights import BOOK_FLIGHT
from activities.hotels import BOOK_ROOM, BOOK_ROOM_BLIND
from activities.mail import SEND_EMAIL
from activities.operations import NOTICES
from rescind import RescindPlugin, SagaReport, Tool
from rescind.ledger import install
from tests.activities.sandbox_world import Sandbox, new_address, sandbox
from workflows.book_trip import BookTrip
from workflows.fulfil_order import FulfilOrder

__all__ = ["sandbox"]

TOOLS: list[Tool[Any, Any]] = [
    SET_STATUS,
    CREATE_INVOICE,
    SEND_EMAIL,
    BOOK_FLIGHT,
    BOOK_ROOM,
    BOOK_ROOM_BLIND,
]


class Business:
    """Starts the workflows, and looks at what operations were told."""

    def __init__(self, client: Client, sandbox: Sandbox, operations: str) -> None:
        self.client, self.sandbox, self.operations = client, sandbox, operations
        self.task_queue = f"business-{uuid.uuid4()}"

    async def start(self, workflow: Callable[..., Any], given: Any) -> WorkflowHandle[Any, Any]:
        """Start a workflow under an id of its own."""
        handle: WorkflowHandle[Any, Any] = await self.client.start_workflow(
            workflow, given, id=f"business-{uuid.uuid4()}", task_queue=self.task_queue
        )
        return handle

    async def failure(self, workflow: Callable[..., Any], given: Any) -> ApplicationError:
        """Run a workflow that has to fail, and answer with its failure."""
        with pytest.raises(WorkflowFailureError) as failed:
            await (await self.start(workflow, given)).result()
        assert isinstance(failed.value.cause, ApplicationError)
        return failed.value.cause

    async def notices(self, reference: str) -> tuple[list[str], list[str]]:
        """What operations were told about a case, by chat and by mail."""
        chat = [str(each["body"]["text"]) for each in await self.sandbox.get("/messages")]
        mails = [each["text"] for each in await self.sandbox.mails(self.operations)]
        return [text for text in chat if reference in text], [text for text in mails if reference in text]


def report_of(failure: ApplicationError) -> SagaReport:
    """The report in a saga's failure."""
    return SagaReport.model_validate(failure.details[0])


def states(report: SagaReport) -> dict[str, str]:
    """The state of each step, by its name."""
    return {step.step: step.state.value for step in report.steps}


@pytest.fixture
async def business(
    sandbox: Sandbox, stack_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Business]:
    """The business with a worker at work, without a workflow cache, so that each task replays from the start."""
    operations = new_address()
    monkeypatch.setenv("RESCIND_OPERATIONS_WEBHOOK", "ops")
    monkeypatch.setenv("RESCIND_OPERATIONS_ADDRESS", operations)
    install(stack_environment["RESCIND_LEDGER_ADMIN_DSN"], workers=["rescind_ledger_worker"])
    plugin = RescindPlugin(TOOLS, ledger=stack_environment["RESCIND_LEDGER_DSN"], sweeping=None)
    client = await Client.connect(stack_environment["TEMPORAL_ADDRESS"], plugins=[plugin])
    made = Business(client, sandbox, operations)
    async with Worker(
        client,
        task_queue=made.task_queue,
        workflows=[FulfilOrder, BookTrip],
        activities=NOTICES,
        max_cached_workflows=0,
    ):
        yield made
