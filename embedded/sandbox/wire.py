"""HTTP servers that can cut a connection, or answer bytes that are no HTTP."""

import asyncio
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TypeAlias, cast

import uvicorn
from starlette.types import ASGIApp, Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

_Ends: TypeAlias = tuple[tuple[str, int], tuple[str, int]]
_connections: dict[_Ends, asyncio.Transport] = {}
NOT_HTTP = b"\x00\xff<<this is no answer>>\r\n\r\n"
GRACE = 1  # seconds that a stop waits for calls that hang on purpose
NOT_SERVED = 3  # the exit code that uvicorn itself ends with when an application does not start


class _Known(H11Protocol):
    """Uvicorn's own protocol, whose connections can be found by their two ends."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        self._ends = _ends(transport.get_extra_info("peername"), transport.get_extra_info("sockname"))
        _connections[self._ends] = transport
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        _connections.pop(self._ends, None)
        super().connection_lost(exc)


class _Server(uvicorn.Server):
    """One of the servers of a process, which itself hears the signals and ends all of them."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


def cut(scope: Scope) -> None:
    """Ends this call's connection without a byte more; does nothing if the client has gone."""
    if transport := _connections.get(_ends(scope["client"], scope["server"])):
        transport.abort()


def speak_no_http(scope: Scope) -> None:
    """Sends this call's client what no HTTP client can read, and closes."""
    if transport := _connections.get(_ends(scope["client"], scope["server"])):
        transport.write(NOT_HTTP)
        transport.close()


async def serve(applications: Mapping[int, ASGIApp], host: str, stopped: asyncio.Event) -> None:
    """Serves each application on its port until `stopped` is set; exits the process if one can't be served."""
    servers = [_Server(_config(application, host, port)) for port, application in applications.items()]
    running = [asyncio.create_task(one.serve()) for one in servers]
    asked = asyncio.create_task(stopped.wait())
    await asyncio.wait([asked, *running], return_when=asyncio.FIRST_COMPLETED)
    for one in servers:
        one.should_exit = True
    await asyncio.gather(*running)
    if not asked.done():
        asked.cancel()
        sys.exit(NOT_SERVED)


def _config(application: ASGIApp, host: str, port: int) -> uvicorn.Config:
    return uvicorn.Config(
        application,
        host=host,
        port=port,
        http=_Known,
        ws="none",
        log_level="warning",
        lifespan="on",
        timeout_graceful_shutdown=GRACE,
        timeout_keep_alive=60,
        backlog=2048,
    )


def _ends(client: object, server: object) -> _Ends:
    return _address(client), _address(server)


def _address(end: object) -> tuple[str, int]:
    host, port, *_ = cast("tuple[str, int]", end)
    return str(host), int(port)


__all__ = ["cut", "serve", "speak_no_http"]
