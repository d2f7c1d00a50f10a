"""Errors of the clients that speak HTTP: httpx, Stripe's, boto3, the Docker SDK."""

from __future__ import annotations

import asyncio
import traceback
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import boto3
import docker
import httpx
import pytest
import stripe
from botocore.config import Config

from activities._stripe import stripe_client
from tests.docs.errors.sockets import HANG, answering, full, http

Produce = Callable[[], BaseException]


@contextmanager
def at(answer: bytes | str) -> Generator[int]:
    """The port of a server that answers so; `refused` and `full` are ports that nobody serves."""
    if answer == "refused":
        yield 1
    elif answer == "full":
        with full() as port:
            yield port
    else:
        assert isinstance(answer, bytes)
        with answering(answer) as port:
            yield port


def httpx_error(answer: bytes | str, host: str = "127.0.0.1") -> Produce:
    def produce() -> BaseException:
        with at(answer) as port, httpx.Client(timeout=0.5, trust_env=False) as client:
            with pytest.raises(httpx.HTTPError) as caught:
                client.post(f"http://{host}:{port}/bookings", json={}).raise_for_status()
            return caught.value

    return produce


def stripe_error(answer: bytes | str) -> Produce:
    async def ask(port: int) -> None:
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("RESCIND_STRIPE_API_BASE", f"http://127.0.0.1:{port}")
            environment.setenv("RESCIND_STRIPE_API_KEY", "sk_test_x")
            environment.setenv("RESCIND_HTTP_SECONDS", "0.5")
            async with stripe_client() as client:
                await client.v1.customers.create_async({"name": "x"})

    def produce() -> BaseException:
        with at(answer) as port, pytest.raises(stripe.StripeError) as caught:
            asyncio.run(ask(port))
        return caught.value

    return produce


def stripe_says(status: int, kind: str, **headers: str) -> bytes:
    return http(status, f'{{"error": {{"type": "{kind}", "message": "said"}}}}', **headers)


def aws_error(answer: bytes | str, host: str = "127.0.0.1") -> Produce:
    def produce() -> BaseException:
        session: Any = boto3.session.Session()
        config = Config(retries={"total_max_attempts": 1}, connect_timeout=0.5, read_timeout=0.5, proxies={})
        keys = {"aws_access_key_id": "x", "aws_secret_access_key": "y", "region_name": "us-east-1"}
        with at(answer) as port:
            client = session.client("s3", endpoint_url=f"http://{host}:{port}", config=config, **keys)
            with pytest.raises(Exception, match=r".") as caught:
                client.delete_bucket(Bucket="bucket")
        return caught.value

    return produce


def aws_says(status: int, code: str, **headers: str) -> bytes:
    return http(status, f"<Error><Code>{code}</Code><Message>said</Message></Error>", **headers)


def docker_error(answer: bytes | str) -> Produce:
    def produce() -> BaseException:
        with at(answer) as port:
            base = "unix:///nowhere/docker.sock" if answer == "refused" else f"tcp://127.0.0.1:{port}"
            client: Any = docker.APIClient(base_url=base, version="1.43", timeout=0.5)  # type: ignore[arg-type]
            with pytest.raises(Exception, match=r".") as caught:
                client.remove_container("x")
            client.close()
        _let_go(caught.value)
        return caught.value

    return produce


def _let_go(error: BaseException | None) -> None:
    """Close what the frames of a failed call hold: Docker's client leaves its own socket open when refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        while error:
            traceback.clear_frames(error.__traceback__)
            error = error.__context__


def docker_says(status: int) -> bytes:
    return http(status, '{"message": "said"}')


HTTP: dict[str, Produce] = {
    "connection refused": httpx_error("refused"),
    "no such host": httpx_error("refused", "no-such-host.invalid"),
    "connect time-out": httpx_error("full"),
    "connection dropped before an answer": httpx_error(b""),
    "connection dropped in an answer": httpx_error(http(201, "{}")[:-1]),
    "read time-out": httpx_error(HANG),
    "an answer that is no HTTP": httpx_error(b"\x00\xff<<no answer>>\r\n\r\n"),
    **{f"{status}": httpx_error(http(status)) for status in (400, 401, 403, 404, 410, 412, 422)},
    **{f"{status}, Retry-After": httpx_error(http(status, Retry_After="7")) for status in (425, 429, 503)},
    **{f"{status}": httpx_error(http(status)) for status in (303, 408, 409, 500, 502, 504)},
}
STRIPE: dict[str, Produce] = {
    "connection refused": stripe_error("refused"),
    "connection dropped before an answer": stripe_error(b""),
    "read time-out": stripe_error(HANG),
    "400 invalid_request_error": stripe_error(stripe_says(400, "invalid_request_error")),
    "400 idempotency_error": stripe_error(stripe_says(400, "idempotency_error")),
    "401 wrong key": stripe_error(stripe_says(401, "invalid_request_error")),
    "402 card_error": stripe_error(stripe_says(402, "card_error")),
    "404 resource_missing": stripe_error(stripe_says(404, "invalid_request_error")),
    "409 key in use": stripe_error(stripe_says(409, "invalid_request_error")),
    "429, Retry-After": stripe_error(stripe_says(429, "invalid_request_error", Retry_After="7")),
    "500 api_error": stripe_error(stripe_says(500, "api_error")),
}
BOTO3: dict[str, Produce] = {
    "connection refused": aws_error("refused"),
    "no such host": aws_error("refused", "no-such-host.invalid"),
    "connect time-out": aws_error("full"),
    "connection dropped before an answer": aws_error(b""),
    "read time-out": aws_error(HANG),
    "403 AccessDenied": aws_error(aws_says(403, "AccessDenied")),
    "404 NoSuchBucket": aws_error(aws_says(404, "NoSuchBucket")),
    "400 Throttling": aws_error(aws_says(400, "Throttling")),
    "429 TooManyRequestsException": aws_error(aws_says(429, "TooManyRequestsException")),
    "400 RequestTimeout": aws_error(aws_says(400, "RequestTimeout")),
    "409 BucketNotEmpty": aws_error(aws_says(409, "BucketNotEmpty")),
    "500 InternalError": aws_error(aws_says(500, "InternalError")),
    "503 SlowDown": aws_error(aws_says(503, "SlowDown")),
}
DOCKER: dict[str, Produce] = {
    "no socket": docker_error("refused"),
    "connection dropped before an answer": docker_error(b""),
    "read time-out": docker_error(HANG),
    **{f"{status}": docker_error(docker_says(status)) for status in (400, 404, 409, 500)},
}
