"""Random sagas through random trouble: none is falsely clean, none happens twice, none is left alone, none hangs."""

import asyncio
import os
import random
import uuid
from collections.abc import AsyncIterator

import pytest
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
from tests.model.strategies import Scenario, each
from tests.rescind.conftest import ledger, ledger_dsn
from tests.rescind.namespaces import new_namespace
from tests.rescind.sagas import Sagas

__all__ = ["ledger", "ledger_dsn"]

SOAK = os.environ.get("RESCIND_SOAK")
SAGAS = int(os.environ.get("RESCIND_MODEL_SAGAS") or ("2000" if SOAK else "16"))
SEED = int(os.environ.get("RESCIND_SEED", "20261201"))
AT_ONCE = 40
RESTARTS = 2 * -(-SAGAS // AT_ONCE)
"""Restarts of the worker, every few seconds while the first batches run."""


@pytest.fixture(scope="session")
async def model_client(stack_environment: dict[str, str], ledger_dsn: str) -> Client:
    """A client with the model's tools, in a namespace where the sweeper finds no other sagas."""
    plugin = RescindPlugin(TOOLS.values(), ledger=ledger_dsn, sweeping=None)
    address = stack_environment["TEMPORAL_ADDRESS"]
    return await Client.connect(address, namespace=await new_namespace(address, "model"), plugins=[plugin])


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
            await asyncio.sleep(dice.uniform(1, 6) if left else 3600)


# The SDK warns where a local activity has ended right before it is cancelled; as an error that would end the worker.
@pytest.mark.filterwarnings("ignore:Cannot find activity to cancel:UserWarning")
@pytest.mark.timeout(180 + 6 * SAGAS)
async def test_random_sagas(model_sagas: Sagas, capsys: pytest.CaptureFixture[str]) -> None:
    """World, ledger, journal and Temporal say the same of every one of them; the numbers and the seed are printed."""
    drawn: list[Scenario] = []
    each(SAGAS, SEED, drawn.append)
    counts, known = Counts(), dict[str, list[str]]()
    working = asyncio.ensure_future(work(model_sagas, random.Random(SEED)))
    try:
        for start in range(0, len(drawn), AT_ONCE):
            batch = drawn[start : start + AT_ONCE]
            found = await run_batch(model_sagas, batch, lambda: look(model_sagas), counts)
            known |= {repr(scenario): problems for scenario, problems in zip(batch, found, strict=True)}
            with capsys.disabled():
                print(f"\nseed {SEED}: {counts}", flush=True)  # noqa: T201  (a long run is watched)
            if working.done():
                working.result()  # a worker that has ended ends the model
            if any(found):
                await smallest(model_sagas, known)
                break
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
    assert {scenario: problems for scenario, problems in known.items() if problems} == {}


async def smallest(sagas: Sagas, known: dict[str, list[str]]) -> None:
    """Fail with the smallest scenario that is wrong; what hypothesis tries on the way is run by itself."""
    if not SOAK:
        return
    loop = asyncio.get_running_loop()

    def judge(scenario: Scenario) -> None:
        problems = known.get(repr(scenario))
        if problems is None:
            running = run_batch(sagas, [scenario], lambda: look(sagas), Counts())
            (problems,) = asyncio.run_coroutine_threadsafe(running, loop).result()
        assert problems == []

    await asyncio.to_thread(lambda: each(SAGAS, SEED, judge, shrinks=True))
