"""Gets a plan with a worker of its own, so that the provider's key stays with whoever asks."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Any, NoReturn

from temporalio.client import Client, WorkflowFailureError, WorkflowHandle
from temporalio.exceptions import ActivityError, ApplicationError
from temporalio.service import RPCError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from rescind import RescindError, Tool
from rescind.planner._activity import planner_activities
from rescind.planner._model import NotReady
from rescind.planner._order import NOT_READY
from rescind.planner._workflow import ProposePlan
from rescind.plans import ANSWERS, Ask, Proposal

_RPC_LIMIT = timedelta(seconds=8)


class ModelFailed(RescindError):
    """The model could not be asked, or did not answer. There is no plan, and nothing was run."""


@asynccontextmanager
async def answering(client: Client, tools: Iterable[Tool[Any, Any]]) -> AsyncGenerator[str]:
    """Ask the model from this process, for as long as the block runs, whatever is asked on the queue that it yields.

    Args:
        client: A client that reads and writes Pydantic models.
        tools: The catalogue.
    """
    queue = f"rescind-planner-{uuid.uuid4()}"
    worker = Worker(
        client,
        task_queue=queue,
        workflows=[ProposePlan],
        activities=planner_activities(tools),
        workflow_runner=UnsandboxedWorkflowRunner(),  # all modules of Rescind pass through the sandbox anyway
    )
    async with worker:
        yield queue


async def propose(client: Client, ask: Ask, tools: Iterable[Tool[Any, Any]], *, workflow_id: str) -> Proposal:
    """Ask for a plan; on cancellation the asking ends with this call. Nothing of the plan is run.

    Args:
        client: A client that reads and writes Pydantic models.
        ask: What is wanted.
        tools: The catalogue.
        workflow_id: The id of the workflow that asks.

    Raises:
        NotReady: The provider takes no such model or key.
        ModelFailed: The model could not be asked, or did not answer in time.
        temporalio.service.RPCError: The Temporal server did not take it.
    """
    async with answering(client, tools) as queue:
        handle = await client.start_workflow(
            ProposePlan.run,
            ask,
            id=workflow_id,
            task_queue=queue,
            execution_timeout=timedelta(seconds=(ask.patience + 40) * ANSWERS * 3),
            static_summary=f"Ask {ask.model} for a plan",
            rpc_timeout=_RPC_LIMIT,
        )
        return await _result(handle)


async def _result(handle: WorkflowHandle[ProposePlan, Proposal]) -> Proposal:
    try:
        return await handle.result()
    except WorkflowFailureError as error:
        _tell(error)
    except asyncio.CancelledError:
        with suppress(RPCError):  # nobody works on it any more, and its time-out ends it then
            await handle.terminate("nobody waits for the plan any more", rpc_timeout=_RPC_LIMIT)
        raise


def _tell(error: WorkflowFailureError) -> NoReturn:
    cause = error.cause
    told = cause.cause if isinstance(cause, ActivityError) else cause
    words = told.message if isinstance(told, ApplicationError) else str(told or error)
    if isinstance(told, ApplicationError) and told.type == NOT_READY:
        raise NotReady(words) from None
    raise ModelFailed(words) from None
