"""The ECS tool against a server that speaks ECS's API: a complete deployment, or everything as it was."""

import socket
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.config import Config

from activities._deployment import Before
from activities.ecs import (
    DeployedService,
    DeployService,
    deploy_service,
    find_service,
    restore_service,
)
from rescind import Absent, Applied, Call, Grade, Receipt, Unknown
from rescind.evidence import Conflict, NothingHappened, Refused
from tests.activities.attempts import Remembering

if TYPE_CHECKING:
    from mypy_boto3_ecs.client import ECSClient


@pytest.fixture
def ecs(moto_url: str, aws: None, monkeypatch: pytest.MonkeyPatch) -> Iterator["ECSClient"]:
    """The provider's own client, with a cluster `test` in which new tasks run at once."""
    monkeypatch.setenv("RESCIND_ECS_ENDPOINT", moto_url)
    monkeypatch.setenv(
        "MOTO_ECS_SERVICE_RUNNING", "1"
    )  # how many tasks of a new service moto says are running
    client = boto3.session.Session().client("ecs", endpoint_url=moto_url, config=Config(proxies={}))
    client.create_cluster(clusterName="test")
    yield client
    for arn in client.list_services(cluster="test")["serviceArns"]:
        client.delete_service(cluster="test", service=arn, force=True)


@pytest.fixture
def service() -> str:
    """A name that no other test uses."""
    return f"web-{uuid.uuid4().hex}"


def wanted(service: str, version: str = "1", **changes: Any) -> Call[DeployService]:
    plain = {
        "cluster": "test",
        "service": service,
        "image": f"web:{version}",
        "environment": {"VERSION": version},
    }
    key = f"rsc-{version}-{service[-20:]}"
    return Call(request=DeployService.model_validate(plain | changes), key=key, undo_key=f"{key}-u")


def receipt(call: Call[DeployService], result: DeployedService) -> Receipt[DeployService, DeployedService]:
    return Receipt(call=call, result=result)


def snapshot(ecs: "ECSClient", service: str) -> dict[str, Any]:
    """The service with its tags and all active task definitions of its family."""
    found = ecs.describe_services(cluster="test", services=[service], include=["TAGS"])["services"]
    kept = ("taskDefinition", "desiredCount", "tags", "launchType", "status")
    return {
        "services": [
            {name: each.get(name) for name in kept} for each in found if each.get("status") != "INACTIVE"
        ],
        "definitions": ecs.list_task_definitions(familyPrefix=service, status="ACTIVE")["taskDefinitionArns"],
    }


async def test_a_new_service(ecs: "ECSClient", service: str) -> None:
    """It runs the image, is found, is deployed once for two calls, and its undo deletes it."""
    before, attempts, call = snapshot(ecs, service), Remembering(), wanted(service)
    result = await attempts.run(deploy_service, call, seconds=30)
    after = snapshot(ecs, service)
    assert after["services"][0]["taskDefinition"] == result.task_definition
    assert await attempts.run(deploy_service, call, seconds=30) == result
    assert snapshot(ecs, service) == after
    assert await attempts.run(find_service, call, seconds=30) == Applied[DeployedService](result=result)
    undone = await attempts.run(restore_service, receipt(call, result), seconds=30)
    assert (undone.grade, undone.detail) == (Grade.EQUIVALENT, f"{service}:1 stays listed as INACTIVE")
    assert snapshot(ecs, service) == before
    assert (await attempts.run(restore_service, receipt(call, result), seconds=30)).grade is Grade.NOTHING
    assert await attempts.run(find_service, call, seconds=30) == Absent()


async def test_a_new_revision(ecs: "ECSClient", service: str) -> None:
    """It replaces the first in the same service, and its undo lets the service run the first again."""
    await Remembering().run(deploy_service, wanted(service), seconds=30)
    before, attempts, call = snapshot(ecs, service), Remembering(), wanted(service, "2")
    result = await attempts.run(deploy_service, call, seconds=30)
    assert snapshot(ecs, service)["services"][0]["taskDefinition"] == result.task_definition
    assert await attempts.run(deploy_service, call, seconds=30) == result
    assert await attempts.run(find_service, call, seconds=30) == Applied[DeployedService](result=result)
    await attempts.run(restore_service, receipt(call, result), seconds=30)
    assert snapshot(ecs, service) == before
    assert (await attempts.run(restore_service, receipt(call, result), seconds=30)).grade is Grade.NOTHING
    assert snapshot(ecs, service) == before


