"""What Docker is told about a worker."""

import asyncio
import sys

from temporalio import workflow
from temporalio.client import Client
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from tests.deploy.conftest import DEPLOY


@workflow.defn
class Wait:
    """A workflow that is never started; a worker needs one."""

    @workflow.run
    async def run(self) -> None:
        """Returns at once."""


def poller(client: Client, task_queue: str) -> Worker:
    # The sandbox would import this file again, and with it the stand-ins, which it refuses.
    runner = UnsandboxedWorkflowRunner()
    return Worker(client, task_queue=task_queue, workflows=[Wait], workflow_runner=runner)


async def health(task_queue: str, environment: dict[str, str]) -> tuple[int | None, str]:
    """The exit code of the check and what it printed."""
    command = (sys.executable, str(DEPLOY / "worker_health.py"), task_queue)
    process = await asyncio.create_subprocess_exec(
        *command, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    output, _ = await process.communicate()
    return process.returncode, output.decode()


async def test_a_worker_that_asks_for_work(surroundings: dict[str, str]) -> None:
    """It is healthy within seconds of its start."""
    client = await Client.connect(surroundings["TEMPORAL_ADDRESS"])
    code, said, tries = None, "", 0
    async with poller(client, "asked"):
        while code != 0 and tries < 10:
            code, said = await health("asked", surroundings)
            tries += 1
    assert code == 0, said
    assert said.startswith("last heard on asked: 20")


async def test_no_worker_on_the_task_queue(surroundings: dict[str, str]) -> None:
    """It is not healthy when nobody has asked for work there, as with a wrong task queue."""
    assert await health("nobody", surroundings) == (1, "last heard on nobody: never\n")


async def test_a_worker_of_another_host(surroundings: dict[str, str]) -> None:
    """Another container's worker does not make this one healthy."""
    client = await Client.connect(surroundings["TEMPORAL_ADDRESS"], identity="1@elsewhere")
    async with poller(client, "elsewhere"):
        await asyncio.sleep(1)
        assert (await health("elsewhere", surroundings))[0] == 1


async def test_no_server(surroundings: dict[str, str]) -> None:
    """It is not healthy when Temporal does not answer, and says so without a traceback."""
    code, said = await health("asked", surroundings | {"TEMPORAL_ADDRESS": "127.0.0.1:1"})
    assert code == 1
    assert said.startswith("Temporal did not answer: ")
    assert "Traceback" not in said
