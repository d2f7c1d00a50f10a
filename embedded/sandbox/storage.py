"""The sandbox's PostgreSQL: its tables, its connections, and things whose every version is kept."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any, LiteralString, Self

import psycopg
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import Jsonb
from psycopg_pool import AsyncConnectionPool

Connection = psycopg.AsyncConnection[DictRow]
SCHEMA: LiteralString = """
    select pg_advisory_xact_lock(7264310);
    create table if not exists thing (
        system text, id text, version int not null, key text, state jsonb not null, primary key (system, id));
    create unique index if not exists thing_key on thing (system, key);
    create table if not exists past (
        system text, id text, version int, key text, state jsonb not null,
        at timestamptz not null default clock_timestamp(), primary key (system, id, version));
    create table if not exists idempotency (
        system text, key text, digest text, answer jsonb, at timestamptz not null default clock_timestamp(),
        primary key (system, key));
    create table if not exists stock (
        system text, name text, left_over int not null check (left_over >= 0), primary key (system, name));
    create table if not exists message (
        number bigint generated always as identity primary key, hook text not null, body jsonb not null,
        at timestamptz not null default clock_timestamp());
    create table if not exists mail (
        number bigint generated always as identity primary key, sender text not null, recipients text[] not null,
        content bytea not null, at timestamptz not null default clock_timestamp());
    create table if not exists fault (
        number bigint generated always as identity primary key, plan jsonb not null,
        matched int not null default 0, used int not null default 0, spent boolean not null default false);
    create table if not exists call (
        number bigint generated always as identity primary key, operation text not null, key text, call text not null,
        fault text, status int, acted boolean not null default false, under_way boolean not null default true,
        at timestamptz not null default clock_timestamp());
    create table if not exists stripe_journal (
        number bigint generated always as identity primary key, at double precision not null, method text not null,
        target text not null, headers jsonb not null, body bytea not null);
    create table if not exists stripe_dump (number bigint not null, content bytea not null);
"""
PATIENCE = 60.0  # seconds that a start waits for the database, which is started at the same time

_seconds_ago: ContextVar[float] = ContextVar("_seconds_ago", default=0.0)


class Storage:
    """Connections to one database; used as an async context manager, which installs the tables."""

    def __init__(self, dsn: str, *, most: int = 12) -> None:
        self._dsn = dsn
        self._pool = AsyncConnectionPool(
            dsn,
            min_size=1,
            max_size=most,
            open=False,
            kwargs={"row_factory": dict_row, "autocommit": True},
            connection_class=psycopg.AsyncConnection[DictRow],
        )

    async def __aenter__(self) -> Self:
        await self._install()
        await self._pool.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._pool.close()

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[Connection]:
        """One connection in a transaction; an exception rolls everything back."""
        async with self._pool.connection() as connection, connection.transaction():
            yield connection

    async def rows(self, query: LiteralString, *values: object) -> list[DictRow]:
        """The rows of one statement, which is a transaction of its own."""
        async with self._pool.connection() as connection:
            cursor = await connection.execute(query, values)
            return await cursor.fetchall() if cursor.description else []

    async def _install(self) -> None:
        limit = asyncio.get_running_loop().time() + PATIENCE
        while True:
            try:
                async with await psycopg.AsyncConnection.connect(self._dsn) as connection:
                    await connection.execute(SCHEMA)
                    return
            except psycopg.OperationalError:
                if asyncio.get_running_loop().time() > limit:
                    raise
                await asyncio.sleep(0.05)


@asynccontextmanager
async def seen_as_of(seconds_ago: float) -> AsyncGenerator[None]:
    """Inside the block `find` and `find_all` see what was true so many seconds ago."""
    token = _seconds_ago.set(seconds_ago)
    try:
        yield
    finally:
        _seconds_ago.reset(token)


def is_stale() -> bool:
    """Whether the present call is to see an older state."""
    return _seconds_ago.get() > 0


async def find(
    storage: Storage, system: str, *, name: str | None = None, key: str | None = None
) -> DictRow | None:
    """The thing with this id or key as `version` and `state`; None if there is (or was) none."""
    column = "id" if key is None else "key"
    value = name if key is None else key
    if ago := _seconds_ago.get():
        found = await storage.rows(
            "select version, state from past where system = %s and case %s when 'id' then id else key end = %s "
            "and at <= clock_timestamp() - make_interval(secs => %s) order by version desc limit 1",
            *(system, column, value, ago),
        )
    elif key is None:
        found = await storage.rows(
            "select version, state from thing where (system, id) = (%s, %s)", system, name
        )
    else:
        found = await storage.rows(
            "select version, state from thing where (system, key) = (%s, %s)", system, key
        )
    return found[0] if found else None


async def find_all(storage: Storage, system: str) -> list[dict[str, Any]]:
    """Every thing of a system by id, cancelled ones too."""
    if ago := _seconds_ago.get():
        found = await storage.rows(
            "select distinct on (id) state from past where system = %s "
            "and at <= clock_timestamp() - make_interval(secs => %s) order by id, version desc",
            *(system, ago),
        )
    else:
        found = await storage.rows("select state from thing where system = %s order by id", system)
    return [row["state"] for row in found]


async def locked(connection: Connection, system: str, thing: str) -> DictRow | None:
    """The thing as it is now, locked until the transaction ends; None if there is none."""
    cursor = await connection.execute(
        "select id, version, key, state from thing where (system, id) = (%s, %s) for update", (system, thing)
    )
    return await cursor.fetchone()


async def put(
    connection: Connection, system: str, thing: str, state: dict[str, Any], key: str | None = None
) -> int:
    """Writes a new version of the thing and returns its number; the first one is 1."""
    cursor = await connection.execute(
        "with now as (insert into thing values (%s, %s, 1, %s, %s) on conflict (system, id) "
        "do update set version = thing.version + 1, state = excluded.state returning *) "
        "insert into past (system, id, version, key, state) select system, id, version, key, state from now "
        "returning version",
        (system, thing, key, Jsonb(state)),
    )
    row = await cursor.fetchone()
    assert row is not None  # noqa: S101 - RETURNING gives one row
    return int(row["version"])


def canonical(value: object) -> bytes:
    """One spelling for equal JSON values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
