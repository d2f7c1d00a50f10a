"""A change of a database and the mark that proves it, in one transaction that has a deadline on the server.

The mark is a row under the call's key. Whoever reads or writes it holds an advisory lock on the key, so that
"no mark" is only seen when no attempt's transaction is open any more. The table of marks is made by the first
call and dropped with the last mark, so that an undo leaves no trace; a table that somebody made
beforehand, for a role that may not create one, is left alone.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, LiteralString, TypeAlias, TypeVar

import psycopg
from psycopg import sql
from psycopg.rows import TupleRow

from activities.settings import settings
from rescind import Absent, Applied, Restoration, Result, Unknown, time_left
from rescind.evidence import Conflict, NothingHappened, Refused
from rescind.evidence.postgres import proves_uncommitted

Cursor: TypeAlias = psycopg.AsyncCursor[TupleRow]
Connection: TypeAlias = psycopg.AsyncConnection[TupleRow]
Made = TypeVar("Made", bound=Result)

ON_DEMAND: LiteralString = "Made by Rescind when it was needed; dropped when it is empty."
_CREATION, _MARKS = 7_235_129_006, 7_235_129_007  # any numbers that no other program locks
_TIDYING_SECONDS = 2.0
_REPORTING_SECONDS = 2.0
"""What is left of an attempt when the server ends its transaction: a client that waits for that can still report."""

_CREATE: LiteralString = """
CREATE SCHEMA IF NOT EXISTS rescind_marks;
CREATE TABLE rescind_marks.rescind_effects (
    key text PRIMARY KEY,
    tool text NOT NULL,
    effect jsonb NOT NULL,
    made_at timestamptz NOT NULL DEFAULT now()
);
"""

# A query of the catalogue, since to_regclass answers from a cache that waiting for an advisory lock does not renew.
_THERE: LiteralString = """
SELECT count(*) > 0 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'rescind_marks' AND c.relname = 'rescind_effects'
"""

_MADE_ON_DEMAND: LiteralString = """
SELECT count(*) > 0 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'rescind_marks' AND c.relname = 'rescind_effects' AND obj_description(c.oid, 'pg_class') = %s
"""

_LIMITS: LiteralString = """
SELECT set_config(name, value, true) FROM (VALUES
    ('statement_timeout', %(ms)s), ('idle_in_transaction_session_timeout', %(ms)s), ('lock_timeout', %(lock)s),
    ('transaction_timeout', %(ms)s), ('standard_conforming_strings', 'on')
) AS limits (name, value)
WHERE name IN (SELECT name FROM pg_settings)
"""


# Who has the second one sees the table of marks, or its absence, for as long as the transaction lasts.
_LOCKS: LiteralString = """
SELECT pg_advisory_xact_lock(hashtextextended(%s, 0)), pg_advisory_xact_lock_shared(%s)
"""


async def once(
    database: str, key: str, tool: str, model: type[Made], change: Callable[[Cursor], Awaitable[Made]]
) -> Made:
    """Make the change and its mark in one transaction, or return what an earlier attempt of the key made.

    Raises:
        Refused, NothingHappened: The transaction was rolled back.
        psycopg.Error: The commit's outcome is not known.
    """
    async with _transaction(database, key) as cursor:
        if made := await _mark(cursor, key, model):
            return made
        made = await change(cursor)
        if made.changed:
            await _put_mark(cursor, key, tool, made)
        return made


async def undone(
    database: str, key: str, model: type[Made], undo: Callable[[Cursor, Made], Awaitable[Restoration]]
) -> Restoration:
    """Undo the change and remove its mark in one transaction; nothing is done where there is no mark.

    Raises:
        Conflict: The world is not as the step left it. Nothing was changed.
    """
    async with _transaction(database, key) as cursor:
        made = await _mark(cursor, key, model)
        restoration = Restoration.nothing("the database has no mark of this call")
        if made is not None:
            restoration = await undo(cursor, made)
            await cursor.execute("DELETE FROM rescind_marks.rescind_effects WHERE key = %s", (key,))
    left = await _drop_marks_if_empty(database)
    return Restoration.equivalent(left) if left and made is not None else restoration


async def found(database: str, key: str, model: type[Made]) -> Applied[Made] | Absent | Unknown:
    """Tell by the mark whether the call took effect, once no attempt's transaction is open any more."""
    async with _transaction(database, key) as cursor:
        if (await one(cursor, "SELECT pg_is_in_recovery()"))[0]:
            return Unknown(why=f"the database {database!r} answered from a standby, which may lag behind")
        made = await _mark(cursor, key, model)
        return Absent() if made is None else Applied[model](result=made)  # type: ignore[valid-type]


