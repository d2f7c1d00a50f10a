"""The gate in front of a provider's HTTP interface, at which each call meets the fault that was planned for it."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from embedded.sandbox import wire
from embedded.sandbox.faults import BALLAST, HEADER, Fault, Meeting, told
from embedded.sandbox.plans import Plans
from embedded.sandbox.storage import seen_as_of

MOST = 1_000_000  # bytes of a request's body

Named = Callable[[str, str], str | None]
"""The operation that a method and a path stand for; None for what never misbehaves."""


@dataclass
class Answer:
    """A whole response."""

    status: int = 0
    headers: list[tuple[bytes, bytes]] = field(default_factory=list[tuple[bytes, bytes]])
    body: bytes = b""

    async def collect(self, message: Message) -> None:
        """Takes the response in as an application sends it."""
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], list(message.get("headers", []))
        else:
            self.body += message.get("body", b"")

    async def give(self, send: Send) -> None:
        """Sends it; its length is told anew."""
        kept = [(name, value) for name, value in self.headers if name.lower() != b"content-length"]
        length = (b"content-length", str(len(self.body)).encode())
        await send({"type": "http.response.start", "status": self.status, "headers": [*kept, length]})
        await send({"type": "http.response.body", "body": self.body})


def problem(status: int, code: str, message: str, **headers: str) -> Answer:
    """An error as every endpoint of the sandbox gives it."""
    body = json.dumps({"detail": {"code": code, "message": message}}).encode()
    told = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Answer(status, [(b"content-type", b"application/json"), *told], body)


Problem = Callable[[Fault, float], Answer]


def sandbox_problem(fault: Fault, seconds: float) -> Answer:
    """How the sandbox's own providers word the errors that they are told to give."""
    match fault:
        case Fault.REFUSE:
            return problem(403, "refused", "The provider refuses this call. Nothing was done.")
        case Fault.THROTTLED:
            return problem(
                429, "throttled", "Too many calls. Nothing was done.", retry_after=str(ceil(seconds))
            )
        case Fault.UNAVAILABLE:
            return problem(503, "unavailable", "Try again later.", retry_after=str(ceil(seconds)))
        case _:
            return problem(503, "unavailable", "Something went wrong on our side.")


class Misbehaving:
    """An ASGI application in front of another one, which it lets act, fail, hang or come too late."""

    def __init__(
        self, inner: ASGIApp, plans: Plans, named: Named, problem: Problem = sandbox_problem
    ) -> None:
        self._inner = inner
        self._plans = plans
        self._named = named
        self._problem = problem

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one call; a call without a fault is passed on as it came."""
        operation = self._named(scope["method"], scope["path"]) if scope["type"] == "http" else None
        if operation is None:
            await self._inner(scope, receive, send)
            return
        body = await read(receive)
        if body is None:
            return  # the client went before its request was whole
        if len(body) > MOST:
            await problem(413, "too_large", f"A body has at most {MOST} bytes. Nothing was done.").give(send)
            return
        call = _Call(self._inner, scope, receive, send, body)
        try:
            told = call.told()
        except ValueError as error:
            await problem(400, "unknown_fault", f"The header Sandbox-Fault: {error}. Nothing was done.").give(
                send
            )
            return
        line = f"{scope['method']} {scope['path']}"
        number, met = await self._plans.arrive(operation, call.key(), line, body, told)
        try:
            await self._meet(call, met)
        finally:
            acted = not call.reads and 0 < call.true.status < 400
            await self._plans.leave(number, call.true.status or None, acted=acted)

    async def _meet(self, call: "_Call", met: Meeting | None) -> None:
        if met is None:
            await call.act()
            await call.true.give(call.send)
            return
        if met.fault.acts or met.fault is Fault.STALE:
            if met.fault is Fault.LATE:
                await call.gone()
                await asyncio.sleep(met.seconds)
            async with seen_as_of(met.seconds if met.fault is Fault.STALE and call.reads else 0):
                await call.act()
        await self._answer(call, met)

    async def _answer(self, call: "_Call", met: Meeting) -> None:
        match met.fault:
            case Fault.REFUSE | Fault.UNAVAILABLE | Fault.THROTTLED | Fault.ERROR_AFTER:
                await self._problem(met.fault, met.seconds).give(call.send)
            case Fault.DROP_BEFORE | Fault.DROP_AFTER:
                wire.cut(call.scope)
            case Fault.HANG | Fault.HANG_AFTER:
                await call.gone()
            case Fault.GARBAGE:
                await Answer(200, [(b"content-type", b"application/json")], b'{"status": "bo').give(call.send)
            case Fault.NO_HTTP:
                wire.speak_no_http(call.scope)
            case Fault.HUGE:
                await huge(call.true).give(call.send)
            case Fault.LATE:
                wire.cut(call.scope)
            case Fault.STALE:
                await call.true.give(call.send)


@dataclass
class _Call:
    """One request, whole, and what the provider truly answered to it."""

    inner: ASGIApp
    scope: Scope
    receive: Receive
    send: Send
    body: bytes
    true: Answer = field(default_factory=Answer)

    @property
    def reads(self) -> bool:
        """Whether it can change nothing; AWS's query interface names its reads in the body."""
        return self.scope["method"] in ("GET", "HEAD") or self.body.startswith(b"Action=Describe")

    def header(self, name: str) -> str | None:
        """The value of a header; None if it is not there."""
        values = [value for key, value in self.scope["headers"] if key == name.encode()]
        return values[0].decode("latin-1") if values else None

    def key(self) -> str | None:
        """The idempotency key, told by the header or, in a lookup, by the path."""
        _, by_key, key = self.scope["path"].partition("/by-key/")
        return key if by_key else self.header("idempotency-key")

    def told(self) -> Meeting | None:
        """The fault that this call itself asks for; raises ValueError for one that does not exist."""
        value = self.header(HEADER)
        return None if value is None else told(value)

    async def act(self) -> None:
        """Lets the provider deal with the request; its answer is kept, and not yet sent."""
        sent = False

        async def again() -> Message:
            nonlocal sent
            if sent:
                return await asyncio.Future[Message]()
            sent = True
            return {"type": "http.request", "body": self.body, "more_body": False}

        await self.inner(self.scope, again, self.true.collect)

    async def gone(self) -> None:
        """Returns when the client has closed the connection."""
        while (await self.receive())["type"] != "http.disconnect":
            pass


async def read(receive: Callable[[], Awaitable[Message]]) -> bytes | None:
    """The whole body of a request; None if the client went. What is beyond MOST is not kept."""
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        if len(body) <= MOST:
            body += message.get("body", b"")
        more = message.get("more_body", False)
    return body


def huge(answer: Answer) -> Answer:
    """The same answer with 3 MB more: another field where it is a JSON object, else trailing text."""
    try:
        value: Any = json.loads(answer.body)
    except ValueError:
        value = None
    if isinstance(value, Mapping):
        body = json.dumps({**value, "ballast": BALLAST}).encode()
    else:
        body = answer.body + BALLAST.encode()
    # 204 is the status of an answer without a body.
    return Answer(200 if answer.status == 204 else answer.status, answer.headers, body)
