"""The worker's side: what every wrapper around a tool's activity shares, and how a tool's function is run."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Any, NoReturn, TypeAlias, TypeVar, cast

from psycopg.conninfo import conninfo_to_dict
from temporalio import activity

from rescind import _attempt
from rescind._calls import Absent, Applied, Call, Unknown
from rescind._catalogue import AnyTool, Catalogue
from rescind._failures import words_cut
from rescind._tool import HEARTBEAT_FROM, SLACK
from rescind._wire import EffectOrder
from rescind.evidence import NothingHappened
from rescind.ledger import EffectAddress, Ledger, LedgerUnavailable
from rescind.reconciliation._alerts import AlertChannel
from rescind.reconciliation._pace import Pace

T = TypeVar("T")
Found: TypeAlias = Applied[Any] | Absent | Unknown

UNDO_PAGE = 200
"""Steps that one workflow run undoes at most: some 1,200 events of the 51,200 that Temporal allows a history."""

HEARTBEAT_TIMEOUT = timedelta(seconds=10)
"""After this long without a heartbeat Temporal gives an attempt up; it is told three times as often."""


class Bench:
    """What the wrappers work with while the worker runs: the tools, the ledger, the threads.

    Args:
        catalogue: The tools.
        dsn: The ledger's connection string.
        connections: Connections to the ledger at most.
        threads: `def` activities of tools at most at a time; further ones wait, and give up after the slack.
        alerts: How people are told of what needs them.
        pace: How often.
        page: Steps at most that one run undoes.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        dsn: str,
        *,
        connections: int,
        threads: int,
        alerts: Iterable[AlertChannel] = (),
        pace: Pace | None = None,
        page: int = UNDO_PAGE,
    ) -> None:
        self.catalogue = catalogue
        self.page = page
        self.alerts, self.pace = tuple(alerts), pace or Pace()
        self._dsn = dsn
        self._connections = connections
        self._thread_count = threads
        self._users = 0
        self._namespace_id: str | None = None
        self._ledger: Ledger | None = None
        self._threads: ThreadPoolExecutor | None = None
        self._opening = asyncio.Lock()

    @asynccontextmanager
    async def opened(self, namespace_id: str) -> AsyncGenerator[Bench]:
        """Open the ledger and the threads for one worker; several workers of one process share them.

        Raises:
            rescind.ledger.LedgerError: The ledger can't be reached or is not installed. No activity was started.
        """
        async with self._opening:  # workers that start at once share, too
            await self._open(namespace_id)
        try:
            yield self
        finally:
            async with self._opening:
                await self._close()

    async def _open(self, namespace_id: str) -> None:
        if self._users and namespace_id != self._namespace_id:
            raise RuntimeError("one RescindPlugin serves one namespace; make another for the other namespace")
        if not self._users:
            self._ledger = await self._reached()
            self._threads = ThreadPoolExecutor(self._thread_count, thread_name_prefix="rescind-tool")
            self._namespace_id = namespace_id
        self._users += 1

    async def _reached(self) -> Ledger:
        try:
            return await Ledger(self._dsn, connections=self._connections).__aenter__()
        except LedgerUnavailable as error:
            raise LedgerUnavailable(
                f"the worker was not started: its ledger does not answer at {_place(self._dsn)}. No activity was "
                "started, and what is on record is as it was. Look at that server and at the plugin's ledger=...",
                ran=False,
            ) from error

    async def _close(self) -> None:
        self._users -= 1
        if not self._users and self._ledger and self._threads:
            self._threads.shutdown(wait=False, cancel_futures=True)
            await self._ledger.__aexit__(None, None, None)

    @property
    def ledger(self) -> Ledger:
        """The open ledger."""
        if self._ledger is None:
            raise RuntimeError(
                "the worker was not started through RescindPlugin.run_worker: the ledger is not open"
            )
        return self._ledger

    @property
    def namespace_id(self) -> str:
        """The id of the namespace that is served."""
        if self._namespace_id is None:
            raise RuntimeError("the worker was not started through RescindPlugin.run_worker")
        return self._namespace_id

    def saga(self, order_saga: str) -> str:
        """The saga's id in the ledger: that of the workflow, within this namespace by its id."""
        return f"{self._namespace_id}/{order_saga}"

    def address(self, order: EffectOrder) -> EffectAddress:
        """The effect's address in the ledger."""
        return EffectAddress(self.saga(order.saga), order.epoch, order.key, order.seq)

    async def run(
        self,
        function: Callable[[Any], Any],
        argument: object,
        attempt: _attempt.Attempt,
        *,
        limit: timedelta,
    ) -> Any:
        """Run a tool's function, in a thread if it is a `def`, unless it is too late to begin.

        Raises:
            NothingHappened: The attempt came so late that it could outlive its time; it was not begun.
            TimeoutError: An `async def` took longer than the limit; it was cut off.
            Exception: What the function raises, with its words cut where they are too long to be reported.
        """
        _attempt.enter(attempt)
        with words_cut():
            if inspect.iscoroutinefunction(function):
                _refuse_if_late(attempt, limit)
                async with asyncio.timeout(limit.total_seconds()):
                    return await function(argument)
            context = contextvars.copy_context()
            return await attempt.loop.run_in_executor(
                self._threads, _in_thread, context, function, argument, attempt, limit
            )

    async def look_up(
        self, tool: AnyTool, call: Call[Any], attempt: _attempt.Attempt, *, limit: timedelta
    ) -> Found:
        """Ask a tool's lookup what became of a call.

        Raises:
            TypeError: It answered something that is no answer of a lookup.
        """
        assert tool.lookup is not None  # noqa: S101  (callers have looked)
        answer: Found = await self.run(tool.lookup, call, attempt, limit=limit)
        if not isinstance(cast("object", answer), Applied | Absent | Unknown):
            raise TypeError(f"{tool.name}: its lookup answered {type(answer).__name__}")
        return answer


