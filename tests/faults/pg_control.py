"""The test's own hand in the database: an event trigger that asks advisory locks what to do to a backend."""

import asyncio
from typing import LiteralString, Self

import psycopg

# Classes of two-part advisory locks; the second part is the backend's process id. Locks are seen by every
# snapshot and survive a rollback, and no row of the database under test is touched.
_REFUSE = 0x0FA1
_HOLD = 0x0FA2
_POLL = 0.01  # seconds

_INSTALL = f"""
CREATE SCHEMA IF NOT EXISTS faults;
GRANT USAGE ON SCHEMA faults TO PUBLIC;
CREATE OR REPLACE FUNCTION faults.meet() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT pg_try_advisory_xact_lock_shared({_REFUSE}, pg_backend_pid()) THEN
    RAISE insufficient_privilege USING MESSAGE = 'permission denied by an event trigger for ' || tg_tag;
  END IF;
  PERFORM pg_advisory_xact_lock_shared({_HOLD}, pg_backend_pid());
END $$;
DROP EVENT TRIGGER IF EXISTS faults;
CREATE EVENT TRIGGER faults ON ddl_command_start EXECUTE FUNCTION faults.meet();
"""
_REMOVE = "DROP EVENT TRIGGER IF EXISTS faults; DROP SCHEMA IF EXISTS faults CASCADE"


class PostgresControl:
    """A superuser's connection of its own; used as an async context manager, it leaves no trace."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._connection: psycopg.AsyncConnection | None = None
        self._one_at_a_time = asyncio.Lock()

    async def __aenter__(self) -> Self:
        self._connection = await psycopg.AsyncConnection.connect(self._dsn, autocommit=True)
        await self._connection.execute(_INSTALL.encode())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._connection:
            await self._connection.execute("SELECT pg_advisory_unlock_all()")
            await self._connection.execute(_REMOVE)
            await self._connection.close()

    async def refuse(self, backend: int) -> None:
        """From now on every DDL statement of this backend raises, until `let_go`."""
        await self._ask("SELECT pg_advisory_lock(%s, %s)", _REFUSE, backend)

    async def hold(self, backend: int) -> None:
        """From now on every DDL statement of this backend waits, until `let_go`."""
        await self._ask("SELECT pg_advisory_lock(%s, %s)", _HOLD, backend)

    async def let_go(self, backend: int) -> None:
        """Ends `refuse` and `hold` for this backend; harmless if there was neither."""
        await self._ask(
            """SELECT pg_advisory_unlock(classid::int, objid::int) FROM pg_locks
               WHERE locktype = 'advisory' AND classid IN (%s, %s) AND objid = %s
                 AND pid = pg_backend_pid() AND granted""",
            *(_REFUSE, _HOLD, backend),
        )

    async def waits(self, backend: int) -> None:
        """Returns when this backend waits in the event trigger."""
        waiting = "SELECT 1 FROM pg_locks WHERE pid = %s AND classid = %s AND NOT granted"
        while not await self._ask(waiting, backend, _HOLD):  # noqa: ASYNC110 - another process's state
            await asyncio.sleep(_POLL)

    async def terminate(self, backend: int) -> None:
        """Ends this backend as an administrator would, and returns when its transaction is rolled back."""
        await self._ask("SELECT pg_terminate_backend(%s)", backend)
        while await self._ask("SELECT 1 FROM pg_stat_activity WHERE pid = %s", backend):  # noqa: ASYNC110 - the same
            await asyncio.sleep(_POLL)

    async def _ask(self, query: LiteralString, *values: int) -> bool:
        """Whether the query gave a row; a cancelled caller leaves the connection in order."""
        return await asyncio.shield(asyncio.ensure_future(self._gives_a_row(query, values)))

    async def _gives_a_row(self, query: LiteralString, values: tuple[int, ...]) -> bool:
        assert self._connection
        async with self._one_at_a_time:
            cursor = await self._connection.execute(query, values)
            return await cursor.fetchone() is not None
