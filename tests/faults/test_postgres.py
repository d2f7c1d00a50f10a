"""What is particular to PostgreSQL: transactions, the two query protocols, and what is left in the database."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest
from psycopg import AsyncConnection

from tests.faults import Fault
from tests.faults.postgres import PostgresFaults

_ADD = "ALTER TABLE t ADD COLUMN {} int"
_numbers = iter(range(1000))


@pytest.fixture
async def faults(servers: dict[str, Any]) -> AsyncIterator[PostgresFaults]:
    """The faults before a database."""
    async with PostgresFaults(servers["postgres"]) as one:
        yield one


@pytest.fixture
def column() -> str:
    """The name of a column that no other test adds."""
    return f"particular_{next(_numbers)}"


@asynccontextmanager
async def connected(faults: PostgresFaults, dsn: str, **settings: Any) -> AsyncGenerator[AsyncConnection]:
    """An application's connection, closed whatever it went through."""
    address = faults.through(dsn.replace("postgres:@", "app:@"))
    connection = await AsyncConnection.connect(address, **settings)
    try:
        yield connection
    finally:
        await connection.close()


async def has(dsn: str, column: str) -> bool:
    """Whether the column is there, seen by the superuser past the proxy."""
    query = "SELECT 1 FROM information_schema.columns WHERE table_name = 't' AND column_name = %s"
    async with await AsyncConnection.connect(dsn) as admin:
        return await (await admin.execute(query, [column])).fetchone() is not None


@pytest.mark.parametrize("fault", [fault for fault in Fault if not fault.gated])
@pytest.mark.parametrize("prepare", [False, True])
async def test_a_statement_of_its_own_transaction(
    faults: PostgresFaults, servers: dict[str, Any], column: str, fault: Fault, *, prepare: bool
) -> None:
    """With autocommit the statement is its own commit, in the simple and in the extended protocol."""
    await faults.plan("add column", [fault])
    async with connected(faults, servers["postgres"], autocommit=True) as connection:
        with pytest.raises(psycopg.Error):
            await connection.execute(_ADD.format(column).encode(), prepare=prepare)
    assert await has(servers["postgres"], column) == fault.acts


async def test_a_transaction_that_is_sent_in_one_go(
    faults: PostgresFaults, servers: dict[str, Any], column: str
) -> None:
    """In a pipeline the reply to the COMMIT is lost as well, and only that one."""
    await faults.plan("add column", [Fault.DROP_AFTER])
    async with connected(faults, servers["postgres"], autocommit=True) as connection:
        with pytest.raises(psycopg.OperationalError):
            await _in_one_go(connection, column)
    assert await has(servers["postgres"], column)
    assert [(seen.answer, seen.acted) for seen in faults.calls()] == [("COMMIT", True)]


async def _in_one_go(connection: AsyncConnection, column: str) -> None:
    async with connection.pipeline(), connection.transaction():
        await connection.execute("SELECT 1")
        await connection.execute(_ADD.format(column).encode())


async def test_a_transaction_that_is_rolled_back(
    faults: PostgresFaults, servers: dict[str, Any], column: str
) -> None:
    """It is logged as a call that did not act; a savepoint's rollback does not end it."""
    async with connected(faults, servers["postgres"]) as connection:
        await connection.execute(_ADD.format(column).encode())
        await connection.execute("SAVEPOINT s")
        await connection.execute("ROLLBACK TO SAVEPOINT s")
        assert faults.calls()[-1].under_way
        await connection.rollback()
        assert [(seen.answer, seen.acted) for seen in faults.calls()] == [("ROLLBACK", False)]
    assert not await has(servers["postgres"], column)


async def test_a_client_that_cancels_its_statement_at_the_gate(
    faults: PostgresFaults, servers: dict[str, Any], column: str
) -> None:
    """The cancel request passes the proxy, the statement ends, and the transaction can be rolled back."""
    await faults.plan("add column", [Fault.HOLD])
    async with connected(faults, servers["postgres"]) as connection:
        adding = asyncio.ensure_future(connection.execute(_ADD.format(column).encode()))
        await faults.held()
        await connection.cancel_safe(timeout=5)
        with pytest.raises(psycopg.errors.QueryCanceled):
            await adding
        await connection.rollback()
        assert [(seen.answer, seen.acted) for seen in faults.calls()] == [("ROLLBACK", False)]
    assert not await has(servers["postgres"], column)


async def test_a_transaction_that_is_left_open(
    faults: PostgresFaults, servers: dict[str, Any], column: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`clear` says which call is still under way instead of waiting for ever."""
    monkeypatch.setattr("tests.faults.script._PATIENCE", 0.1)
    async with connected(faults, servers["postgres"]) as connection:
        await connection.execute(_ADD.format(column).encode())
        with pytest.raises(TimeoutError, match=f"still under way.*{column}"):
            await faults.clear()
        await connection.commit()


async def test_nothing_is_left_in_the_database(servers: dict[str, Any], column: str) -> None:
    """Event trigger, schema and locks are gone afterwards, even when a call was refused."""
    async with PostgresFaults(servers["postgres"]) as faults:
        await faults.plan("add column", [Fault.REFUSE])
        async with connected(faults, servers["postgres"], autocommit=True) as connection:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                await connection.execute(_ADD.format(column).encode())
    left = """SELECT evtname FROM pg_event_trigger UNION ALL SELECT nspname FROM pg_namespace
              WHERE nspname = 'faults' UNION ALL SELECT mode FROM pg_locks WHERE locktype = 'advisory'"""
    async with await AsyncConnection.connect(servers["postgres"]) as admin:
        assert await (await admin.execute(left)).fetchall() == []
