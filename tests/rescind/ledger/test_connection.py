"""The ledger's connections when the server goes away and comes back."""

import asyncio
from collections.abc import Callable, Iterator

import psycopg
import pytest

from rescind._states import Outcome
from rescind.ledger import EffectAddress, Go, Ledger, LedgerUnavailable, install
from tests.rescind.ledger.postgres import Server
from tests.rescind.ledger.steps import begin, go

At = Callable[..., EffectAddress]


@pytest.fixture(scope="module")
def own_server() -> Iterator[Server]:
    """One that may be stopped; each test leaves it started."""
    with Server() as started:
        install(started.create_database("ledger"), workers=["worker"])
        yield started


async def test_restart_between_two_statements(own_server: Server, address: At) -> None:
    """The next statements of all connections go through as if nothing had happened."""
    async with Ledger(own_server.dsn("ledger", "worker"), connections=4) as ledger:
        await asyncio.gather(*(go(ledger, address(name)) for name in "abcd"))
        await asyncio.to_thread(own_server.stop)
        await asyncio.to_thread(own_server.start)
        answers = await asyncio.gather(*(begin(ledger, address(name)) for name in "efgh"))
        assert [type(answer) for answer in answers] == [Go] * 4


async def test_server_that_is_down(own_server: Server, address: At) -> None:
    """Begin fails saying that nothing was begun, and works again when the server is back."""
    async with Ledger(own_server.dsn("ledger", "worker"), connections=2) as ledger:
        await go(ledger, address())
        await asyncio.to_thread(own_server.stop, "immediate")
        with pytest.raises(LedgerUnavailable, match=r"nothing was begun|No effect was begun"):
            await begin(ledger, address("b"))
        await asyncio.to_thread(own_server.start)
        assert isinstance(await begin(ledger, address("b")), Go)


async def test_connection_that_is_ended_during_a_statement(own_server: Server, address: At) -> None:
    """A statement that the server ended before it was done is sent again, and runs once."""
    at = address()
    async with Ledger(own_server.dsn("ledger", "worker"), connections=2) as ledger:
        await go(ledger, at)
        with psycopg.connect(own_server.dsn("ledger"), autocommit=False) as blocker:
            blocker.execute("select from rescind.saga where id = %s for update", (at.saga,))
            waiting = asyncio.ensure_future(ledger.finish(at, 1, Outcome.APPLIED))
            await asyncio.sleep(0.3)
            with psycopg.connect(own_server.dsn("ledger"), autocommit=True) as killer:
                killer.execute(
                    "select pg_terminate_backend(pid) from pg_stat_activity"
                    " where usename = 'worker' and wait_event_type = 'Lock'"
                )
        assert (await waiting).state == "applied"
        view = await ledger.show(at.saga)
        assert view is not None
        assert [line.event for line in view.journal] == ["begin", "finish"]


async def test_only_the_report_need_not_wait_for_the_disk(own_server: Server, address: At) -> None:
    """A lost report of a call in flight is an unproven attempt; every other statement waits for the disk."""
    at = address()
    with psycopg.connect(own_server.dsn("ledger", "worker")) as connection:

        def commit_mode_after(statement: str) -> str:
            connection.execute(statement.encode(), {"saga": at.saga, "key": at.key})
            row = connection.execute("show synchronous_commit").fetchone()
            connection.commit()
            assert row is not None
            return str(row[0])

        begun = "select rescind.begin(%(saga)s, 0, %(key)s, '{1}', 't', 1, 'never', 'd', '{}', 0, 'r', null)"
        report = "select rescind.finish(%(saga)s, %(key)s, '{1}', 1, '%s', null, true, false, 0, null)"
        assert commit_mode_after(begun) == "on"
        assert commit_mode_after(report.replace("'%s'", "'unknown'")) == "on"
        assert commit_mode_after(report.replace("'%s'", "'applied'")) == "off"
        assert commit_mode_after("select rescind.seal(%(saga)s, 0, %(key)s)") == "on"
