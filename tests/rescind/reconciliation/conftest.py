"""Sagas whose reconciliations tell a real webhook, at a patient pace and at a hasty one."""

import uuid
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta

import pytest
from temporalio.client import Client
from temporalio.worker import Worker

from rescind import RescindPlugin
from rescind.ledger import Ledger
from rescind.reconciliation import AlertChannel, Pace
from tests.rescind.reconciliation.desk import Desk
from tests.rescind.reconciliation.receiver import Broken, Receiver, Webhook, receiver
from tests.rescind.toy_workflows import WORKFLOWS
from tests.rescind.toy_world import TOOLS

HASTY = Pace(
    alerts=(timedelta(seconds=3),),
    alert_every=timedelta(hours=1),
    retries=(timedelta(seconds=1), timedelta(seconds=1)),
    retry_every=timedelta(seconds=1),
    alert_for=timedelta(seconds=2),
)
PATIENT = Pace(alert_for=timedelta(seconds=20))


@pytest.fixture(scope="session")
def posts() -> Iterator[Receiver]:
    """The webhook's receiving end."""
    with receiver() as receiving:
        yield receiving


@pytest.fixture(scope="session")
async def client(stack_environment: dict[str, str], ledger_dsn: str, posts: Receiver) -> Client:
    """A client whose reconciliations do nothing by themselves within a test, beside the first alert."""
    plugin = RescindPlugin(TOOLS, ledger=ledger_dsn, alerts=[Webhook(posts.url)], pace=PATIENT, sweeping=None)
    return await Client.connect(stack_environment["TEMPORAL_ADDRESS"], plugins=[plugin])


@pytest.fixture(scope="session")
async def hasty_client(stack_environment: dict[str, str], ledger_dsn: str, posts: Receiver) -> Client:
    """A client whose reconciliations try again every second, and that has a channel which never works."""
    channels: list[AlertChannel] = [Broken(), Webhook(posts.url)]
    plugin = RescindPlugin(TOOLS, ledger=ledger_dsn, alerts=channels, pace=HASTY, sweeping=None)
    return await Client.connect(stack_environment["TEMPORAL_ADDRESS"], plugins=[plugin])


@pytest.fixture
async def desk(client: Client, ledger: Ledger, posts: Receiver, task_queue: str, toy_worker: Worker) -> Desk:
    """Sagas of the patient client, and what people do about them."""
    del toy_worker  # it works beside the test
    return Desk(client, ledger, task_queue, posts)


@pytest.fixture
async def hasty(hasty_client: Client, ledger: Ledger, posts: Receiver) -> AsyncIterator[Desk]:
    """Sagas of the hasty client."""
    queue = f"hasty-{uuid.uuid4()}"
    async with Worker(hasty_client, task_queue=queue, workflows=WORKFLOWS, max_cached_workflows=0):
        yield Desk(hasty_client, ledger, queue, posts)
