"""The model while servers and workers are killed with SIGKILL under it; the same must hold afterwards."""

import asyncio
import os
import random
import sys
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from pathlib import Path

import pytest
from temporalio.client import Client
from temporalio.worker import Worker

from embedded import Stack, environment
from rescind import RescindPlugin
from rescind.ledger import Ledger, install
from tests.faults.workers import Workers
from tests.model.far_worlds import served
from tests.model.programs import TOOLS, RunProgram
from tests.model.run import Counts, Run
from tests.model.strategies import Scenario, each
from tests.model.sweeper import sweeping
from tests.rescind.sagas import Sagas
from tests.stack_fixture import fresh_stack

SOAK = os.environ.get("RESCIND_SOAK")
SAGAS = int(os.environ.get("RESCIND_KILLED_SAGAS") or ("200" if SOAK else "6"))
AT_ONCE, KILLS = (40, 3) if SOAK else (6, 2)
SEED = int(os.environ.get("RESCIND_SEED", "20261202"))

pytestmark = pytest.mark.timeout(300 + 10 * SAGAS)
Note = Callable[[object], None]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Stand-ins of their own, with a ledger."""
    with fresh_stack(tmp_path_factory.mktemp("killed")) as stack:
        dsn = environment(stack.description)["RESCIND_LEDGER_ADMIN_DSN"]
        install(dsn, workers=["rescind_ledger_worker"])
        yield stack


@pytest.fixture
async def sagas(kept: Stack) -> AsyncIterator[Sagas]:
    """Sagas on a queue of this test's own, on which nobody works."""
    settings = environment(kept.description)
    dsn = settings["RESCIND_LEDGER_DSN"]
    plugin = RescindPlugin(TOOLS.values(), ledger=dsn, sweeping=None)
    client = await Client.connect(settings["TEMPORAL_ADDRESS"], plugins=[plugin])
    async with Ledger(dsn, connections=2) as ledger:
        yield Sagas(client, ledger, f"model-{uuid.uuid4()}")


@pytest.fixture
def note(capsys: pytest.CaptureFixture[str]) -> Note:
    """Prints what a batch came to: a long run is watched."""

    def say(what: object) -> None:
        with capsys.disabled():
            print(f"\nseed {SEED}: {what}", flush=True)  # noqa: T201  (it is watched)

    return say


async def kill_servers(stack: Stack, dice: random.Random) -> None:
    """Kill one server or both at random moments, and start them again on their data, so many times."""
    for _ in range(KILLS):
        await asyncio.sleep(dice.uniform(0.3, 3))
        for name in dice.choice([("temporal",), ("postgres",), ("temporal", "postgres")]):
            process = stack.description.services[name].process.process()
            assert process is not None
            process.kill()
        await asyncio.to_thread(stack.stop)
        await asyncio.to_thread(stack.start)


async def kill_workers(workers: Workers) -> None:
    """Kill one after the other at random moments, so many times more."""
    for _ in range(KILLS):
        await workers.kill_next()


async def in_batches(
    sagas: Sagas, kill: Callable[[], Awaitable[None]], note: Note, *, lossy: bool = False
) -> None:
    """Start some, kill, and finish them; then the next."""
    drawn: list[Scenario] = []
    each(SAGAS, SEED, drawn.append)
    counts = Counts()
    for start in range(0, SAGAS, AT_ONCE):
        batch = drawn[start : start + AT_ONCE]
        found = await _batch([Run(sagas, scenario, counts, lossy) for scenario in batch], kill)
        note(f"{KILLS} kills a batch: {counts}")
        assert [pair for pair in zip(found, batch, strict=True) if pair[0]] == []
    assert counts.ends["COMPLETED"]
    assert (await sagas.ledger.verify()).differences == []


async def _batch(runs: Sequence[Run], kill: Callable[[], Awaitable[None]]) -> list[list[str]]:
    await asyncio.gather(*(run.start() for run in runs))
    await kill()
    async with sweeping(runs[0].sagas):
        return await asyncio.gather(*(run.finish() for run in runs))


@pytest.mark.filterwarnings("ignore:Cannot find activity to cancel:UserWarning")
async def test_servers_are_killed(kept: Stack, sagas: Sagas, note: Note) -> None:
    """No saga is falsely clean, happens twice, is left alone or hangs, once the servers are back."""
    dice = random.Random(SEED)
    async with Worker(
        sagas.client, task_queue=sagas.task_queue, workflows=[RunProgram], max_cached_workflows=2
    ):
        await in_batches(sagas, lambda: kill_servers(kept, dice), note, lossy=True)


async def test_workers_are_killed(kept: Stack, sagas: Sagas, note: Note, tmp_path: Path) -> None:
    """The same once other workers are there; the sweeper, the undos and the reconciliations die with them."""
    dice = random.Random(SEED)
    command = [sys.executable, "-m", "tests.model.worker", sagas.task_queue]
    with served() as worlds:
        around = environment(kept.description) | {"RESCIND_MODEL_WORLDS": worlds}
        workers = Workers(command, around, tmp_path, pause=lambda: dice.uniform(0.2, 2))
        async with workers.at_work():
            await in_batches(sagas, lambda: kill_workers(workers), note)
