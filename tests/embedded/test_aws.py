"""S3 and ECS come back after a kill as they were."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto.moto_api._internal.models import moto_api_backend
from moto.moto_server.werkzeug_app import MotoRequestHandler
from werkzeug.serving import make_server

from embedded.aws import Remembering

SESSION = boto3.Session(aws_access_key_id="x", aws_secret_access_key="x", region_name="us-east-1")


@contextmanager
def served(path: Path) -> Generator[tuple[Any, Any]]:
    """Clients of S3 and ECS on a server that forgets all but what `path` holds."""
    moto_api_backend.reset()
    server = make_server("127.0.0.1", 0, Remembering(path), threaded=True, request_handler=MotoRequestHandler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield SESSION.client("s3", endpoint_url=url), SESSION.client("ecs", endpoint_url=url)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def deployment_ids(ecs: Any) -> list[str]:
    """The ids that ECS has made up for the service's deployments."""
    (service,) = ecs.describe_services(cluster="c", services=["web"])["services"]
    assert service["desiredCount"] == 2
    return [deployment["id"] for deployment in service["deployments"]]


def test_a_restart(tmp_path: Path) -> None:
    """Objects, versions and generated ids are the same; a failed request and a torn line leave nothing."""
    path = tmp_path / "aws.jsonl"
    with served(path) as (s3, ecs):
        s3.create_bucket(Bucket="kept")
        s3.put_bucket_versioning(Bucket="kept", VersioningConfiguration={"Status": "Enabled"})
        first = s3.put_object(Bucket="kept", Key="a/b c/ü?", Body=b"\x00\xff")["VersionId"]
        second = s3.put_object(Bucket="kept", Key="a/b c/ü?", Body=b"two", Metadata={"by": "me"})["VersionId"]
        s3.create_bucket(Bucket="gone")
        s3.delete_bucket(Bucket="gone")
        with pytest.raises(ClientError):
            s3.put_object(Bucket="never", Key="x", Body=b"")
        ecs.create_cluster(clusterName="c")
        containers = [{"name": "web", "image": "web:1", "memory": 64}]
        ecs.register_task_definition(family="web", containerDefinitions=containers)
        ecs.create_service(cluster="c", serviceName="web", taskDefinition="web", desiredCount=1)
        ecs.update_service(cluster="c", service="web", desiredCount=2)
        deployments = deployment_ids(ecs)
    with path.open("a") as file:
        file.write('{"seed": 99, "envi')
    with served(path) as (s3, ecs):
        assert [bucket["Name"] for bucket in s3.list_buckets()["Buckets"]] == ["kept"]
        versions = s3.list_object_versions(Bucket="kept")["Versions"]
        assert [version["VersionId"] for version in versions] == [second, first]
        old = s3.get_object(Bucket="kept", Key="a/b c/ü?", VersionId=first)["Body"].read()
        new = s3.get_object(Bucket="kept", Key="a/b c/ü?")
        assert (old, new["Body"].read(), new["Metadata"]) == (b"\x00\xff", b"two", {"by": "me"})
        assert deployment_ids(ecs) == deployments
        s3.create_bucket(Bucket="later")
    with served(path) as (s3, _):
        assert {bucket["Name"] for bucket in s3.list_buckets()["Buckets"]} == {"kept", "later"}


def test_many_at_once(tmp_path: Path) -> None:
    """Concurrent changes are all kept, in the order in which they took effect."""
    path = tmp_path / "aws.jsonl"
    with served(path) as (s3, _):
        s3.create_bucket(Bucket="kept")

        def write(number: int) -> None:
            for _ in range(5):
                s3.put_object(Bucket="kept", Key="one", Body=str(number).encode())

        writers = [threading.Thread(target=write, args=(number,)) for number in range(8)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        last = s3.get_object(Bucket="kept", Key="one")["Body"].read()
    with served(path) as (s3, _):
        assert s3.get_object(Bucket="kept", Key="one")["Body"].read() == last


def test_a_service_that_is_there_and_a_retired_revision(tmp_path: Path) -> None:
    """Both are refused as ECS refuses them, so that a late create can't replace what runs."""
    containers = [{"name": "web", "image": "web:1", "memory": 64}]
    with served(tmp_path / "aws.jsonl") as (_, ecs):
        ecs.register_task_definition(family="web", containerDefinitions=containers)
        ecs.create_service(serviceName="web", taskDefinition="web:1", desiredCount=1)
        with pytest.raises(ClientError, match="not idempotent"):
            ecs.create_service(serviceName="web", taskDefinition="web:1", desiredCount=1)
        ecs.delete_service(service="web", force=True)
        ecs.deregister_task_definition(taskDefinition="web:1")
        with pytest.raises(ClientError, match="inactive"):
            ecs.create_service(serviceName="web", taskDefinition="web:1", desiredCount=1)


def test_a_launch_with_a_client_token(tmp_path: Path) -> None:
    """It launches once, as on EC2, also after a restart; an unknown image is refused; reads are not written down."""
    path = tmp_path / "aws.jsonl"
    launched: list[str] = []
    for _ in range(2):
        with served(path) as (s3, _):
            ec2: Any = SESSION.client("ec2", endpoint_url=s3.meta.endpoint_url)
            image = ec2.describe_images(Owners=["amazon"])["Images"][0]["ImageId"]
            for token in ("one", "one", "two"):
                answer = ec2.run_instances(ImageId=image, MinCount=1, MaxCount=1, ClientToken=token)
                launched.append(answer["Instances"][0]["InstanceId"])
            with pytest.raises(ClientError, match="InvalidAMIID"):
                ec2.run_instances(ImageId="ami-00000000", MinCount=1, MaxCount=1)
    assert launched[:3] == launched[3:]
    assert (launched[0], len(set(launched))) == (launched[1], 2)
    assert path.read_text().count("\n") == 6
