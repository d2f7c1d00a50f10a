"""The model while Temporal's server and PostgreSQL are killed with SIGKILL under it; the same must hold afterwards."""

import asyncio
import os
import random
import uuid
from pathlib import Path

import pytest
from temporalio.client import Client
from temporalio.worker import Worker

from embedded import Stack, environment
from rescind import RescindPlugin
from rescind.ledger import Ledger, install
from tests.model.programs import TOOLS, RunProgram
from tests.model.run import Counts, run_batch
from tests.model.strategies import Scenario, each
from tests.model.test_model import look
from tests.rescind.sagas import Sagas
from tests.stack_fixture import fresh_stack

SOAK = os.environ.get("RESCIND_SOAK")
SAGAS, AT_ONCE, KILLS = (200, 40, 3) if SOAK else (8, 8, 2)
SEED = int(os.environ.get("RESCIND_SEED", "20261202"))


async def kill(stack: Stack, dice: random.Random) -> None:
    """Kill one server or both at random moments, and start them again on their data, so many times."""
    for _ in range(KILLS):
        await asyncio.sleep(dice.uniform(0.3, 3))
        for name in dice.choice([("temporal",), ("postgres",), ("temporal", "postgres")]):
            process = stack.description.services[name].process.process()
            assert process is not None
            process.kill()
        await asyncio.to_thread(stack.stop)
        await asyncio.to_thread(stack.start)


@pytest.mark.filterwarnings("ignore:Cannot find activity to cancel:UserWarning")
@pytest.mark.timeout(300 + 10 * SAGAS)
async def test_servers_are_killed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No saga is falsely clean, happens twice, is left alone or hangs, once the servers are back."""
    drawn: list[Scenario] = []
    each(SAGAS, SEED, drawn.append)
    counts, dice = Counts(), random.Random(SEED)
    with fresh_stack(tmp_path) as stack:
        settings = environment(stack.description)
        install(settings["RESCIND_LEDGER_ADMIN_DSN"], workers=["rescind_ledger_worker"])
        dsn, queue = settings["RESCIND_LEDGER_DSN"], f"model-{uuid.uuid4()}"
        plugin = RescindPlugin(TOOLS.values(), ledger=dsn, sweeping=None)
        client = await Client.connect(settings["TEMPORAL_ADDRESS"], plugins=[plugin])
        async with (
            Ledger(dsn, connections=2) as ledger,
            Worker(client, task_queue=queue, workflows=[RunProgram], max_cached_workflows=0),
        ):
            sagas = Sagas(client, ledger, queue)
            for start in range(0, SAGAS, AT_ONCE):
                batch = drawn[start : start + AT_ONCE]
                found = await run_batch(
                    sagas, batch, lambda: look(sagas), counts, meanwhile=kill(stack, dice)
                )
                with capsys.disabled():
                    print(f"\nseed {SEED}, {KILLS} kills a batch: {counts}", flush=True)  # noqa: T201  (it is watched)
                assert [pair for pair in zip(found, batch, strict=True) if pair[0]] == []
            assert (await ledger.verify()).differences == []
