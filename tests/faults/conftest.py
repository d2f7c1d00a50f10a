"""The servers of these tests, each started once, and the worlds before them."""

from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.faults.servers import why_no_engine
from tests.faults.worlds import SERVERS, World, world_of

NAMES = [pytest.param(name, marks=pytest.mark.docker if name == "docker" else ()) for name in SERVERS]


@pytest.fixture(scope="session")
def servers() -> Iterator[dict[str, Any]]:
    """The servers that a test has asked for until now; all are stopped after the session."""
    with ExitStack() as stack:
        yield _Started(stack)


class _Started(dict[str, Any]):
    def __init__(self, stack: ExitStack) -> None:
        super().__init__()
        self._stack = stack

    def __missing__(self, name: str) -> Any:
        if name == "docker" and (reason := why_no_engine()):
            pytest.skip(reason)
        self[name] = self._stack.enter_context(SERVERS[name]())
        return self[name]


@pytest.fixture(params=NAMES)
async def world(request: pytest.FixtureRequest, servers: dict[str, Any]) -> AsyncIterator[World]:
    """Each provider in turn."""
    async with world_of(request.param, servers[request.param]) as one:
        yield one
