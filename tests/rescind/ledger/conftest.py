"""A ledger in a real database, for every test of it."""

from collections.abc import AsyncIterator, Callable, Iterator
from itertools import count
from typing import cast

import pytest

from rescind.ledger import EffectAddress, Ledger, install
from tests.rescind.ledger.fuzz.rules import Rule, ledger_without
from tests.rescind.ledger.postgres import Server

_numbers = count()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with Server() as started:
        yield started


@pytest.fixture(scope="session")
def admin_dsn(server: Server) -> str:
    dsn = server.create_database("ledger")
    install(dsn, workers=["worker"], readers=["reader"])
    return dsn


@pytest.fixture(scope="session")
async def ledger(server: Server, admin_dsn: str) -> AsyncIterator[Ledger]:
    assert admin_dsn
    async with Ledger(server.dsn("ledger", "worker"), connections=16) as opened:
        yield opened


@pytest.fixture
async def broken(server: Server, admin_dsn: str, request: pytest.FixtureRequest) -> AsyncIterator[Ledger]:
    """A ledger without one rule, of those that the module lists as RULES."""
    assert admin_dsn
    rules = cast("dict[str, Rule]", request.module.RULES)
    async with ledger_without(server, rules[request.param]) as ledger:
        yield ledger


@pytest.fixture
def address() -> Callable[..., EffectAddress]:
    saga = f"namespace/saga-{next(_numbers)}/run"

    def _address(name: str = "a", *seq: int, epoch: int = 0) -> EffectAddress:
        return EffectAddress(saga, epoch, f"{saga}/{name}", seq or (ord(name[0]),))

    return _address
