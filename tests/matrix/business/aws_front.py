"""S3 and EC2 behind the sandbox's gate: the faults that are planned at the sandbox meet AWS's requests too."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from math import ceil

import httpx
from psycopg.conninfo import make_conninfo
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from embedded.ports import LOOPBACK, any_free
from embedded.postgres import SANDBOX_LOGIN
from embedded.sandbox import wire
from embedded.sandbox.faults import Fault
from embedded.sandbox.misbehave import Answer, Misbehaving
from embedded.sandbox.plans import Plans
from embedded.sandbox.storage import Storage, is_stale

_STATUS = {Fault.REFUSE: 403, Fault.THROTTLED: 429}
_S3_CODES = {Fault.REFUSE: "AccessDenied", Fault.THROTTLED: "TooManyRequests"}
_EC2_CODES = {Fault.REFUSE: "UnauthorizedOperation", Fault.THROTTLED: "RequestLimitExceeded"}
_S3_VERBS = {"GET": "get", "HEAD": "get", "PUT": "put", "DELETE": "delete"}
_NOT_PASSED_ON = ("accept-encoding", "content-length", "transfer-encoding", "connection", "expect")
_NOTHING_LISTED = (
    b'<DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><reservationSet/>'
    b"</DescribeInstancesResponse>"
)


@asynccontextmanager
async def fronts(upstream: str, stack: dict[str, str]) -> AsyncGenerator[dict[str, str]]:
    """The environment of a worker whose requests to S3 and to EC2 meet what is planned at the sandbox."""
    storage = Storage(_sandbox_dsn(stack))
    stopped = asyncio.Event()
    s3, ec2 = any_free(), any_free()
    async with storage, httpx.AsyncClient(base_url=upstream, trust_env=False, timeout=30) as client:
        app, plans = _application(client), Plans(storage)
        gates = {
            s3: Misbehaving(app, plans, _s3_operation, _s3_problem),
            ec2: Misbehaving(
                app, plans, lambda method, _: "aws.ask" if method == "POST" else None, _ec2_problem
            ),
        }
        serving = asyncio.create_task(wire.serve(gates, LOOPBACK, stopped))
        try:
            for port in gates:
                await _answers(port)
            yield {
                "RESCIND_S3_ENDPOINT": f"http://{LOOPBACK}:{s3}",
                "RESCIND_EC2_ENDPOINT": f"http://{LOOPBACK}:{ec2}",
            }
        finally:
            stopped.set()
            await serving


def _sandbox_dsn(stack: dict[str, str]) -> str:
    return make_conninfo(stack["RESCIND_LEDGER_ADMIN_DSN"], dbname="sandbox", user=SANDBOX_LOGIN)


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


def _s3_problem(fault: Fault, seconds: float) -> Answer:
    code = _S3_CODES.get(fault, "ServiceUnavailable")
    return _problem(
        fault, seconds, f"<Error><Code>{code}</Code><Message>As planned</Message></Error>".encode()
    )


def _ec2_problem(fault: Fault, seconds: float) -> Answer:
    return _problem(fault, seconds, _ec2_error(_EC2_CODES.get(fault, "Unavailable"), "As planned"))


def _problem(fault: Fault, seconds: float, body: bytes) -> Answer:
    told = [(b"content-type", b"text/xml")]
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
