"""An S3 server for the tests of the tools."""

import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING

import boto3
import pytest
from botocore.config import Config
from moto.server import ThreadedMotoServer

from tests.activities.docker_world import client, docker_host
from tests.activities.postgres_world import database, server
from tests.activities.sandbox_world import sandbox

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

__all__ = ["client", "database", "docker_host", "sandbox", "server"]


@pytest.fixture(scope="session")
def moto_url() -> Iterator[str]:
    """A server of S3 and the other services of AWS, in memory."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def aws(moto_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker's environment points at the server."""
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {
        "AWS_ACCESS_KEY_ID": "stand-in",
        "AWS_SECRET_ACCESS_KEY": "stand-in",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "RESCIND_S3_ENDPOINT": moto_url,
        "HTTP_PROXY": "http://127.0.0.1:1",
    }.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="session")
def outside(moto_url: str) -> "S3Client":
    """The provider's own client, by which the tests look at the world and change it."""
    return boto3.session.Session().client(
        "s3",
        endpoint_url=moto_url,
        region_name="us-east-1",
        aws_access_key_id="other",
        aws_secret_access_key="other",
        config=Config(proxies={}, s3={"addressing_style": "path"}),
    )


@pytest.fixture
def bucket_name() -> str:
    """A name that no other test uses."""
    return f"b-{uuid.uuid4().hex}"
