"""AWS clients for one attempt: no retries of their own, time-outs that fit into it, no proxy on loopback."""

from __future__ import annotations

import functools
import ipaddress
import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from activities.settings import settings
from rescind import time_left
from rescind.evidence import UNKNOWN, NothingHappened
from rescind.evidence.aws import proves

if TYPE_CHECKING:
    from mypy_boto3_ec2.client import EC2Client
    from mypy_boto3_ecs.client import ECSClient
    from mypy_boto3_s3.client import S3Client

CONNECT_SECONDS = 2.0
READ_SECONDS = 4.0
REQUEST_SECONDS = CONNECT_SECONDS + READ_SECONDS
"""The longest that one request may take."""

_DEFAULT_REGION = "us-east-1"
_CONNECTIONS = 32
"""Requests that may be under way at once; more than a worker's threads by default would need."""


def s3_client() -> S3Client:
    """The client for the S3 endpoint of the settings; safe to use from several threads."""
    client: S3Client = _client("s3", settings().s3_endpoint, _environment())
    return client


def ecs_client() -> ECSClient:
    """The client for the ECS endpoint of the settings; safe to use from several threads."""
    client: ECSClient = _client("ecs", settings().ecs_endpoint, _environment())
    return client


def ec2_client() -> EC2Client:
    """The client for the EC2 endpoint of the settings; safe to use from several threads."""
    client: EC2Client = _client("ec2", settings().ec2_endpoint, _environment())
    return client


@functools.lru_cache(maxsize=16)
def _client(service: Literal["s3", "ecs", "ec2"], endpoint: str | None, _: frozenset[tuple[str, str]]) -> Any:
    """A client is dear to make (0.1 s and more), so it is kept for as long as endpoint and environment are the same."""
    session = boto3.session.Session()  # not the default one, which is not safe to share between threads
    region = session.region_name or _DEFAULT_REGION
    return session.client(service, endpoint_url=endpoint, region_name=region, config=_config(endpoint))


def _config(endpoint: str | None) -> Config:
    options: dict[str, Any] = {}
    if endpoint:
        # Checksums in trailers, the default towards AWS, are not understood by every S3 server.
        options |= {
            "request_checksum_calculation": "when_required",
            "response_checksum_validation": "when_required",
        }
    if endpoint and _is_loopback(urlsplit(endpoint).hostname or ""):
        options["proxies"] = {}
    return Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        retries={"total_max_attempts": 1},
        s3={"addressing_style": "path"} if endpoint else {},
        max_pool_connections=_CONNECTIONS,
        user_agent_extra="rescind",
        **options,
    )


def _environment() -> frozenset[tuple[str, str]]:
    return frozenset((name, value) for name, value in os.environ.items() if name.startswith(("AWS_", "HOME")))


def enough_time() -> None:
    """Returns if a request that is sent now is answered, or given up, within the attempt.

    Raises:
        NothingHappened: There is not enough time left; the request must not be sent.
    """
    if time_left() < REQUEST_SECONDS:
        raise NothingHappened(
            f"less than {REQUEST_SECONDS:g} s of the attempt were left when its request was to be sent. Nothing was "
            "sent"
        )


@contextmanager
def before_writing() -> Generator[None, None, None]:
    """While the attempt only reads, no failure of it can have changed anything."""
    try:
        yield
    except (BotoCoreError, ClientError) as error:
        evidence = proves(error) or UNKNOWN
        if evidence.nothing_happened:
            raise
        raise NothingHappened(f"{error}. Nothing was written", retry_after=evidence.retry_after) from error


def headers_of(error: ClientError) -> dict[str, str]:
    """The headers of the answer, with lower-case names."""
    return error.response.get("ResponseMetadata", {}).get("HTTPHeaders", {})


def code_of(error: ClientError) -> str:
    """AWS's own code; to a HEAD it answers with a bare status, whose digits are the code then."""
    return str(error.response.get("Error", {}).get("Code", ""))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
