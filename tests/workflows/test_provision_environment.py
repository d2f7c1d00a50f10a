"""An environment in five real systems: all of it, or the world exactly as it was."""

import asyncio
import uuid
from typing import Any, cast

import boto3
import pytest
from botocore.config import Config
from temporalio.client import Client, WorkflowFailureError
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.exceptions import ApplicationError

from embedded.world import difference
from rescind import Outcome, SagaReport
from tests.application import Application
from tests.rescind.sagas import until
from workflows.provision_environment import Environment, Provisioned, ProvisionEnvironment

OTHERS = "somebody-elses"
FAILURES = {
    "create_branch#1": {"branch": {"remote": "app", "branch": "env/x", "from_ref": "no-such-ref"}},
    "create_bucket#1": {"bucket": {"bucket": OTHERS}},
    "migrate#1": {
        "migrate": {"database": "app", "name": "x", "up": "DROP TABLE nowhere", "down": "SELECT 1"}
    },
    "deploy#1": {"service": {"cluster": "nowhere", "service": "web", "image": "web:1"}},
    "notify#1": {"notification": {"webhook": "revoked", "text": "there"}},
}


@pytest.fixture(scope="module")
async def client(application: Application) -> Client:
    """A client of the dev server."""
    settings = application.environment
    return await Client.connect(settings["TEMPORAL_ADDRESS"], data_converter=pydantic_data_converter)


@pytest.fixture(scope="module")
def taken(application: Application) -> None:
    """A bucket that was there before."""
    settings = application.environment
    s3: Any = boto3.client(
        "s3",
        endpoint_url=settings["RESCIND_S3_ENDPOINT"],
        region_name="us-east-1",
        aws_access_key_id="other",
        aws_secret_access_key="other",
        config=Config(proxies={}),
    )
    s3.create_bucket(Bucket=OTHERS)


def wanted(**changes: Any) -> dict[str, Any]:
    """An environment of a name that nothing else has."""
    name = f"e-{uuid.uuid4().hex[:8]}"
    table = f'CREATE TABLE "{name}" (id int)'
    plain = {
        "branch": {"remote": "app", "branch": f"env/{name}"},
        "bucket": {"bucket": name},
        "migrate": {"database": "app", "name": name, "up": table, "down": f'DROP TABLE "{name}"'},
        "service": {"cluster": "default", "service": name, "image": "web:1"},
        "notification": {"webhook": "ops", "text": f"{name} is there"},
        "pre_approved": ["chat.notify"],
    }
    return plain | changes


async def run(
    client: Client, application: Application, order: object, workflow_id: str | None = None
) -> Provisioned:
    return await client.execute_workflow(
        ProvisionEnvironment.run,
        cast("Environment", order),  # bad input is what is tried
        id=workflow_id or f"provision-{uuid.uuid4()}",
        task_queue=application.task_queue,
    )


async def failure(
    client: Client, application: Application, order: object, workflow_id: str | None = None
) -> ApplicationError:
    with pytest.raises(WorkflowFailureError) as failed:
        await run(client, application, order, workflow_id)
    assert isinstance(failed.value.cause, ApplicationError)
    return failed.value.cause


async def test_success(client: Client, application: Application) -> None:
    """All five systems have what was asked for, and the result says so."""
    order = Environment.model_validate(wanted())
    made = await run(client, application, order)
    world = application.world()
    assert world.git["app"][f"refs/heads/{order.branch.branch}"] == made.commit
    assert made.bucket in world.buckets
    assert f"public.{made.bucket}" in world.databases["app"].relations
    assert made.deployment in world.clusters["default"].services
    assert any(order.notification.text == message.text for message in world.messages)


@pytest.mark.usefixtures("taken")
@pytest.mark.parametrize("step", FAILURES)
async def test_failure_at(step: str, client: Client, application: Application) -> None:
    """A refusal at any step leaves the world, value by value, as it was, and the report names that step."""
    before = application.world()
    cause = await failure(client, application, Environment.model_validate(wanted(**FAILURES[step])))
    report = SagaReport.model_validate(cause.details[0])
    assert (cause.type, report.failed_at, report.outcome) == ("SagaUndone", step, Outcome.UNDONE)
    assert difference(before, application.world()) == []


async def test_nobody_has_approved(client: Client, application: Application) -> None:
    """The point of no return waits for a person; rejected, the four steps before it are undone."""
    before = application.world()
    name = f"provision-{uuid.uuid4()}"
    ended = asyncio.ensure_future(
        failure(client, application, Environment.model_validate(wanted(pre_approved=[])), name)
    )

    async def rejected() -> bool:
        return application.run("starter.py", "reject", name, "--note", "not today").code == 0

    await until(rejected)
    cause = await ended
    assert cause.type == "SagaUndone"
    assert "not today" in cause.message
    assert difference(before, application.world()) == []


@pytest.mark.parametrize(
    "order",
    [
        {},
        "nonsense",
        wanted(bucket={"bucket": "Not A Bucket"}),
        wanted(service=None),
        wanted(add_column={"database": "app", "table": "a", "column": "b", "type": "int"}),
    ],
    ids=["empty", "text", "bad-name", "no-deployment", "two-schema-changes"],
)
async def test_bad_input(order: object, client: Client, application: Application) -> None:
    """Input that is no environment, from wherever it comes, fails the workflow at once and touches nothing."""
    before = application.world()
    assert (await failure(client, application, order)).type == "ValidationError"
    assert difference(before, application.world()) == []


async def test_column_instead_of_migration(client: Client, application: Application) -> None:
    """The schema change may be a column; a failure after it drops the column again."""
    await run(client, application, Environment.model_validate(wanted(migrate=table("customers"))))
    before = application.world()
    column = {"database": "app", "table": "customers", "column": "plan", "type": "text"}
    order = wanted(migrate=None, add_column=column, **FAILURES["notify#1"])
    cause = await failure(client, application, Environment.model_validate(order))
    assert [step.tool for step in SagaReport.model_validate(cause.details[0]).steps][
        2
    ] == "postgres.add_column"
    assert difference(before, application.world()) == []


def table(name: str) -> dict[str, str]:
    return {
        "database": "app",
        "name": name,
        "up": f"CREATE TABLE {name} (id int)",
        "down": f"DROP TABLE {name}",
    }
