"""A worker of the model in a process of its own: `worker.py QUEUE`, with the worlds at RESCIND_MODEL_WORLDS."""

import asyncio
import os
import sys

from temporalio.client import Client
from temporalio.worker import Worker

from rescind import RescindPlugin
from tests.model.far_worlds import FarWorlds
from tests.model.programs import TOOLS, RunProgram
from tests.rescind import toy_world


async def work(queue: str) -> None:
    """Work until the process is killed."""
    toy_world.WORLDS = FarWorlds(os.environ["RESCIND_MODEL_WORLDS"])
    plugin = RescindPlugin(TOOLS.values(), ledger=os.environ["RESCIND_LEDGER_DSN"], sweeping=None)
    client = await Client.connect(os.environ["TEMPORAL_ADDRESS"], plugins=[plugin])
    async with Worker(client, task_queue=queue, workflows=[RunProgram], max_cached_workflows=2):
        print(f"Worker: {queue} polls", flush=True)  # noqa: T201  (the test waits for it)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1]))
