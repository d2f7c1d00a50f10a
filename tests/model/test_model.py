"""Random sagas through random trouble: none is falsely clean, none happens twice, none is left alone, none hangs."""

import asyncio
import os
import random
import sys
import uuid
from collections.abc import AsyncIterator

import pytest
from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st
from temporalio.client import Client
from temporalio.worker import Worker

from rescind import RescindPlugin
from rescind._operations_queue import OPERATIONS_QUEUE
from rescind.ledger import Ledger
from rescind.recovery import Sweeping
from rescind.recovery._sweep import Swept
from rescind.recovery._sweeping import SWEEP
from tests.model.programs import TOOLS, RunProgram
from tests.model.run import Counts, run_batch
from tests.model.strategies import NOT_CHECKED, Scenario, scenarios
from tests.rescind.conftest import ledger, ledger_dsn
from tests.rescind.sagas import Sagas

__all__ = ["ledger", "ledger_dsn"]

SOAK = os.environ.get("RESCIND_SOAK")
SAGAS = int(os.environ.get("RESCIND_MODEL_SAGAS") or ("2000" if SOAK else "16"))
SEED = int(os.environ.get("RESCIND_SEED", "20261201"))
AT_ONCE = min(16, SAGAS)
"""Of one batch: hypothesis gives an example only so many choices, and keeps the small ones where they are too few."""
RESTARTS = 2
"""Restarts of the worker while a batch runs."""


@pytest.fixture(scope="session")
async def model_client(stack_environment: dict[str, str], ledger_dsn: str) -> Client:
    """A client with the model's tools."""
    plugin = RescindPlugin(TOOLS.values(), ledger=ledger_dsn, sweeping=None)
    return await Client.connect(stack_environment["TEMPORAL_ADDRESS"], plugins=[plugin])


@pytest.fixture(scope="session")
async def model_sagas(model_client: Client, ledger: Ledger) -> AsyncIterator[Sagas]:
    """Sagas of the model; another worker keeps the queue of the operations."""
    async with Worker(model_client, task_queue=f"model-{uuid.uuid4()}", workflows=[RunProgram]):
        yield Sagas(model_client, ledger, f"model-{uuid.uuid4()}")


async def look(sagas: Sagas) -> Swept:
    """Let the sweeper look once."""
    swept: Swept = await sagas.client.execute_workflow(
        SWEEP,
        Sweeping(limit=5000),
        id=f"sweep-{sagas.task_queue}",
        task_queue=OPERATIONS_QUEUE,
        result_type=Swept,
    )
    return swept


async def work(sagas: Sagas, dice: random.Random) -> None:
    """Work on the sagas; the worker stops and starts again a few times, without a cache that would hide anything."""
    for left in range(RESTARTS, -1, -1):
        async with Worker(
            sagas.client, task_queue=sagas.task_queue, workflows=[RunProgram], max_cached_workflows=0
        ):
            await asyncio.sleep(dice.uniform(1, 4) if left else 3600)


COUNTS = Counts()


# The SDK warns where a local activity has ended right before it is cancelled; as an error that would end the worker.
@pytest.mark.filterwarnings("ignore:Cannot find activity to cancel:UserWarning")
@pytest.mark.timeout(120 + 6 * SAGAS)
@seed(SEED)
@settings(
    max_examples=-(-SAGAS // AT_ONCE) + 1,
    deadline=None,
    database=None,
    phases=[Phase.generate, Phase.shrink] if SOAK else [Phase.generate],
    suppress_health_check=NOT_CHECKED,
)
@given(batch=st.lists(scenarios(), min_size=AT_ONCE, max_size=AT_ONCE))
async def test_random_sagas(
    model_sagas: Sagas, capsys: pytest.CaptureFixture[str], batch: list[Scenario]
) -> None:
    """World, ledger, journal and Temporal say the same of every one of them; the numbers and the seed are printed."""
    if batch == batch[:1] * AT_ONCE:
        return  # hypothesis begins with the smallest of all, which shows nothing
    working = asyncio.ensure_future(work(model_sagas, random.Random(SEED)))
    try:
        problems = await run_batch(model_sagas, batch, lambda: look(model_sagas), COUNTS)
        if working.done():
            working.result()  # a worker that has ended ends the model
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
    with capsys.disabled():
        sys.stdout.write(f"\nseed {SEED}: {COUNTS}\n")
    assert problems == []