def _place(dsn: str) -> str:
    """Where a database is, without the password."""
    parts = conninfo_to_dict(dsn)
    return (
        f"{parts.get('host', 'the default host')}:{parts.get('port', 5432)}, database {parts.get('dbname')}"
    )


def _in_thread(
    context: contextvars.Context,
    function: Callable[[Any], Any],
    argument: object,
    attempt: _attempt.Attempt,
    limit: timedelta,
) -> Any:
    _refuse_if_late(attempt, limit)
    return context.run(function, argument)


def _refuse_if_late(attempt: _attempt.Attempt, limit: timedelta) -> None:
    if time.monotonic() + limit.total_seconds() > attempt.ends:
        raise NothingHappened(
            "the attempt came too late to make the call within its time (the worker was stopped or overloaded); "
            "the call was not made"
        )


def limit_of(tool: AnyTool) -> timedelta:
    """How long this attempt's calls may take, as the workflow has scheduled it: a plan may give a step another time.

    Outside of a worker, where nothing is scheduled, it is the tool's own time.
    """
    scheduled = activity.info().start_to_close_timeout
    return scheduled - SLACK if scheduled and scheduled > SLACK else tool.timeout


def deadline(limit: timedelta) -> float:
    """The monotonic time by which an attempt that starts now has ended; take it before anything else."""
    return time.monotonic() + (limit + SLACK).total_seconds()


async def undisturbed(work: Coroutine[Any, Any, T]) -> T:
    """Run an attempt to its end with heartbeats, whatever is cancelled: effect and record belong together."""
    task = asyncio.ensure_future(work)
    async with beating():
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait({task})
    return task.result()


@asynccontextmanager
async def beating() -> AsyncGenerator[None]:
    """Heartbeat for as long as the block runs, where the activity was scheduled with heartbeats."""
    interval = activity.info().heartbeat_timeout
    beats = asyncio.ensure_future(_heartbeats(interval.total_seconds() / 3)) if interval else None
    try:
        yield
    finally:
        if beats:
            beats.cancel()


async def _heartbeats(seconds: float) -> NoReturn:
    while True:
        activity.heartbeat()
        await asyncio.sleep(seconds)


def heartbeat_timeout(start_to_close: timedelta) -> timedelta | None:
    """Heartbeats only where start-to-close is long enough for them to matter."""
    return HEARTBEAT_TIMEOUT if start_to_close > HEARTBEAT_FROM else None
