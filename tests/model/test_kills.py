"""The model while Temporal's server and PostgreSQL are killed with SIGKILL under it; the same must hold afterwards."""

import asyncio
import os
import random
import sys
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st
from temporalio.client import Client
from temporalio.worker import Worker

from embedded import Stack, environment
from rescind import RescindPlugin
from rescind.ledger import Ledger, install
from tests.model.programs import TOOLS, RunProgram
from tests.model.run import Counts, run_batch
from tests.model.strategies import NOT_CHECKED, Scenario, scenarios
from tests.model.test_model import look
from tests.rescind.sagas import Sagas
from tests.stack_fixture import fresh_stack

SOAK = os.environ.get("RESCIND_SOAK")
SAGAS, AT_ONCE, KILLS = (200, 16, 3) if SOAK else (8, 8, 2)
SEED = int(os.environ.get("RESCIND_SEED", "20261202"))
COUNTS = Counts()


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


@pytest.fixture
def new_stack(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Stack]:
    """Makes stand-ins of their own, which may be killed."""

    def made() -> Stack:
        folder: Path = tmp_path_factory.mktemp("killed")
        return fresh_stack(folder)

    return made


@pytest.mark.filterwarnings("ignore:Cannot find activity to cancel:UserWarning")
@pytest.mark.timeout(600 + 10 * SAGAS)
@seed(SEED)
@settings(
    max_examples=SAGAS // AT_ONCE + 1,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=NOT_CHECKED,
)
@given(batch=st.lists(scenarios(), min_size=AT_ONCE, max_size=AT_ONCE))
async def test_servers_are_killed(
    new_stack: Callable[[], Stack], capsys: pytest.CaptureFixture[str], batch: list[Scenario]
) -> None:
    """No saga is falsely clean, happens twice, is left alone or hangs, once the servers are back."""
    if batch == batch[:1] * AT_ONCE:
        return  # hypothesis begins with the smallest of all, which shows nothing
    with new_stack() as stack:
        settings_ = environment(stack.description)
        install(settings_["RESCIND_LEDGER_ADMIN_DSN"], workers=["rescind_ledger_worker"])
        dsn, queue = settings_["RESCIND_LEDGER_DSN"], f"model-{uuid.uuid4()}"
        plugin = RescindPlugin(TOOLS.values(), ledger=dsn, sweeping=None)
        client = await Client.connect(settings_["TEMPORAL_ADDRESS"], plugins=[plugin])
        async with (
            Ledger(dsn, connections=2) as ledger,
            Worker(client, task_queue=queue, workflows=[RunProgram], max_cached_workflows=0),
        ):
            sagas = Sagas(client, ledger, queue)
            killing = kill(stack, random.Random(SEED + COUNTS.sagas))
            problems = await run_batch(sagas, batch, lambda: look(sagas), COUNTS, meanwhile=killing)
            verified = await ledger.verify()
    with capsys.disabled():
        sys.stdout.write(f"\nseed {SEED}, {KILLS} kills a batch of {AT_ONCE}: {COUNTS}\n")
    assert problems == []
    assert verified.differences == []