async def test_a_deployment_that_is_never_complete(
    ecs: "ECSClient", service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After its limit it is refused and taken back; before it, a later attempt goes on waiting."""
    monkeypatch.setenv("MOTO_ECS_SERVICE_RUNNING", "0")
    before, attempts = snapshot(ecs, service), Remembering()
    with pytest.raises(Refused, match="was not healthy after"):
        await attempts.run(deploy_service, wanted(service, healthy_within=0.2), seconds=30)
    assert snapshot(ecs, service) == before
    slow = Remembering()
    with pytest.raises(Exception, match="not complete yet"):
        await slow.run(deploy_service, wanted(service, "2"), seconds=9)
    assert len(snapshot(ecs, service)["services"]) == 1
    with pytest.raises(Exception, match="not complete yet"):
        await slow.run(find_service, wanted(service, "2"), seconds=8)
    with pytest.raises(Refused, match="was not healthy after"):
        await slow.run(find_service, wanted(service, "2", healthy_within=0.1), seconds=30)
    assert snapshot(ecs, service) == before
    assert await slow.run(find_service, wanted(service, "2"), seconds=30) == Absent()


async def test_there_is_no_such_cluster(ecs: "ECSClient", service: str) -> None:
    """The call is refused before anything is registered."""
    before = snapshot(ecs, service)
    with pytest.raises(Exception, match="Cluster not found"):
        await Remembering().run(deploy_service, wanted(service, cluster="nowhere"), seconds=30)
    assert snapshot(ecs, service) == before


async def test_a_service_that_somebody_deployed_since(ecs: "ECSClient", service: str) -> None:
    """The undo is a conflict, and what they deployed goes on running."""
    await Remembering().run(deploy_service, wanted(service), seconds=30)
    attempts, call = Remembering(), wanted(service, "2")
    result = await attempts.run(deploy_service, call, seconds=30)
    await Remembering().run(deploy_service, wanted(service, "3"), seconds=30)
    after = snapshot(ecs, service)
    with pytest.raises(Conflict, match="deployed by somebody since"):
        await attempts.run(restore_service, receipt(call, result), seconds=30)
    assert snapshot(ecs, service) == after


async def test_a_service_that_somebody_deployed_to_or_scaled(ecs: "ECSClient", service: str) -> None:
    """The service that the step made is not deleted."""
    attempts, call = Remembering(), wanted(service)
    result = await attempts.run(deploy_service, call, seconds=30)
    ecs.update_service(cluster="test", service=service, desiredCount=3)
    after = snapshot(ecs, service)
    with pytest.raises(Conflict, match="scaled to 3"):
        await attempts.run(restore_service, receipt(call, result), seconds=30)
    assert snapshot(ecs, service) == after
    await Remembering().run(deploy_service, wanted(service, "2"), seconds=30)
    after = snapshot(ecs, service)
    assert isinstance(await attempts.run(find_service, call, seconds=30), Unknown)
    with pytest.raises(Conflict, match="deployed by somebody since"):
        await attempts.run(restore_service, receipt(call, result), seconds=30)
    assert snapshot(ecs, service) == after


async def test_the_previous_definition_was_retired_since(ecs: "ECSClient", service: str) -> None:
    """The undo is a conflict, and the new revision goes on running."""
    first = await Remembering().run(deploy_service, wanted(service), seconds=30)
    attempts, call = Remembering(), wanted(service, "2")
    result = await attempts.run(deploy_service, call, seconds=30)
    ecs.deregister_task_definition(taskDefinition=first.task_definition)
    after = snapshot(ecs, service)
    with pytest.raises(Conflict, match="was retired since"):
        await attempts.run(restore_service, receipt(call, result), seconds=30)
    assert snapshot(ecs, service) == after


async def test_undoing_a_deployment_that_never_was(ecs: "ECSClient", service: str) -> None:
    """Nothing is undone, although the service is there."""
    await Remembering().run(deploy_service, wanted(service), seconds=30)
    before, call = snapshot(ecs, service), wanted(service, "2")
    never = DeployedService(
        service=service, task_definition=f"arn:aws:ecs::task-definition/{service}:9", previous=None
    )
    undone = await Remembering().run(restore_service, receipt(call, never), seconds=30)
    assert undone.grade is Grade.NOTHING
    assert snapshot(ecs, service) == before


async def test_the_service_was_deleted_by_hand(ecs: "ECSClient", service: str) -> None:
    """The undo retires the task definition, and there is nothing else to do."""
    before, attempts, call = snapshot(ecs, service), Remembering(), wanted(service)
    result = await attempts.run(deploy_service, call, seconds=30)
    ecs.delete_service(cluster="test", service=service, force=True)
    await attempts.run(restore_service, receipt(call, result), seconds=30)
    assert snapshot(ecs, service) == before


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("point", ["registered", "deployed"])
async def test_an_attempt_that_ended_half_way(
    ecs: "ECSClient", service: str, point: str, *, there: bool
) -> None:
    """The lookup takes a registration back and finds a deployment; another attempt completes either."""
    previous = None
    if there:
        previous = (await Remembering().run(deploy_service, wanted(service), seconds=30)).task_definition
    before, call = snapshot(ecs, service), wanted(service, "2")
    attempts = Remembering()
    attempts.image = Before(previous=previous).model_dump()

    def half_way() -> str:
        tags: Any = [{"key": "rescind:key", "value": call.key}]
        containers: Any = [{"name": "web", "image": "web:2", "memory": 64}]
        made = ecs.register_task_definition(family=service, containerDefinitions=containers, tags=tags)
        arn = made["taskDefinition"].get("taskDefinitionArn", "")
        if point == "deployed" and there:
            ecs.update_service(cluster="test", service=service, taskDefinition=arn)
        elif point == "deployed":
            ecs.create_service(
                cluster="test",
                serviceName=service,
                taskDefinition=arn,
                desiredCount=1,
                launchType="EC2",
                tags=tags,
            )
        return arn

    arn = half_way()
    found = await attempts.run(find_service, call, seconds=30)
    if point == "registered":
        assert found == Absent()
        assert snapshot(ecs, service) == before
        arn = half_way()
    result = await attempts.run(deploy_service, call, seconds=30)
    assert (result.task_definition, result.previous) == (arn, previous)
    await attempts.run(restore_service, receipt(call, result), seconds=30)
    assert snapshot(ecs, service) == before


async def test_nobody_listens(ecs: "ECSClient", service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing happened."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    monkeypatch.setenv("RESCIND_ECS_ENDPOINT", f"http://127.0.0.1:{port}")
    with pytest.raises(Exception, match="Could not connect"):
        await Remembering().run(deploy_service, wanted(service), seconds=30)


async def test_no_time_is_left(ecs: "ECSClient", service: str) -> None:
    """Nothing is sent that could not be answered within the attempt."""
    before = snapshot(ecs, service)
    with pytest.raises(NothingHappened):
        await Remembering().run(deploy_service, wanted(service), seconds=3)
    assert snapshot(ecs, service) == before
