"""What the roles of workers and readers may do, and everything else that they may not."""

from collections.abc import Callable

import psycopg
import pytest

from rescind.ledger import EffectAddress, Ledger
from tests.rescind.ledger.postgres import Server
from tests.rescind.ledger.steps import applied

TABLES = ("saga", "effect", "journal", "gate", "installed")
FORBIDDEN = (
    *(f"select * from rescind.{table}" for table in (*TABLES, "sagas", "effects", "history")),
    *(f"insert into rescind.{table} select * from rescind.{table}" for table in TABLES),
    *(f"delete from rescind.{table}" for table in TABLES),
    *(f"truncate rescind.{table}" for table in TABLES),
    *(f"drop table rescind.{table}" for table in TABLES),
    *(f"alter table rescind.{table} disable trigger all" for table in TABLES),
    *(f"lock table rescind.{table}" for table in TABLES),
    "update rescind.saga set epoch = 0",
    "update rescind.effect set state = 'undone'",
    "update rescind.journal set event = ''",
    "create table rescind.mine (a int)",
    "create table public.mine (a int)",
    "create schema mine",
    "create role mine",
    "create function rescind.mine() returns int language sql as 'select 1'",
    "create or replace function rescind.version() returns jsonb language sql as $$ select '{}'::jsonb $$",
    "alter function rescind.version() security invoker",
    "drop function rescind.version()",
    "drop schema rescind cascade",
    "grant rescind_owner to current_user",
    "grant select on rescind.saga to public",
    "set role rescind_owner",
    "set role postgres",
    "set session authorization postgres",
    "set session_replication_role = replica",
    "alter role current_user superuser",
    "select rescind.enter('a', 0)",
    "select rescind.write_effect(null, null)",
    "select rescind.store('x', null, null, null, null)",
    "copy rescind.saga to stdout",
    "select pg_read_file('/etc/passwd')",
)


@pytest.mark.parametrize("statement", FORBIDDEN)
def test_worker_tries_everything_else(server: Server, admin_dsn: str, statement: str) -> None:
    """A worker's login runs the protocol's functions and is refused everything else."""
    assert admin_dsn
    with (
        psycopg.connect(server.dsn("ledger", "worker")) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(statement.encode())


async def test_worker_with_functions_of_its_own(
    ledger: Ledger, server: Server, address: Callable[..., EffectAddress]
) -> None:
    """A temporary table that is called like one of ours is not the one that the functions write to."""
    at = address()
    await applied(ledger, at)
    with psycopg.connect(server.dsn("ledger", "worker"), autocommit=True) as connection:
        connection.execute("create temporary table saga (id text)")
        connection.execute("set search_path = pg_temp, rescind")
        shown = connection.execute("select rescind.show(%s)", (at.saga,)).fetchone()
    assert shown is not None
    assert shown[0]["saga"]["id"] == at.saga


def test_reader(server: Server, admin_dsn: str) -> None:
    """A reader's login reads the views, and can neither read a table nor run a function."""
    assert admin_dsn
    with psycopg.connect(server.dsn("ledger", "reader"), autocommit=True) as connection:
        for view in ("sagas", "effects", "standing", "history"):
            connection.execute(f"select * from rescind.{view}".encode())
        for refused in (
            "select * from rescind.saga",
            "select rescind.promote('a')",
            "delete from rescind.effects",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(refused.encode())
