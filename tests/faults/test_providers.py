"""The names of operations belong to the calls that the real clients make."""

import asyncio
from collections.abc import Callable
from typing import Any

import docker
import pytest
from docker.errors import APIError

from tests.faults import Fault
from tests.faults.http_proxy import HttpFaults
from tests.faults.one_call import AWS, IMAGE
from tests.faults.providers import DOCKER, EC2, ECS, S3


async def operations(faults: HttpFaults, work: Callable[[], object]) -> list[tuple[str, bool]]:
    """What the provider saw of this work, done in a thread."""
    await faults.clear()
    await asyncio.to_thread(work)
    return [(seen.operation, seen.acted) for seen in faults.calls()]


async def test_every_call_of_a_bucket(servers: dict[str, Any]) -> None:
    """Bucket, tags and objects are told apart, whatever characters the object's key has; reads are not seen."""
    async with HttpFaults(servers["s3"], S3) as faults:
        client = AWS.client("s3", endpoint_url=faults.url)

        def work() -> None:
            client.create_bucket(Bucket="one")
            client.put_bucket_tagging(Bucket="one", Tagging={"TagSet": [{"Key": "k", "Value": "v"}]})
            client.put_object(Bucket="one", Key="a folder/ü?.txt", Body=b"x" * 100_000)
            client.get_object(Bucket="one", Key="a folder/ü?.txt")["Body"].read()
            client.list_objects_v2(Bucket="one")
            client.delete_object(Bucket="one", Key="a folder/ü?.txt")
            client.delete_bucket(Bucket="one")
            client.close()

        seen = await operations(faults, work)
    names = ["create bucket", "tag bucket", "put object", "delete object", "delete bucket"]
    assert seen == [(name, True) for name in names]


async def test_every_call_of_a_service(servers: dict[str, Any]) -> None:
    """ECS tells its calls apart by a header only; reads are not seen."""
    async with HttpFaults(servers["ecs"], ECS) as faults:
        client = AWS.client("ecs", endpoint_url=faults.url)

        def work() -> None:
            client.create_cluster(clusterName="demo")
            family = client.register_task_definition(
                family="web", containerDefinitions=[{"name": "web", "image": "web:1", "memory": 16}]
            )["taskDefinition"]
            revision = f"{family.get('family')}:{family.get('revision')}"
            service = client.create_service(
                cluster="demo", serviceName="web", taskDefinition=revision, desiredCount=1
            )["service"]
            tags = [{"key": "k", "value": "v"}]
            client.tag_resource(resourceArn=str(service.get("serviceArn")), tags=tags)  # type: ignore[arg-type]
            client.update_service(cluster="demo", service="web", desiredCount=0)
            client.describe_services(cluster="demo", services=["web"])
            client.delete_service(cluster="demo", service="web")
            client.deregister_task_definition(taskDefinition=revision)
            client.close()

        seen = await operations(faults, work)
    names = ["register", "create service", "tag", "update service", "delete service", "deregister"]
    assert seen == [(name, True) for name in names]


async def test_every_call_of_a_machine(servers: dict[str, Any]) -> None:
    """EC2 tells its calls apart by a form only; reads are not seen."""
    async with HttpFaults(servers["ecs"], EC2) as faults:
        client = AWS.client("ec2", endpoint_url=faults.url)

        def work() -> None:
            image = client.describe_images(Owners=["amazon"])["Images"][0].get("ImageId", "")
            launched = client.run_instances(ImageId=image, MinCount=1, MaxCount=1)["Instances"][0]
            client.describe_instances()
            client.terminate_instances(InstanceIds=[launched.get("InstanceId", "")])
            client.close()

        assert await operations(faults, work) == [("launch", True), ("terminate", True)]


@pytest.mark.docker
async def test_every_call_of_a_container(servers: dict[str, Any]) -> None:
    """The engine's calls are told apart; a start that the engine refuses is seen as one that did not act."""
    async with HttpFaults(servers["docker"], DOCKER) as faults:

        def work() -> None:
            client = docker.DockerClient(base_url=faults.url.replace("http", "tcp"))
            container = client.containers.create(IMAGE, "no-such-program", name="before")
            container.rename("after")
            with pytest.raises(APIError):
                container.start()
            container.remove(force=True)
            client.close()

        seen = await operations(faults, work)
    assert seen == [("create", True), ("rename", True), ("start", False), ("remove", True)]


async def test_between_the_two_calls_of_one_step(servers: dict[str, Any]) -> None:
    """The gate can be put between the creation of a bucket and its tags, where a kill leaves half a step."""
    async with HttpFaults(servers["s3"], S3) as faults:
        client = AWS.client("s3", endpoint_url=faults.url)

        def work() -> None:
            client.create_bucket(Bucket="half")
            client.put_bucket_tagging(Bucket="half", Tagging={"TagSet": [{"Key": "k", "Value": "v"}]})

        await faults.plan("tag bucket", [Fault.HOLD])
        working = asyncio.ensure_future(asyncio.to_thread(work))
        await faults.held()
        assert [(seen.operation, seen.acted) for seen in faults.calls()] == [
            ("create bucket", True),
            ("tag bucket", False),
        ]
        await faults.release()
        await working
        await asyncio.to_thread(client.delete_bucket, Bucket="half")
        client.close()
