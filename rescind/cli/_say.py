"""Sends a person's word to a saga's reconciliation, and opens one where it is missing."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from pydantic import JsonValue
from rich.console import Console
from rich.text import Text
from temporalio.client import (
    Client,
    WithStartWorkflowOperation,
    WorkflowUpdateFailedError,
    WorkflowUpdateHandle,
    WorkflowUpdateStage,
)
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError

from rescind._operations_queue import OPERATIONS_QUEUE
from rescind._recorded import inner, report_of
from rescind._states import RecordState
from rescind._workflow import deepest
from rescind.cli._exit import ExitCode, Stopped
from rescind.cli._ledger import find, opened
from rescind.cli._server import Server, idle_queues, namespace_id
from rescind.cli._tables import note, state
from rescind.ledger import SagaView
from rescind.reconciliation import Answer, Verb, reconciliation_id
from rescind.reconciliation._case import ReconcileOrder
from rescind.reconciliation._open import RECONCILE, queue_of, summary
from rescind.reconciliation._words import heard

Connect = Callable[[], Awaitable[Server]]
_TAKEN_WITHIN = 20.0  # seconds until a worker has taken the word up
_OPEN = (RecordState.STUCK, RecordState.IN_DOUBT)


async def say(
    connect: Connect, dsn: str | None, saga: str, verb: Verb, word: Mapping[str, JsonValue]
) -> ExitCode:
    """Say it, wait for what becomes of it, and print that.

    Args:
        connect: Connects to Temporal as the application does.
        dsn: The ledger's connection string.
        saga: The workflow's id, or the saga's full id.
        verb: What is said.
        word: Of which step, by whom, and why; it is checked before anything is contacted.

    Returns:
        0 when the step is closed by it; 3 when it is still open, or its lookup disagrees.

    Raises:
        Stopped: It was not taken; the message says why.
    """
    try:
        step = heard(verb, dict(word)).step
    except ApplicationError as error:
        raise Stopped(str(error), ExitCode.BAD_INPUT) from None
    server = await connect()
    found = await _open_saga(server, dsn, saga, step)
    answer = await _answered(server, inner(found.id), verb, word)
    console = Console()
    console.print(Text(f"{answer.step}: {answer.words}"), soft_wrap=True)
    if answer.disagreement:
        console.print(Text(f"Taken, but {answer.disagreement}; that is on record, too."), soft_wrap=True)
    still_open = answer.state in (*_OPEN, RecordState.UNDOING)
    return ExitCode.NOT_CLEAN if still_open or answer.disagreement else ExitCode.DONE


async def _open_saga(server: Server, dsn: str | None, saga: str, step: str) -> SagaView:
    """The saga, if this step of it is open."""
    async with opened(dsn) as ledger:
        try:
            view = await find(ledger, saga, await namespace_id(server.client))
        except RPCError as error:
            raise _away(server, error) from None
    if view is None:
        raise Stopped(f"The ledger has no saga {saga!r}. Nothing was sent.", ExitCode.BAD_INPUT)
    steps = report_of(view).steps
    named = next((each for each in steps if each.step == step), None)
    if named is None or named.state not in _OPEN:
        still = ", ".join(each.step for each in steps if each.state in _OPEN) or "nothing"
        what = (
            f"{step} does not need a person, it is {state(named)}{_because(note(named))}"
            if named
            else f"No step is called {step!r}"
        )
        raise Stopped(f"{what}. Nothing was sent. Open: {still}.", ExitCode.BAD_INPUT)
    return view


def _because(words: str) -> str:
    return f" ({words})" if words else ""


async def _answered(server: Server, saga: str, verb: Verb, word: Mapping[str, JsonValue]) -> Answer:
    try:
        await _require_worker(server)
        return await (await _taken(server.client, saga, verb, word)).result()
    except WorkflowUpdateFailedError as error:
        raise Stopped(f"{deepest(error.cause)}.", ExitCode.BAD_INPUT) from None
    except TimeoutError:
        raise Stopped(
            f"No worker took it up within {_TAKEN_WITHIN:.0f} seconds, so it may be taken or not: look with `desk`.",
            ExitCode.UNREACHABLE,
        ) from None
    except RPCError as error:
        raise _away(server, error) from None


async def _require_worker(server: Server) -> None:
    if "workflow" in await idle_queues(server.client, OPERATIONS_QUEUE):
        raise Stopped(
            f"No worker polls the task queue {OPERATIONS_QUEUE!r} at {server.where}. Nothing was sent. Start a worker "
            "of an application with Rescind's plugin.",
            ExitCode.UNREACHABLE,
        )


async def _taken(
    client: Client, saga: str, verb: Verb, word: Mapping[str, JsonValue]
) -> WorkflowUpdateHandle[Answer]:
    order = ReconcileOrder(saga=saga, task_queue=await queue_of(client, saga))
    opening: WithStartWorkflowOperation[object, object] = WithStartWorkflowOperation(
        RECONCILE,
        order,
        id=reconciliation_id(saga),
        task_queue=OPERATIONS_QUEUE,
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        static_summary=summary(order),
    )
    async with asyncio.timeout(_TAKEN_WITHIN):
        return await client.start_update_with_start_workflow(
            verb.value,
            dict(word),
            start_workflow_operation=opening,
            wait_for_stage=WorkflowUpdateStage.ACCEPTED,
            result_type=Answer,
        )


def _away(server: Server, error: RPCError) -> Stopped:
    return Stopped(
        f"The Temporal server at {server.where} did not answer: {error.message}. Whether the word was taken is not "
        "known: look with `desk`, and say it again.",
        ExitCode.UNREACHABLE,
    )
