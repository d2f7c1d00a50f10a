"""Stripe's HTTP interface in front of localstripe: idempotency keys, and a journal that survives a restart."""

import asyncio
import hashlib
import json
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from psycopg.rows import DictRow
from psycopg.types.json import Jsonb
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from embedded.sandbox.faults import Fault
from embedded.sandbox.misbehave import Answer, Misbehaving
from embedded.sandbox.operations import stripe_operation
from embedded.sandbox.plans import Plans
from embedded.sandbox.storage import Connection, Storage, find, find_all, is_stale, put
from embedded.stripe._localstripe import Change, Localstripe, localstripe

SYSTEM = "stripe"
KEPT_HOURS = 24  # docs.stripe.com/api/idempotent_requests: keys can be removed after they are 24 hours old
DUMP_EVERY = 500  # changes, after which a start has no more than these to repeat
NEVER_EXECUTED = (400, 401, 404, 405)  # Stripe keeps no answer under the key for these
PASSED_ON = ("authorization", "content-type")


@dataclass(frozen=True)
class Asked:
    """One request that changes something."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    key: str | None

    def digest(self) -> str:
        """Equal for equal requests, whatever the order of their parameters."""
        fields = sorted(parse_qsl(self.body.decode(errors="replace"), keep_blank_values=True))
        return hashlib.sha256(json.dumps([self.method, self.target, fields]).encode()).hexdigest()


class Front:
    """One Stripe account; changes come one at a time, and each is in the database before it is answered."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._changing = asyncio.Lock()
        self._stripe: Localstripe | None = None

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[None]:
        """Inside the block it has all that it had."""
        async with localstripe() as self._stripe:
            await self._restore()
            yield

    async def serve(self, request: Request) -> Response:
        """Answers one request as Stripe does."""
        headers = {name: value for name, value in request.headers.items() if name in PASSED_ON}
        target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        if request.method == "GET":
            return await self._read(target, headers)
        key = request.headers.get("idempotency-key") if request.method == "POST" else None
        asked = Asked(request.method, target, headers, await request.body(), key)
        async with self._changing:
            try:
                async with self._storage.transaction() as connection:
                    return await self._change(connection, asked)
            except BaseException:
                await asyncio.shield(
                    self._restore()
                )  # localstripe may have done what the database does not know
                raise

    async def _read(self, target: str, headers: dict[str, str]) -> Response:
        if is_stale() and (found := await self._as_it_was(target)):
            return found
        return response(*await self._local.ask("GET", target, headers, b""))

    async def _change(self, connection: Connection, asked: Asked) -> Response:
        if asked.key and (before := await self._before(connection, asked.key, asked.digest())):
            return before
        cursor = await connection.execute("select nextval('stripe_journal_number_seq') as number")
        row = await cursor.fetchone()
        number, at = int(row["number"]) if row else 0, time.time()
        change = Change(number, at, asked.method, asked.target, asked.headers, asked.body)
        status, body = await self._local.change(change)
        if status != 401:
            await connection.execute(
                "insert into stripe_journal (number, at, method, target, headers, body) "
                "overriding system value values (%s, %s, %s, %s, %s, %s)",
                (number, at, asked.method, asked.target, Jsonb(asked.headers), asked.body),
            )
        if status not in NEVER_EXECUTED:
            await self._keep_version(connection, asked, body)
            if asked.key:
                await connection.execute(
                    "insert into idempotency (system, key, digest, answer) values (%s, %s, %s, %s)",
                    (SYSTEM, asked.key, asked.digest(), Jsonb({"status": status, "body": body.decode()})),
                )
        if number % DUMP_EVERY == 0:
            await self._dump(connection, number)
        return response(status, body)

    async def _before(self, connection: Connection, key: str, digest: str) -> Response | None:
        """What was answered to this key within the last 24 hours; an error if the request was another one."""
        await connection.execute(
            "delete from idempotency where system = %s and at < clock_timestamp() - make_interval(hours => %s)",
            (SYSTEM, KEPT_HOURS),
        )
        cursor = await connection.execute(
            "select digest, answer from idempotency where (system, key) = (%s, %s)", (SYSTEM, key)
        )
        row = await cursor.fetchone()
        if row is None:
            return None
        if row["digest"] != digest:
            return response(
                400,
                error(
                    "idempotency_error",
                    "Keys for idempotent requests can only be used with the "
                    f"same parameters they were first used with. The key was {key!r}.",
                ),
            )
        before = response(row["answer"]["status"], row["answer"]["body"].encode())
        before.headers["Idempotent-Replayed"] = "true"
        return before

    async def _keep_version(self, connection: Connection, asked: Asked, body: bytes) -> None:
        """Writes down what the invoice that was changed is now, for stale reads."""
        said = json.loads(body)
        thing = said.get("id", "") if said.get("object") == "invoice" else said.get("invoice")
        if not isinstance(thing, str) or not thing.startswith("in_"):
            return
        if said.get("deleted"):
            state = {"deleted": True}
        else:
            _, now = await self._local.ask("GET", f"/v1/invoices/{thing}", asked.headers, b"")
            state = json.loads(now)
        await put(connection, SYSTEM, thing, state)

    async def _as_it_was(self, target: str) -> Response | None:
        """A stale answer for one invoice or a list of them; None for other targets, which are never stale."""
        parts = urlsplit(target)
        if parts.path == "/v1/invoices":
            told = dict(parse_qsl(parts.query))
            every = [one for one in await find_all(self._storage, SYSTEM) if not one.get("deleted")]
            every.sort(key=lambda one: int(one["created"]), reverse=True)
            data = [one for one in every if told.get("customer") in (None, one["customer"])]
            page = {"object": "list", "url": parts.path, "has_more": False, "data": data}
            return response(200, json.dumps(page).encode())
        if stripe_operation("GET", parts.path) != "stripe.get_invoice":
            return None
        found = await find(self._storage, SYSTEM, name=parts.path.rpartition("/")[2])
        if found is None or found["state"].get("deleted"):
            return response(404, error("invalid_request_error", "No such invoice"))
        return response(200, json.dumps(found["state"]).encode())

    async def _restore(self) -> None:
        """Localstripe has what the database knows, and nothing else."""
        dumps = await self._storage.rows("select number, content from stripe_dump")
        number, content = (dumps[0]["number"], bytes(dumps[0]["content"])) if dumps else (0, None)
        self._local.load(content)
        changes = await self._storage.rows(
            "select number, at, method, target, headers, body from stripe_journal where number > %s order by number",
            number,
        )
        for row in changes:
            await self._local.change(change_of(row))

    async def _dump(self, connection: Connection, number: int) -> None:
        await connection.execute("delete from stripe_dump")
        await connection.execute("insert into stripe_dump values (%s, %s)", (number, self._local.dump()))
        await connection.execute("delete from stripe_journal where number <= %s", (number,))

    @property
    def _local(self) -> Localstripe:
        assert self._stripe is not None  # noqa: S101 - requests come only while it is open
        return self._stripe


