"""The sandbox's servers, started once for all tests of this folder."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.embedded.sandbox.servers import Asking, Servers, asking, database


@pytest.fixture(scope="session")
def dsn(stack_environment: dict[str, str]) -> Iterator[str]:
    """A database for the sandbox's servers of these tests."""
    with database(stack_environment["RESCIND_LEDGER_ADMIN_DSN"]) as made:
        yield made


@pytest.fixture(scope="session")
def servers(dsn: str) -> Iterator[Servers]:
    """The three servers."""
    started = Servers(dsn)
    try:
        started.start()
        yield started
    finally:
        started.stop()


@pytest.fixture
async def ask(servers: Servers) -> AsyncIterator[Asking]:
    """A client of servers that do what they should until they are told otherwise."""
    async with asking(servers) as client:
        await client.forget()
        yield client
        await client.forget()
