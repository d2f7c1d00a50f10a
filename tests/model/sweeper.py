"""The sweeper beside the model's sagas: it looks all the time, and is slow to ask."""

import asyncio
import random
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from unittest.mock import patch

from temporalio.client import Client

from rescind._operations_queue import OPERATIONS_QUEUE
from rescind.recovery import Sweeping, _look
from rescind.recovery._fate import Owner, owner_of
from rescind.recovery._sweep import Swept
from rescind.recovery._sweeping import SWEEP
from tests.rescind.sagas import Sagas

SLOW = 0.3
"""Seconds that the sweeper takes at most to ask Temporal for one saga: sagas seal and complete in that time."""


@contextmanager
def slow_to_ask() -> Generator[None]:
    """The sweeper of this process takes its time between its page and what Temporal says of each saga of it."""

    async def slow(client: Client, saga: str) -> Owner:
        await asyncio.sleep(random.uniform(0, SLOW))
        return await owner_of(client, saga)

    with patch.object(_look, "owner_of", slow):
        yield


@asynccontextmanager
async def sweeping(sagas: Sagas) -> AsyncGenerator[None]:
    """The sweeper looks again and again meanwhile, at a world that goes on while it does."""

    async def look() -> None:
        while True:
            await look_once(sagas)
            await asyncio.sleep(0.5)

    with slow_to_ask():
        async with asyncio.TaskGroup() as group:
            looking = group.create_task(look())
            yield
            looking.cancel()


async def look_once(sagas: Sagas) -> None:
    """Let the sweeper look once."""
    await sagas.client.execute_workflow(
        SWEEP,
        Sweeping(limit=5000),
        id=f"sweep-{sagas.task_queue}",
        task_queue=OPERATIONS_QUEUE,
        result_type=Swept,
    )
