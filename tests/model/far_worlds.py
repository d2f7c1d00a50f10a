"""Worlds that outlive the worker: they live in the test's process, and the tools of others call them there."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Thread
from typing import Any, cast
from xmlrpc.client import ServerProxy
from xmlrpc.server import SimpleXMLRPCServer

from tests.rescind.toy_world import WORLDS, World


@contextmanager
def served() -> Generator[str]:
    """Let other processes call this one's worlds; the address."""
    with SimpleXMLRPCServer(("127.0.0.1", 0), allow_none=True, logRequests=False) as server:
        server.register_function(_call, "call")
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def _call(*told: Any) -> Any:
    world, method, *arguments = told
    return getattr(WORLDS[world], method)(*arguments)


class FarWorlds(dict[str, World]):
    """The worlds of another process by their names."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self._address = address

    def __missing__(self, name: str) -> World:
        return cast("World", _FarWorld(self._address, name))


class _FarWorld:
    """Every method is one call over a connection of its own, so that threads need not share any."""

    def __init__(self, address: str, name: str) -> None:
        self._address, self._name = address, name

    def __getattr__(self, method: str) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            with ServerProxy(self._address, allow_none=True) as server:
                return server.call(self._name, method, *arguments)

        return call
