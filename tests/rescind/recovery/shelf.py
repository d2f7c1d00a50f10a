"""A worker in a process of its own over a world that outlives it: files in folders. Run it, and kill it."""

import asyncio
import os
from datetime import timedelta
from pathlib import Path

from pydantic import BaseModel
from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import Worker

from rescind import (
    Absent,
    Applied,
    Call,
    Receipt,
    Request,
    RescindPlugin,
    Restoration,
    Result,
    Retries,
    Saga,
    Tool,
)
from rescind.evidence import Conflict

MOMENT = 0.1
"""Seconds that a call takes before it acts, and again after it has acted."""


class PutFile(Request):
    """Put a file into a folder."""

    folder: Path
    name: str

    @property
    def path(self) -> Path:
        """Where it is."""
        return self.folder / self.name


class File(Result):
    """The file that was put."""

    path: Path


@activity.defn
async def put_file(call: Call[PutFile]) -> File:
    """Write the call's key into a file that is not there yet."""
    await asyncio.sleep(MOMENT)
    with call.request.path.open("x") as file:
        file.write(call.key)
    await asyncio.sleep(MOMENT)
    return File(path=call.request.path)


@activity.defn
async def take_file(receipt: Receipt[PutFile, File]) -> Restoration:
    """Take it away if it is still ours."""
    await asyncio.sleep(MOMENT)
    path = receipt.call.request.path
    if not path.exists():
        return Restoration.nothing("it was gone already")
    if path.read_text() != receipt.call.key:
        raise Conflict(f"{path.name} is somebody else's now")
    path.unlink()
    await asyncio.sleep(MOMENT)
    return Restoration.exact()


@activity.defn
async def find_file(call: Call[PutFile]) -> Applied[File] | Absent:
    """Look whether this call put it there."""
    path = call.request.path
    return Applied(result=File(path=path)) if path.exists() and path.read_text() == call.key else Absent()


PUT_FILE = Tool(
    name="shelf.put_file",
    description="Put a file into a folder; it is taken away again when the saga is undone.",
    forward=put_file,
    compensate=take_file,
    lookup=find_file,
    is_reversible=True,
    timeout=timedelta(seconds=2),
    undo_timeout=timedelta(seconds=2),
    retries=Retries(tries=3, first_wait=timedelta(milliseconds=50)),
    undo_retries=Retries(tries=3, first_wait=timedelta(milliseconds=50)),
)


class Shelf(BaseModel):
    """What is put where."""

    folder: Path
    names: list[str]


@workflow.defn
class FillShelf:
    """One file after the other."""

    @workflow.run
    async def run(self, shelf: Shelf) -> None:
        async with Saga() as saga:
            for name in shelf.names:
                await saga.step(PUT_FILE, PutFile(folder=shelf.folder, name=name))
            await saga.commit()


async def main() -> None:
    """Work on the queue until killed."""
    plugin = RescindPlugin([PUT_FILE], ledger=os.environ["RESCIND_LEDGER_DSN"], sweeping=None)
    client = await Client.connect(
        os.environ["TEMPORAL_ADDRESS"], namespace=os.environ["TEMPORAL_NAMESPACE"], plugins=[plugin]
    )
    async with Worker(client, task_queue=os.environ["SHELF_QUEUE"], workflows=[FillShelf]):
        print("it polls", flush=True)  # noqa: T201  (it is waited for)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
