"""A PostgreSQL that fails on chosen transactions: a proxy before it, and an event trigger in it."""

import asyncio
from collections.abc import Mapping
from typing import Self

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.faults.pg_connection import PostgresConnection
from tests.faults.pg_control import PostgresControl
from tests.faults.pg_wire import startup
from tests.faults.script import Script

OPERATIONS = {
    "rename table": r"\balter\s+table\b.*\brename\s+to\b",
    "add column": r"\balter\s+table\b.*\badd\s+column\b",
    "drop column": r"\balter\s+table\b.*\bdrop\s+column\b",
}


class PostgresFaults(Script):
    """A FaultyProvider before a PostgreSQL server, for clients that connect with `through(dsn)`.

    A call is a transaction with a DDL statement in it that belongs to an operation; the first such statement
    names it. REFUSE, UNAVAILABLE and HOLD meet it at that statement (the event trigger raises or waits, or
    the backend is terminated), the other faults at the COMMIT that ends it. Used as an async context manager;
    the event trigger is gone when it is left.
    """

    def __init__(self, admin_dsn: str, operations: Mapping[str, str] = OPERATIONS) -> None:
        """`admin_dsn` is a superuser's, of the database to fail; `operations` are regular expressions."""
        super().__init__(operations)
        self._operations = operations
        self._upstream = conninfo_to_dict(admin_dsn)
        self._control = PostgresControl(admin_dsn)
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    def through(self, dsn: str) -> str:
        """The same database and role as `dsn`, reached through this provider."""
        if not self._server:
            raise RuntimeError("the proxy is not started: use `async with`")
        port = self._server.sockets[0].getsockname()[1]
        return make_conninfo(dsn, host="127.0.0.1", port=port)

    async def __aenter__(self) -> Self:
        await self._control.__aenter__()
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await self.clear()
        finally:
            if self._server:
                self._server.close()
            for connection in self._connections:
                connection.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)
            await self._control.__aexit__()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            packet, cancels = await startup(reader, writer)
            server = await self._connect()
            try:
                server[1].write(packet)
                if cancels:
                    await server[0].read()
                    return
                client = (reader, writer)
                await PostgresConnection(self, self._operations, self._control, client, server).run()
            finally:
                server[1].close()
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client went before it had said anything, or the server is not there
        finally:
            writer.close()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        host, port = str(self._upstream.get("host") or "127.0.0.1"), self._upstream.get("port") or 5432
        if host.startswith("/"):
            return await asyncio.open_unix_connection(f"{host}/.s.PGSQL.{port}")
        return await asyncio.open_connection(host, int(port))
