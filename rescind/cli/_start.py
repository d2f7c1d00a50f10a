"""Starts one saga, if somebody is there to work on it."""

from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text
from temporalio.client import WorkflowHandle
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from rescind.cli._exit import ExitCode, Stopped
from rescind.cli._follow import GONE, follow
from rescind.cli._server import RPC_LIMIT, Server, idle_queues


@dataclass(frozen=True, slots=True)
class Order:
    """A saga to be started.

    Attributes:
        workflow: The workflow's run method, or its name.
        argument: Its one argument.
        workflow_id: Its id.
        task_queue: Where its workers poll.
        summary: One line that the Web UI shows for it.
        details: Markdown that the Web UI shows for it.
    """

    workflow: Any
    argument: object
    workflow_id: str
    task_queue: str
    summary: str
    details: str


async def start(server: Server, order: Order, console: Console, *, command: str) -> ExitCode:
    """Start a workflow with a saga, if a worker is there for it, and follow it to its end.

    Args:
        server: The server.
        order: The saga.
        console: Where it is shown.
        command: This program, as a person would call it.

    Returns:
        The exit code, as `follow` gives it.

    Raises:
        Stopped: Nothing was started, or nobody has taken it up; the message says which.
    """
    again = watch_again(command, order.workflow_id)
    await require_worker(server, order.task_queue)
    handle = await _started(server, order, again)
    console.print(Text(f"Started {handle.id} on the task queue {order.task_queue!r}."), soft_wrap=True)
    return await follow(server, handle, console, again, command=command)


def watch_again(command: str, workflow_id: str) -> str:
    """The command that watches a saga again."""
    return f"{command} watch {workflow_id}"


async def require_worker(server: Server, task_queue: str) -> None:
    """Refuse to begin what nobody would work on.

    Raises:
        Stopped: No worker polls this queue, or the server can't tell. Nothing was started.
    """
    try:
        idle = await idle_queues(server.client, task_queue)
    except RPCError as error:
        raise Stopped(
            f"The Temporal server at {server.where} can't tell who polls {task_queue!r}: {error.message}. Nothing was "
            "started.",
            ExitCode.UNREACHABLE,
        ) from None
    if idle:
        raise Stopped(
            f"No worker polls the task queue {task_queue!r} at {server.where} for {' or '.join(idle)} tasks. Nothing "
            "was started. Start a worker, or name the queue that yours polls with --task-queue.",
            ExitCode.UNREACHABLE,
        )


async def _started(server: Server, order: Order, again: str) -> WorkflowHandle[Any, Any]:
    try:
        return await server.client.start_workflow(
            order.workflow,
            order.argument,
            id=order.workflow_id,
            task_queue=order.task_queue,
            static_summary=order.summary,
            static_details=order.details,
            rpc_timeout=RPC_LIMIT,
        )
    except WorkflowAlreadyStartedError:
        raise Stopped(
            f"{order.workflow_id} runs already at {server.where}. Nothing was started, and the running one was left "
            f"alone. To watch it: {again}",
            ExitCode.BAD_INPUT,
        ) from None
    except RPCError as error:
        raise _not_started(server, error, again) from None


def _not_started(server: Server, error: RPCError, again: str) -> Stopped:
    if error.status in GONE:
        return Stopped(
            f"The Temporal server at {server.where} did not answer when the saga was started: it may have been started "
            f"or not. To see: {again}",
            ExitCode.UNREACHABLE,
        )
    kind = "refused" if error.status is RPCStatusCode.INVALID_ARGUMENT else "did not take"
    return Stopped(
        f"The Temporal server at {server.where} {kind} it: {error.message}. Nothing was started.",
        ExitCode.BAD_INPUT if error.status is RPCStatusCode.INVALID_ARGUMENT else ExitCode.UNREACHABLE,
    )
