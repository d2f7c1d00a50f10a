"""One connection and its statements: large ones, refused ones, cancelled ones."""

import asyncio
import gc
from collections.abc import Callable

import psycopg
import pytest

from rescind._states import Outcome
from rescind.ledger import EffectAddress, EffectFenced, Go, Ledger, LedgerError, LedgerUnavailable
from rescind.ledger._session import Session
from tests.rescind.ledger.postgres import Server
from tests.rescind.ledger.steps import begin, go

At = Callable[..., EffectAddress]


@pytest.fixture
def one_connection(server: Server, admin_dsn: str) -> Ledger:
    """A ledger whose statements all go over one connection."""
    assert admin_dsn
    return Ledger(server.dsn("ledger", "worker"), connections=1)


async def test_result_larger_than_the_socket_takes_at_once(one_connection: Ledger, address: At) -> None:
    """It is on record, and comes back whole."""
    at = address()
    large = "ä" * 4_000_000
    async with one_connection as ledger:
        await go(ledger, at)
        await ledger.finish(at, 1, Outcome.APPLIED, result=large)
        view = await ledger.show(at.saga)
    assert view is not None
    assert view.effects[0].result == large


async def test_refused_statement(one_connection: Ledger, address: At) -> None:
    """It changes nothing, and the connection takes the next one."""
    at = address()
    async with one_connection as ledger:
        with pytest.raises(EffectFenced):
            await ledger.remember(at, 1, "before")
        assert isinstance(await begin(ledger, at), Go)


async def test_text_that_the_database_does_not_take(one_connection: Ledger, address: At) -> None:
    """It is not sent, and not cut at its NUL character either."""
    at = address()
    async with one_connection as ledger:
        with pytest.raises(LedgerError, match="Nothing was sent"):
            await ledger.promote(f"{at.saga}\0other")
        assert isinstance(await begin(ledger, at), Go)


async def test_cancelled_statement(one_connection: Ledger, admin_dsn: str, address: At) -> None:
    """The server runs it to its end, and the next statement gets a connection of its own."""
    at = address()
    async with one_connection as ledger:
        await go(ledger, at)
        with psycopg.connect(admin_dsn) as blocker:
            blocker.execute("select from rescind.saga where id = %s for update", (at.saga,))
            waiting = asyncio.ensure_future(ledger.finish(at, 1, Outcome.APPLIED, result="made"))
            await asyncio.sleep(0.3)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        again = await ledger.finish(at, 1, Outcome.APPLIED, result="made")
        view = await ledger.show(at.saga)
    assert again.state == "applied"
    assert view is not None
    assert [line.event for line in view.journal] == ["begin", "finish"]


async def test_more_statements_than_connections(one_connection: Ledger, address: At) -> None:
    """They wait for one another."""
    async with one_connection as ledger:
        answers = await asyncio.gather(*(begin(ledger, address(name)) for name in "abcdefgh"))
    assert [type(answer) for answer in answers] == [Go] * 8


async def test_no_connection_within_the_time(one_connection: Ledger, admin_dsn: str, address: At) -> None:
    """The statement says that it was not sent."""
    at = address()
    async with one_connection as ledger:
        await go(ledger, at)
        with psycopg.connect(admin_dsn) as blocker:
            blocker.execute("select from rescind.saga where id = %s for update", (at.saga,))
            waiting = asyncio.ensure_future(ledger.finish(at, 1, Outcome.APPLIED))
            await asyncio.sleep(0.1)
            with pytest.raises(LedgerUnavailable, match="not sent") as refused:
                await begin(ledger, address("b"))
            blocker.rollback()
            await waiting
    assert refused.value.ran is False


async def troubled_way(server: Server, words: bytes, *, ends: bool) -> asyncio.Server:
    """A way to the server that ends, or holds back for two seconds, when a client sends these words."""

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, out = await asyncio.open_connection("127.0.0.1", server.port)
        answers = asyncio.ensure_future(copy(back, writer))
        while sent := await reader.read(65536):
            if words in sent:
                if ends:
                    break
                await asyncio.sleep(2)
            out.write(sent)
        answers.cancel()
        for each in (out, writer):
            each.transport.abort()

    return await asyncio.start_server(pass_on, "127.0.0.1")


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)


@pytest.mark.parametrize("ends", [True, False])
async def test_connection_that_is_given_up_while_it_is_set_up(
    server: Server, admin_dsn: str, ends: bool
) -> None:
    """Nothing of it is left: an open connection that is forgotten warns, and a warning fails the test."""
    assert admin_dsn
    async with await troubled_way(server, b"statement_timeout", ends=ends) as way:
        port = way.sockets[0].getsockname()[1]
        with pytest.raises(psycopg.OperationalError if ends else TimeoutError):
            async with asyncio.timeout(1):
                await Session.opened(f"postgresql://worker@127.0.0.1:{port}/ledger")
        gc.collect()
