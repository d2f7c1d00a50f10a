"""Input that is none, from the Web UI or Temporal's own command line, ends a workflow before it begins."""

import subprocess
import uuid
from typing import Any

import pytest
from temporalio.client import Client, WorkflowFailureError
from temporalio.converter import DataConverter
from temporalio.exceptions import ApplicationError

from embedded.temporal import find_program
from embedded.world import difference
from tests.application import Application

WORKFLOWS = ("ProvisionEnvironment", "FulfilOrder", "BookTrip")
BAD: dict[str, list[Any]] = {
    "none": [],
    "null": [None],
    "bytes": [b"{}"],
    "an empty object": [{}],
    "a string": ["nonsense"],
    "a number": [7],
    "a list": [[{}]],
    "an unknown field": [{"no_such_field": 1}],
    "extra arguments": [{}, {}],
}


@pytest.fixture(scope="module")
async def client(application: Application) -> Client:
    """A client as it comes, which knows of no model."""
    return await Client.connect(
        application.environment["TEMPORAL_ADDRESS"], data_converter=DataConverter.default
    )


@pytest.mark.parametrize("name", WORKFLOWS)
async def test_bad_input(name: str, client: Client, application: Application) -> None:
    """Each kind is FAILED within seconds, and has no effect."""
    before = application.world()
    for given in BAD.values():
        assert (await failure(client, application, name, given)).type == "ValidationError"
    assert difference(before, application.world()) == []


@pytest.mark.parametrize("name", WORKFLOWS)
async def test_the_message(name: str, client: Client, application: Application) -> None:
    """It says what was given, what is taken, that nothing was done, and what to do."""
    said = (await failure(client, application, name, [])).message
    assert said.startswith(f"{name} was given 0 arguments, and takes 1: `")
    assert said.endswith("Nothing was started and nothing has changed. Start it anew with the right input.")
    assert f"{name} was given null for `" in (await failure(client, application, name, [None])).message


@pytest.mark.parametrize("given", [[], ["--input", "null"]], ids=["none", "null"])
@pytest.mark.parametrize("name", WORKFLOWS)
def test_temporal_s_own_command_line(name: str, given: list[str], application: Application) -> None:
    """It ends by itself and says that the workflow has failed."""
    where = ["--address", application.environment["TEMPORAL_ADDRESS"], "--task-queue", application.task_queue]
    what = ["--type", name, "--workflow-id", f"bad-{uuid.uuid4()}", *given]
    done = subprocess.run(
        [find_program({}).path, "workflow", "execute", *where, *what],
        env={"PATH": "/nowhere", "HOME": "/nowhere"},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode != 0
    assert "FAILED" in done.stdout
    assert name in done.stdout


async def failure(client: Client, application: Application, name: str, given: list[Any]) -> ApplicationError:
    with pytest.raises(WorkflowFailureError) as failed:
        await client.execute_workflow(
            name, args=given, id=f"bad-{uuid.uuid4()}", task_queue=application.task_queue
        )
    assert isinstance(failed.value.cause, ApplicationError)
    return failed.value.cause
