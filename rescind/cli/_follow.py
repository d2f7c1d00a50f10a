"""Follows one saga to its end, and says how it ended by the exit code."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, TypeAlias

from rich.console import Console
from rich.text import Text
from temporalio.client import WorkflowHandle
from temporalio.service import RPCError, RPCStatusCode

from rescind.cli._close import Closed, closed
from rescind.cli._exit import ExitCode, Stopped
from rescind.cli._look import Look, look
from rescind.cli._screen import screen
from rescind.cli._server import Server
from rescind.cli._tables import ending, note

Closing: TypeAlias = Callable[[Server, WorkflowHandle[Any, Any]], Coroutine[Any, Any, Closed]]
TAKE_UP_LIMIT = 6.0  # seconds until a worker should have begun; an idle one does within a tenth of one
BELIEVED = 2  # looks without an answer before trouble is told: a busy worker may miss one
PACES = (
    (15.0, 0.4),
    (60.0, 1.0),
)  # seconds between two looks in the first 15 seconds, and in the first minute
SLOW = 3.0
GONE = (RPCStatusCode.UNAVAILABLE, RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.CANCELLED)


async def follow(
    server: Server,
    handle: WorkflowHandle[Any, Any],
    console: Console,
    again: str,
    *,
    closing: Closing = closed,
    command: str | None = None,
) -> ExitCode:
    """Show a saga until it ends, then print its report.

    Args:
        server: The server.
        handle: The saga's workflow.
        console: Where it is shown.
        again: The command that watches it again.
        closing: Waits for its end and tells how it ended.
        command: The program as a person calls it, for the hint how a step that waits for people is approved.

    Returns:
        0 done, 1 undone, 3 not clean, 130 after Ctrl-C: the saga goes on then.

    Raises:
        Stopped: No worker has begun with it, there is no such workflow, or the server is gone.
    """
    try:
        end = await _watch(server, handle, console, closing, (again, command))
    except asyncio.CancelledError:
        console.print(
            Text(f"\nThe saga goes on without this command. To watch it again: {again}"), soft_wrap=True
        )
        return ExitCode.INTERRUPTED
    except RPCError as error:
        raise _lost(error, handle.id, server, again) from None
    _tell(server, handle, console, end)
    return end.code


async def _watch(
    server: Server,
    handle: WorkflowHandle[Any, Any],
    console: Console,
    closing: Closing,
    hints: tuple[str, str | None],
) -> Closed:
    again, command = hints
    began, unanswered = time.monotonic(), 0
    end = asyncio.ensure_future(closing(server, handle))
    try:
        with screen(console) as shown:
            while not end.done():
                seen = _with_hints(await look(server, handle), handle.id, command)
                unanswered = unanswered + 1 if seen.trouble else 0
                shown.show(seen if unanswered >= BELIEVED else replace(seen, trouble=None))
                if not seen.taken_up and time.monotonic() - began > TAKE_UP_LIMIT and not end.done():
                    raise _not_taken_up(handle.id, again)
                await asyncio.wait({end}, timeout=_pace(time.monotonic() - began))
        return await end
    finally:
        end.cancel()


def _with_hints(seen: Look, workflow_id: str, command: str | None) -> Look:
    """The look with the command by which each step that waits for people is approved."""
    if command is None:
        return seen
    hints = {
        step.step: f"{note(step)}: {command} approve {workflow_id} --step {step.step}"
        for step in seen.report.steps
        if step.waits
    }
    return replace(seen, remarks={**seen.remarks, **hints})


def _pace(elapsed: float) -> float:
    return next((pause for limit, pause in PACES if elapsed < limit), SLOW)


def _tell(server: Server, handle: WorkflowHandle[Any, Any], console: Console, end: Closed) -> None:
    console.print(ending(end.report))
    if end.remark:
        console.print(Text(f"\n{end.remark}", "yellow"), soft_wrap=True)
    if page := server.page(handle.id):
        console.print(Text(f"\n{page}"), soft_wrap=True)


def _not_taken_up(workflow_id: str, again: str) -> Stopped:
    return Stopped(
        f"The saga {workflow_id} was started, and no worker has begun with it in {TAKE_UP_LIMIT:.0f} seconds. Nothing "
        f"has been done yet; it begins as soon as a worker polls its task queue. To watch it then: {again}",
        ExitCode.UNREACHABLE,
    )


def _lost(error: RPCError, workflow_id: str, server: Server, again: str) -> Stopped:
    if error.status is RPCStatusCode.NOT_FOUND:
        return Stopped(
            f"There is no workflow {workflow_id!r} at {server.where}. Nothing was started.",
            ExitCode.BAD_INPUT,
        )
    what = "does not answer any more" if error.status in GONE else f"answered with an error: {error.message}"
    return Stopped(
        f"The Temporal server at {server.where} {what}. The saga {workflow_id} was started; it goes on when the "
        f"server is back. To watch it again: {again}",
        ExitCode.UNREACHABLE,
    )
