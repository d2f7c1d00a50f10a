"""The worker for Rescind's own workflows, which runs beside the application's workers of one client."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from temporalio.client import Client
from temporalio.service import RPCError
from temporalio.worker import Worker

from rescind._generic import GENERIC_WORKFLOWS
from rescind._operations_queue import OPERATIONS_QUEUE
from rescind.recovery._sweeping import SWEEP_ID, Sweeping, keep_sweeping

_LOG = logging.getLogger(__name__)
_CACHED = 50
"""Workflows kept in memory; they are few and wait for long, and each is rebuilt in milliseconds."""


class Companion:
    """One worker on the operations queue, for as long as any worker of the client runs.

    The SDK lets a client have one worker on a queue, so that the workers of one process share it.

    Args:
        sweeping: How the sweeper works, whose schedule is kept in being; None leaves that to others.
    """

    def __init__(self, sweeping: Sweeping | None) -> None:
        self._sweeping = sweeping
        self._users = 0
        self._worker: Worker | None = None
        self._running: asyncio.Task[None] | None = None
        self._changing = asyncio.Lock()

    @asynccontextmanager
    async def beside(self, client: Client) -> AsyncGenerator[None]:
        """Run beside one of the client's workers; it has ended its activities when the last of them leaves."""
        async with self._changing:
            self._users += 1
            if self._users == 1:
                self._start(client)
        try:
            yield
        finally:
            async with self._changing:
                self._users -= 1
                if not self._users:
                    await self._stop()

    def _start(self, client: Client) -> None:
        self._worker = Worker(
            client,
            task_queue=OPERATIONS_QUEUE,
            workflows=GENERIC_WORKFLOWS,
            max_cached_workflows=_CACHED,
            max_concurrent_workflow_task_polls=2,
            max_concurrent_activity_task_polls=2,
        )
        self._running = asyncio.create_task(_run(self._worker, self._sweeping))

    async def _stop(self) -> None:
        if self._worker and self._running:
            stopping = asyncio.ensure_future(self._worker.shutdown())
            await asyncio.wait({stopping, self._running}, return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
            await self._running


async def _run(worker: Worker, sweeping: Sweeping | None) -> None:
    """The application's worker goes on without this one; what it does not do is done by another's, or later."""
    if sweeping is not None:
        await _keep_sweeping(worker.client, sweeping)
    try:
        await worker.run()
    except Exception:  # noqa: BLE001  (whatever it was, it is told, and the sagas go on)
        _LOG.exception(
            "the worker on the queue %r has ended: undos, the sweeper and reconciliations wait for another one; the "
            "application's worker goes on",
            OPERATIONS_QUEUE,
        )


async def _keep_sweeping(client: Client, sweeping: Sweeping) -> None:
    try:
        await keep_sweeping(client, sweeping)
    except RPCError as error:
        _LOG.error(
            "the sweeper's schedule %r in the namespace %r was not made or brought up to date: %s. Sagas whose "
            "workflow is terminated or times out are not taken back until a worker may make it",
            SWEEP_ID,
            client.namespace,
            error.message,
        )