def application(dsn: str) -> ASGIApp:
    """The ASGI application that keeps its state in this database, which it waits for when it starts."""
    storage = Storage(dsn, most=8)
    front = Front(storage)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncGenerator[None]:
        async with storage, front.open():
            yield

    async def health(_request: Request) -> Response:
        await storage.rows("select 1")
        return Response(b'{"status": "ok"}', media_type="application/json")

    routes = [Route("/health", health), Route("/{path:path}", front.serve, methods=["GET", "POST", "DELETE"])]
    return Misbehaving(Starlette(routes=routes, lifespan=lifespan), Plans(storage), stripe_operation, problem)


def change_of(row: DictRow) -> Change:
    """A change as it was written down."""
    plain = (row["number"], row["at"], row["method"], row["target"], row["headers"])
    return Change(*plain, body=bytes(row["body"]))


def response(status: int, body: bytes) -> Response:
    """An answer in Stripe's form; localstripe leaves out the code of what is not there."""
    if status == 404:
        body = error(
            "invalid_request_error", json.loads(body)["error"].get("message", ""), "resource_missing"
        )
    return Response(body, status, media_type="application/json")


def error(kind: str, message: str, code: str | None = None) -> bytes:
    """The body of an error of Stripe's."""
    return json.dumps(
        {"error": {"type": kind, "message": message, **({"code": code} if code else {})}}
    ).encode()


def problem(fault: Fault, seconds: float) -> Answer:
    """How Stripe words the errors that it is told to give."""
    told = [(b"content-type", b"application/json")]
    wait = (b"retry-after", str(max(1, round(seconds))).encode())
    match fault:
        case Fault.REFUSE:
            return Answer(
                403, told, error("invalid_request_error", "The key may not do this. Nothing was done.")
            )
        case Fault.THROTTLED:
            body = error("invalid_request_error", "Too many requests. Nothing was done.", "rate_limit")
            return Answer(429, [*told, wait], body)
        case Fault.UNAVAILABLE:
            return Answer(503, [*told, wait], error("api_error", "Try again later."))
        case _:
            return Answer(503, told, error("api_error", "Something went wrong on our side."))
