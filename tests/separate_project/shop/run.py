"""Runs the shop with the plugin and says what happened, as JSON: `python -m shop.run ADDRESS LEDGER HISTORY`."""

import asyncio
import importlib.util
import json
import os
import sys
import uuid
from pathlib import Path
from typing import Any

from temporalio.client import Client, WorkflowFailureError, WorkflowHistory
from temporalio.exceptions import ApplicationError
from temporalio.worker import Replayer, Worker

import rescind

from .codec import CONVERTER
from .counting import Counting
from .greeting import Customer, GreetCustomer, greet
from .order import Order, PutOrderAside
from .shelf import PUT_ASIDE

NOT_OURS = ("activities", "embedded", "tests", "workflows", "worker", "starter")


async def run(address: str, ledger: str, history: str) -> dict[str, Any]:
    """Replay the old history, then run the old workflow and the new saga."""
    plugin, counting = rescind.RescindPlugin([PUT_ASIDE], ledger=ledger, sweeping=None), Counting()
    replayer = Replayer(workflows=[GreetCustomer], plugins=[plugin], data_converter=CONVERTER)
    await replayer.replay_workflow(WorkflowHistory.from_json("old-greeting", history))
    client = await Client.connect(
        address, plugins=[plugin], data_converter=CONVERTER, interceptors=[counting]
    )
    queue = f"shop-{uuid.uuid4()}"
    async with Worker(client, task_queue=queue, workflows=[GreetCustomer, PutOrderAside], activities=[greet]):
        said = {
            "rescind": rescind.__file__,
            "importable": [name for name in NOT_OURS if importlib.util.find_spec(name)],
            "greeting": await _greeting(client, queue),
            "done": await _order(client, queue, "done", "Lovelace"),
            "shelf after done": _shelf(),
            "undone": await _order(client, queue, "undone", "Babbage", "out of print"),
            "shelf after undone": _shelf(),
        }
    return said | {"queue": queue, "ran": counting.ran}


async def _greeting(client: Client, queue: str) -> str:
    handle = await client.start_workflow(
        GreetCustomer.run, Customer("Ada Lovelace", 4), id=f"{queue}/greeting", task_queue=queue
    )
    await handle.signal(GreetCustomer.open_door)
    return await handle.result()


async def _order(client: Client, queue: str, name: str, *titles: str) -> list[str]:
    """The books put aside, or the failure's type and words."""
    try:
        return await client.execute_workflow(
            PutOrderAside.run, Order(list(titles)), id=f"{queue}/{name}", task_queue=queue
        )
    except WorkflowFailureError as error:
        if not isinstance(error.cause, ApplicationError):
            raise
        return [str(error.cause.type), error.cause.message]


def _shelf() -> list[str]:
    return sorted(path.name for path in Path(os.environ["SHOP_SHELF"]).iterdir())


if __name__ == "__main__":
    told = asyncio.run(run(sys.argv[1], sys.argv[2], Path(sys.argv[3]).read_text()))
    sys.stdout.write(json.dumps(told))
    sys.stdout.flush()
    os._exit(
        0
    )  # the SDK's native threads may crash an interpreter that exits in the usual way (sdk-python 300)
