"""A reverse proxy for HTTP/1.1 that does to chosen calls what a failing provider would do."""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

import h11

from tests.faults import Fault, Seen
from tests.faults.http_wire import Answer, Caller, Streams, ask, body_of
from tests.faults.script import Script

_FORM = b"application/x-www-form-urlencoded"


@dataclass(frozen=True)
class Dialect:
    """What one provider's calls are called, and what its errors look like on the wire."""

    operations: Mapping[str, str]
    """A name, and a regular expression searched in "METHOD target"; the first match wins.

    Where a call is told by its header X-Amz-Target, or by a form, that and the body follow, each after a space.
    """
    refused: Answer
    unavailable: Answer
    broken: Answer


class HttpFaults(Script):
    """A FaultyProvider before any HTTP/1.1 server; what it does not name passes unchanged.

    Used as an async context manager; leaving it lets held calls go on and closes every connection. Request
    bodies are held in memory. Connection upgrades are not passed on.
    """

    def __init__(self, upstream: str, dialect: Dialect, *, listen: Path | None = None) -> None:
        """`upstream` is http://host:port or unix:///path; `listen` a socket's path instead of a free port."""
        super().__init__(dialect.operations)
        self._upstream = upstream
        self._dialect = dialect
        self._listen = listen
        self._port = 0
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """Where clients find the provider: http://127.0.0.1:port, or unix:///path."""
        return f"unix://{self._listen}" if self._listen else f"http://127.0.0.1:{self._port}"

    async def __aenter__(self) -> Self:
        await self._open()
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await self.clear()
        finally:
            await self._close()

    @asynccontextmanager
    async def down(self) -> AsyncGenerator[None]:
        """Inside the block connections are refused, and those that were open are cut."""
        await self._close()
        try:
            yield
        finally:
            await self._open()

    async def _open(self) -> None:
        if self._listen:
            self._server = await asyncio.start_unix_server(self._accept, self._listen)
            return
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        if self._server:
            self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        if self._listen:
            self._listen.unlink(missing_ok=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._serve(Caller(reader, writer)))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, caller: Caller) -> None:
        try:
            while request := await caller.request():
                body = await body_of(caller)
                if not await self._exchange(caller, request, body) or not caller.next_cycle():
                    break
        except (OSError, h11.ProtocolError):
            pass  # the client went, or spoke no HTTP: either way there is nobody to answer
        finally:
            caller.cut()

    async def _exchange(self, caller: Caller, request: h11.Request, body: bytes) -> bool:
        """Serves one request; false if the connection is to be cut."""
        line = _line(request, body)
        named = (name for name, pattern in self._dialect.operations.items() if re.search(pattern, line))
        operation = next(named, None)
        if operation is None:
            return await self._relay(caller, request, body)
        seen = await self.arrive(operation, line)
        try:
            return await self._meet(seen, caller, request, body)
        finally:
            await self.leave(seen)

    async def _meet(self, seen: Seen, caller: Caller, request: h11.Request, body: bytes) -> bool:
        if not await self.may_act(seen.fault, caller.gone):
            if seen.fault is Fault.HOLD:
                return False
            refused = seen.fault is Fault.REFUSE
            return await caller.answer(self._dialect.refused if refused else self._dialect.unavailable)
        if seen.fault is None:
            return await self._relay(caller, request, body, seen)
        events = [event async for event in self._ask(request, body, seen)]
        if seen.fault is Fault.HANG_AFTER and not await self.stand(caller.gone):
            return False
        match seen.fault:
            case Fault.DROP_AFTER:
                return False
            case Fault.GARBAGE:
                return await caller.garbage()
            case Fault.ERROR_AFTER:
                return await caller.answer(self._dialect.broken)
            case _:
                return await caller.replay(events)

    async def _relay(
        self, caller: Caller, request: h11.Request, body: bytes, seen: Seen | None = None
    ) -> bool:
        async for event in self._ask(request, body, seen):
            await caller.send(event)
        return True

    async def _ask(
        self, request: h11.Request, body: bytes, seen: Seen | None
    ) -> AsyncIterator[h11.Response | h11.Data | h11.EndOfMessage]:
        """Asks the true provider; what it answers is in the log before the client can see any of it."""
        reader, writer = await self._connect()
        try:
            async for event in ask(reader, writer, request, body):
                if seen and isinstance(event, h11.Response):
                    seen.answer, seen.acted = str(event.status_code), event.status_code < 400
                yield event
        finally:
            writer.transport.abort()

    async def _connect(self) -> Streams:
        upstream = urlsplit(self._upstream)
        if upstream.scheme == "unix":
            return await asyncio.open_unix_connection(upstream.path)
        return await asyncio.open_connection(upstream.hostname, upstream.port)


def _line(request: h11.Request, body: bytes) -> str:
    headers = dict(request.headers)
    action, is_form = headers.get(b"x-amz-target", b""), headers.get(b"content-type", b"").startswith(_FORM)
    told = (request.method, request.target, action, body if action or is_form else b"")
    return b" ".join(filter(None, told)).decode("utf-8", "replace")
