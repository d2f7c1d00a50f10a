"""Records the history of a greeting without Rescind: `python -m shop.record ADDRESS FILE`."""

import asyncio
import sys
from pathlib import Path

from temporalio.client import Client
from temporalio.worker import Worker

from .codec import CONVERTER
from .greeting import Customer, GreetCustomer, greet


async def record(address: str) -> str:
    """Run it once; its history as JSON."""
    client = await Client.connect(address, data_converter=CONVERTER, identity="shop")
    async with Worker(client, task_queue="shop", workflows=[GreetCustomer], activities=[greet]):
        handle = await client.start_workflow(
            GreetCustomer.run, Customer("Ada Lovelace", 3), id="old-greeting", task_queue="shop"
        )
        await handle.signal(GreetCustomer.open_door)
        await handle.result()
    assert "rescind" not in sys.modules
    return (await handle.fetch_history()).to_json()


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(asyncio.run(record(sys.argv[1])))
