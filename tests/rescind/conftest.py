"""Workers over the toy world, on the real server and the real ledger."""

import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from temporalio.client import Client
from temporalio.worker import Worker

from rescind import RescindPlugin
from rescind.ledger import Ledger, install
from tests.rescind.sagas import Sagas
from tests.rescind.toy_workflows import WORKFLOWS
from tests.rescind.toy_world import TOOLS, WORLDS, World

NewWorker = Callable[..., AbstractAsyncContextManager[Worker]]


@pytest.fixture(scope="session")
def ledger_dsn(stack_environment: dict[str, str]) -> str:
    """The ledger, installed, for the worker's role."""
    install(stack_environment["RESCIND_LEDGER_ADMIN_DSN"], workers=["rescind_ledger_worker"])
    return stack_environment["RESCIND_LEDGER_DSN"]


@pytest.fixture(scope="session")
async def ledger(ledger_dsn: str) -> AsyncIterator[Ledger]:
    """The ledger, to look at what is on record."""
    async with Ledger(ledger_dsn, connections=2) as opened:
        yield opened


@pytest.fixture(scope="session")
async def client(stack_environment: dict[str, str], ledger_dsn: str) -> Client:
    """A client of the dev server with the plugin and the toy tools."""
    plugin = RescindPlugin(TOOLS, ledger=ledger_dsn, sweeping=None)
    return await Client.connect(stack_environment["TEMPORAL_ADDRESS"], plugins=[plugin])


@pytest.fixture
def task_queue() -> str:
    """A queue of this test's own."""
    return f"toy-{uuid.uuid4()}"


@pytest.fixture
def new_worker(client: Client, task_queue: str) -> NewWorker:
    """Makes workers of the toy workflows, without a workflow cache, so that each task replays from the start."""

    @asynccontextmanager
    async def worker(**options: Any) -> AsyncGenerator[Worker]:
        chosen: dict[str, Any] = {"max_cached_workflows": 0, "workflows": WORKFLOWS} | options
        async with Worker(client, task_queue=task_queue, **chosen) as running:
            yield running

    return worker


@pytest.fixture
async def toy_worker(new_worker: NewWorker) -> AsyncIterator[Worker]:
    """One such worker."""
    async with new_worker() as running:
        yield running


@pytest.fixture
def world() -> World:
    """A world of this test's own."""
    name = f"world-{uuid.uuid4()}"
    made = WORLDS[name]
    made.name = name
    return made


@pytest.fixture
def sagas(client: Client, ledger: Ledger, task_queue: str) -> Sagas:
    """Starts toy workflows and looks at them."""
    return Sagas(client, ledger, task_queue)
