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
from rescind.ledger import Ledger
from tests.model.programs import TOOLS, RunProgram
from tests.model.run import Counts, Run
from tests.model.strategies import Scenario, each
from tests.model.sweeper import sweeping
from tests.rescind.conftest import ledger, ledger_dsn
from tests.rescind.namespaces import new_namespace
from tests.rescind.sagas import Sagas

__all__ = ["ledger", "ledger_dsn"]

SOAK = os.environ.get("RESCIND_SOAK")
SAGAS = int(os.environ.get("RESCIND_MODEL_SAGAS") or ("2000" if SOAK else "16"))
SEED = int(os.environ.get("RESCIND_SEED", "20261201"))
AT_ONCE = 40
WORKERS = 2
RESTARTS = -(-SAGAS // AT_ONCE)
"""Restarts of each of the workers, every few seconds from the beginning."""


@pytest.fixture(scope="session")
async def model_clients(stack_environment: dict[str, str], ledger_dsn: str) -> list[Client]:
    """Clients with the model's tools, one for each worker of a queue, where the sweeper finds no other sagas."""
    plugins = [RescindPlugin(TOOLS.values(), ledger=ledger_dsn, sweeping=None) for _ in range(WORKERS)]
    address = stack_environment["TEMPORAL_ADDRESS"]
    namespace = await new_namespace(address, "model")
    return [await Client.connect(address, namespace=namespace, plugins=[plugin]) for plugin in plugins]


@pytest.fixture(scope="session")
async def model_sagas(model_clients: list[Client], ledger: Ledger) -> AsyncIterator[Sagas]:
    """Sagas of the model; another worker keeps the queue of the operations."""
    async with Worker(model_clients[0], task_queue=f"model-{uuid.uuid4()}", workflows=[RunProgram]):
        yield Sagas(model_clients[0], ledger, f"model-{uuid.uuid4()}")


async def work(client: Client, queue: str, dice: random.Random) -> None:
    """Work on the sagas; the worker stops and starts again a few times, and its cache is too small to hide anything.

    With no cache at all the SDK drops local activities under load, as it warns itself (docs/concepts/limits.md).
    """
    for left in range(RESTARTS, -1, -1):
        async with Worker(client, task_queue=queue, workflows=[RunProgram], max_cached_workflows=2):
            await asyncio.sleep(dice.uniform(1, 6) if left else 36000)


# The SDK warns where a local activity has ended right before it is cancelled; as an error that would end the worker.
@pytest.mark.filterwarnings("ignore:Cannot find activity to cancel:UserWarning")
@pytest.mark.timeout(180 + 6 * SAGAS)
async def test_random_sagas(
    model_clients: list[Client], model_sagas: Sagas, capsys: pytest.CaptureFixture[str]
) -> None:
    """World, ledger, journal and Temporal say the same of every one of them; the numbers and the seed are printed."""
    drawn: list[Scenario] = []
    each(SAGAS, SEED, drawn.append)
    counts, known, room = Counts(), dict[str, list[str]](), asyncio.Semaphore(AT_ONCE)

    async def through(scenario: Scenario) -> None:
        async with room:
            if any(known.values()):
                return  # one that is wrong is enough
            run = Run(model_sagas, scenario, counts)
            await run.start()
            known[repr(scenario)] = await run.finish()
            if counts.sagas % AT_ONCE == 0 or counts.sagas == SAGAS:
                with capsys.disabled():
                    print(f"\nseed {SEED}: {counts}", flush=True)  # noqa: T201  (a long run is watched)

    async with asyncio.TaskGroup() as group:
        queue, dice = model_sagas.task_queue, random.Random(SEED)
        working = [group.create_task(work(client, queue, dice)) for client in model_clients]
        async with sweeping(model_sagas):
            await asyncio.gather(*map(through, drawn))
            if any(known.values()):
                await smallest(model_sagas, known)
        for worker in working:
            worker.cancel()
    assert not any(known.values()), "\n".join(f"{found} {one}" for one, found in known.items() if found)


async def smallest(sagas: Sagas, known: dict[str, list[str]]) -> None:
    """Fail with the smallest scenario that is wrong; what hypothesis tries on the way is run by itself."""
    if not SOAK:
        return
    loop = asyncio.get_running_loop()

    async def alone(scenario: Scenario) -> list[str]:
        run = Run(sagas, scenario, Counts())
        await run.start()
        return await run.finish()

    def judge(scenario: Scenario) -> None:
        problems = known.get(repr(scenario))
        if problems is None:
            problems = asyncio.run_coroutine_threadsafe(alone(scenario), loop).result()
        assert problems == []

    await asyncio.to_thread(lambda: each(SAGAS, SEED, judge, shrinks=True))
