"""AWS and a Docker engine behind the sandbox's gate: what is planned at the sandbox meets their requests too."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from math import ceil
from pathlib import Path

import httpx
from psycopg.conninfo import make_conninfo
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from embedded.ports import LOOPBACK, any_free
from embedded.postgres import SANDBOX_LOGIN
from embedded.sandbox import wire
from embedded.sandbox.faults import Fault
from embedded.sandbox.misbehave import Answer, Misbehaving, Named, Problem
from embedded.sandbox.plans import Plans
from embedded.sandbox.storage import Storage, is_stale

_STATUS = {Fault.REFUSE: 403, Fault.THROTTLED: 429}
_CODES = {
    "s3": ("AccessDenied", "TooManyRequests", "ServiceUnavailable"),
    "ec2": ("UnauthorizedOperation", "RequestLimitExceeded", "Unavailable"),
    "ecs": ("AccessDeniedException", "ThrottlingException", "ServerException"),
}
"""AWS's own words for what is refused, for too many calls, and for everything else."""

_S3_VERBS = {"GET": "get", "HEAD": "get", "PUT": "put", "DELETE": "delete"}
_NOT_PASSED_ON = ("accept-encoding", "date", "content-length", "transfer-encoding", "connection", "expect")
_NOTHING_LISTED = (
    b'<DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><reservationSet/>'
    b"</DescribeInstancesResponse>"
)


@asynccontextmanager
async def fronts(stack: dict[str, str], engine: Path | None) -> AsyncGenerator[dict[str, str]]:
    """The environment of a worker whose requests to S3, EC2, ECS and this engine meet what is planned."""
    stopped = asyncio.Event()
    async with AsyncExitStack() as room:
        storage = await room.enter_async_context(Storage(_sandbox_dsn(stack)))
        aws = _application(await room.enter_async_context(_client(stack["RESCIND_S3_ENDPOINT"])))
        behind: dict[str, tuple[ASGIApp, Named, Problem]] = {
            "RESCIND_S3_ENDPOINT": (aws, _s3_operation, _s3_problem),
            "RESCIND_EC2_ENDPOINT": (aws, _aws_operation, _ec2_problem),
            "RESCIND_ECS_ENDPOINT": (aws, _aws_operation, _ecs_problem),
        }
        if engine:
            docker = _application(await room.enter_async_context(_client("http://engine", engine)))
            behind["RESCIND_DOCKER_HOST"] = (docker, _engine_operation, _engine_problem)
        ports = {variable: any_free() for variable in behind}
        plans = Plans(storage)
        gates: dict[int, ASGIApp] = {
            ports[variable]: Misbehaving(app, plans, named, problem)
            for variable, (app, named, problem) in behind.items()
        }
        serving = asyncio.create_task(wire.serve(gates, LOOPBACK, stopped))
        try:
            for port in gates:
                await _answers(port)
            yield {variable: _address(variable, port) for variable, port in ports.items()}
        finally:
            stopped.set()
            await serving


def _address(variable: str, port: int) -> str:
    return f"{'tcp' if variable == 'RESCIND_DOCKER_HOST' else 'http'}://{LOOPBACK}:{port}"


def _sandbox_dsn(stack: dict[str, str]) -> str:
    return make_conninfo(stack["RESCIND_LEDGER_ADMIN_DSN"], dbname="sandbox", user=SANDBOX_LOGIN)


def _client(upstream: str, socket: Path | None = None) -> httpx.AsyncClient:
    through = httpx.AsyncHTTPTransport(uds=str(socket)) if socket else None
    return httpx.AsyncClient(base_url=upstream, trust_env=False, timeout=30, transport=through)


def _application(client: httpx.AsyncClient) -> Starlette:
    """Everything is passed on as it came; an EC2 that lags behind does not list what was launched just now."""

    async def serve(request: Request) -> Response:
        body = await request.body()
        if is_stale():
            return _ec2_behind(body)
        target = request.scope["raw_path"].decode()
        query = request.scope["query_string"].decode()
        headers = [pair for pair in request.headers.items() if pair[0] not in _NOT_PASSED_ON]
        answer = await client.request(
            request.method, f"{target}?{query}" if query else target, content=body, headers=headers
        )
        kept = {name: value for name, value in answer.headers.items() if name not in _NOT_PASSED_ON}
        return Response(answer.content, answer.status_code, kept)

    return Starlette(routes=[Route("/{path:path}", serve, methods=["GET", "HEAD", "POST", "PUT", "DELETE"])])


def _ec2_behind(body: bytes) -> Response:
    """An instance is not found by its id, and is not in any list."""
    if b"InstanceId.1=" in body:
        return Response(_ec2_error("InvalidInstanceID.NotFound", "The instance ID does not exist"), 400)
    return Response(_NOTHING_LISTED, media_type="text/xml")


def _s3_operation(method: str, _path: str) -> str | None:
    verb = _S3_VERBS.get(method)
    return f"aws.{verb}" if verb else None


def _aws_operation(method: str, _path: str) -> str | None:
    return "aws.ask" if method == "POST" else None


def _engine_operation(method: str, path: str) -> str | None:
    if method == "POST" and path.endswith("/containers/create"):
        return "engine.create"
    return "engine.remove" if method == "DELETE" and re.search(r"/containers/[^/]+$", path) else None


def _s3_problem(fault: Fault, seconds: float) -> Answer:
    error = f"<Error><Code>{_code('s3', fault)}</Code><Message>As planned</Message></Error>"
    return _problem(fault, seconds, "text/xml", error.encode())


def _ec2_problem(fault: Fault, seconds: float) -> Answer:
    return _problem(fault, seconds, "text/xml", _ec2_error(_code("ec2", fault), "As planned"))


def _ecs_problem(fault: Fault, seconds: float) -> Answer:
    error = {"__type": _code("ecs", fault), "message": "As planned"}
    return _problem(fault, seconds, "application/x-amz-json-1.1", json.dumps(error).encode())


def _engine_problem(fault: Fault, seconds: float) -> Answer:
    return _problem(fault, seconds, "application/json", b'{"message": "As planned"}')


def _code(service: str, fault: Fault) -> str:
    refused, throttled, otherwise = _CODES[service]
    return {Fault.REFUSE: refused, Fault.THROTTLED: throttled}.get(fault, otherwise)


def _problem(fault: Fault, seconds: float, kind: str, body: bytes) -> Answer:
    told = [(b"content-type", kind.encode())]
    if fault in (Fault.THROTTLED, Fault.UNAVAILABLE):
        told.append((b"retry-after", str(ceil(seconds)).encode()))
    return Answer(_STATUS.get(fault, 503), told, body)


def _ec2_error(code: str, message: str) -> bytes:
    error = f"<Error><Code>{code}</Code><Message>{message}</Message></Error>"
    return f"<Response><Errors>{error}</Errors><RequestID>FAULT</RequestID></Response>".encode()


async def _answers(port: int) -> None:
    async with asyncio.timeout(10):
        while True:
            try:
                _, writer = await asyncio.open_connection(LOOPBACK, port)
            except OSError:
                await asyncio.sleep(0.02)
            else:
                writer.close()
                await writer.wait_closed()
                return