async def one(cursor: Cursor, query: LiteralString | sql.Composed, values: tuple[Any, ...] = ()) -> TupleRow:
    """The single row of a query that always has one."""
    await cursor.execute(query, values or None)
    row = await cursor.fetchone()
    if row is None:
        raise LookupError(f"no row from: {query}")
    return row


@asynccontextmanager
async def _transaction(database: str, key: str) -> AsyncGenerator[Cursor]:
    """A transaction that holds the key's lock; committed at the end of the block, else rolled back."""
    connection = await _connect(database)
    async with _closing(connection), connection.cursor() as cursor:
        try:
            await _limit(cursor, max(0.1, time_left() - _REPORTING_SECONDS))
            await cursor.execute(_LOCKS, (key, _MARKS))
            yield cursor
        except psycopg.Error as error:
            raise _rolled_back(database, error) from error
        await connection.commit()


async def _connect(database: str) -> Connection:
    dsn = settings().database(database)
    try:
        return await psycopg.AsyncConnection.connect(
            dsn, connect_timeout=max(2, int(time_left())), prepare_threshold=None
        )
    except psycopg.ProgrammingError:
        # Without the cause, which shows the address and with it the password.
        raise Refused(
            f"the address of the database {database!r} is not usable; mend it and restart"
        ) from None
    except psycopg.Error as error:
        raise _rolled_back(database, error) from error


@asynccontextmanager
async def _closing(connection: Connection) -> AsyncGenerator[None]:
    try:
        yield
    finally:
        await connection.close()


async def _limit(cursor: Cursor, seconds: float, lock_seconds: float | None = None) -> None:
    """Let the server end this transaction after so many seconds, even if this process is stopped by then."""
    ends, lock = int(seconds * 1000), int((lock_seconds or seconds * 0.8) * 1000)
    await cursor.execute(_LIMITS, {"ms": f"{ends}ms", "lock": f"{lock}ms"})


def _rolled_back(database: str, error: psycopg.Error) -> Exception:
    evidence = proves_uncommitted(error)
    said = error.diag.message_primary or str(error).strip()
    message = f"the database {database!r} said: {said} (SQLSTATE {error.sqlstate}); it was left as it was"
    if isinstance(error, psycopg.errors.DependentObjectsStillExist):
        return Conflict(f"{message}. Something was built on what this step made")
    return NothingHappened(message) if evidence.try_again else Refused(message)


async def _mark(cursor: Cursor, key: str, model: type[Made]) -> Made | None:
    if not await _marks_are_there(cursor):
        return None
    await cursor.execute("SELECT effect::text FROM rescind_marks.rescind_effects WHERE key = %s", (key,))
    row = await cursor.fetchone()
    return None if row is None else model.model_validate_json(row[0])


async def _marks_are_there(cursor: Cursor) -> bool:
    return (await one(cursor, _THERE))[0] is True


async def _put_mark(cursor: Cursor, key: str, tool: str, made: Result) -> None:
    if not await _marks_are_there(cursor):
        await cursor.execute("SELECT pg_advisory_xact_lock(%s)", (_CREATION,))
    if not await _marks_are_there(cursor):
        await cursor.execute(_CREATE)
        comment = sql.SQL("COMMENT ON TABLE rescind_marks.rescind_effects IS {}")
        await cursor.execute(comment.format(sql.Literal(ON_DEMAND)))
    await cursor.execute(
        "INSERT INTO rescind_marks.rescind_effects (key, tool, effect) VALUES (%s, %s, %s)",
        (key, tool, made.model_dump_json()),
    )


async def _drop_marks_if_empty(database: str) -> str | None:
    """Drop the table of marks that a call has made, if no mark is left; else say what is left of it."""
    connection = await _connect(database)
    async with _closing(connection), connection.cursor() as cursor:
        try:
            await _limit(cursor, time_left(), min(_TIDYING_SECONDS, time_left() / 2))
            await cursor.execute("SELECT pg_advisory_xact_lock(%s)", (_MARKS,))
            if not (await one(cursor, _MADE_ON_DEMAND, (ON_DEMAND,)))[0]:
                return None
            await cursor.execute("LOCK TABLE rescind_marks.rescind_effects IN ACCESS EXCLUSIVE MODE")
            if (await one(cursor, "SELECT EXISTS (SELECT FROM rescind_marks.rescind_effects)"))[0]:
                return None
            await cursor.execute("DROP TABLE rescind_marks.rescind_effects; DROP SCHEMA rescind_marks")
            await connection.commit()
        except psycopg.Error:
            return "the table rescind_marks.rescind_effects, which another call is using and drops when it is undone"
    return None
