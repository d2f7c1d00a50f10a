"""Runs a worker until it is told to stop, and lets it finish what it has begun."""

import asyncio
import signal
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from rich.console import Console
from rich.text import Text
from temporalio.service import RPCError
from temporalio.worker import Worker

from rescind.cli._exit import ExitCode, Stopped, leave
from rescind.cli._log import log_for_people
from rescind.cli._server import Server
from rescind.ledger import LedgerError

_KILLED = 128  # a shell's exit code for "ended by a signal" is this and the signal's number


async def serve(
    server: Server,
    workflows: Sequence[type],
    *,
    activities: Sequence[Callable[..., Any]] = (),
    task_queue: str,
    console: Console,
    ready: Callable[[], None],
) -> ExitCode:
    """Work until SIGTERM or Ctrl-C, then finish the running steps.

    A second signal ends the process at once: its running steps count as unproven then, and another worker
    finds out what became of them.

    Args:
        server: The server, with a client that has the plugin.
        workflows: The workflows to work on.
        activities: Activities beside those of the tools, such as those that tell of failures.
        task_queue: The queue to poll.
        console: Where people are told what goes on.
        ready: Called when the worker polls.

    Returns:
        0 after SIGTERM, 130 after Ctrl-C.

    Raises:
        Stopped: The ledger can't be used, or the server will not have this worker.
    """
    log_for_people()
    worker = Worker(server.client, task_queue=task_queue, workflows=workflows, activities=activities)
    told = _Told(console, worker)
    running = asyncio.ensure_future(worker.run())
    stopping = asyncio.ensure_future(told.event.wait())
    asyncio.get_running_loop().call_later(0, _when_polling, worker, running, ready)
    try:
        await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            await worker.shutdown()
        await running
    except LedgerError as error:
        raise Stopped(
            f"The worker was not started, since it can't use the ledger: {error}", ExitCode.UNREACHABLE
        ) from None
    except RPCError as error:
        raise Stopped(
            f"The server at {server.where} has no place for this worker: {error.message}",
            ExitCode.UNREACHABLE,
        ) from None
    finally:
        stopping.cancel()
    return ExitCode.INTERRUPTED if told.first is signal.SIGINT else ExitCode.DONE


def _when_polling(worker: Worker, running: asyncio.Future[None], ready: Callable[[], None]) -> None:
    if running.done():
        return
    if worker.is_running:
        ready()
    else:
        asyncio.get_running_loop().call_later(0.02, _when_polling, worker, running, ready)


class _Told:
    """What the process was told by signals."""

    def __init__(self, console: Console, worker: Worker) -> None:
        self.event = asyncio.Event()
        self.first: signal.Signals | None = None
        self._console = console
        self._patience = worker.config(active_config=True).get("graceful_shutdown_timeout", timedelta())
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._hear, number)

    def _hear(self, number: signal.Signals) -> None:
        if self.first is not None:
            self._console.print(
                Text("Ended at once. Another worker finds out what became of the running steps.")
            )
            leave(_KILLED + number)
        self.first = number
        seconds = self._patience.total_seconds()
        self._console.print(
            Text(
                f"Finishing the running steps, which takes {seconds:.0f} s at most; a second signal ends at once."
            ),
            soft_wrap=True,
        )
        self.event.set()
