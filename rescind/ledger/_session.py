"""One connection to the ledger's database, which is asked one prepared statement at a time."""

from __future__ import annotations

import asyncio
import select
from collections.abc import Sequence
from typing import Any, Self

import psycopg
from psycopg.pq import DiagnosticField, ExecStatus
from psycopg.pq.abc import PGresult

Connection = psycopg.AsyncConnection[tuple[object, ...]]

_NETWORK: dict[str, Any] = {"connect_timeout": 5, "keepalives_idle": 15, "tcp_user_timeout": 15_000}
_SETTINGS = (
    "set statement_timeout = '10s'; set lock_timeout = '8s'; set idle_in_transaction_session_timeout = '30s';"
    "set default_transaction_isolation = 'read committed'; set timezone = 'UTC'; set client_encoding = 'UTF8'"
)


class Trouble(Exception):
    """A statement was not answered.

    Attributes:
        text: What went wrong, in the server's or the client library's words.
        sqlstate: The server's code, which says that the transaction was rolled back; None if the connection broke,
            and then nobody knows whether the statement was run.
        detail: The server's further words.
    """

    def __init__(self, text: str, sqlstate: str | None = None, detail: str = "") -> None:
        super().__init__(text)
        self.text, self.sqlstate, self.detail = text, sqlstate, detail


class Session:
    """A connection that a running event loop listens to all the time.

    It works below psycopg's cursors, on its wrapper of libpq: a statement of the ledger is one row of one value in
    text, and a cursor's conversions, and its registering with the event loop for each wait, cost more than the rest
    of the client's work.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection, self._pg = connection, connection.pgconn
        self._loop = asyncio.get_running_loop()
        self._socket = self._pg.socket
        self._names: dict[str, bytes] = {}
        self._results: list[PGresult] = []
        self._answer: asyncio.Future[list[PGresult]] | None = None
        self._writing = self._closed = False
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)
        self._loop.add_reader(self._socket, self._read)

    @classmethod
    async def opened(cls, dsn: str) -> Self:
        """Connect; on a failure and on a cancellation no connection is left.

        Raises:
            psycopg.OperationalError: The server does not answer, or refuses.
        """
        connection = await Connection.connect(dsn, autocommit=True, **_NETWORK)
        try:
            await connection.execute(_SETTINGS, prepare=False)
        except BaseException:
            await connection.close()
            raise
        return cls(connection)

    @property
    def usable(self) -> bool:
        """Whether the connection is up and silent.

        Something to read while nothing was asked is the server's farewell: what is sent then is not run.
        """
        return not self._closed and not self._poll.poll(0)

    async def ask(self, statement: str, values: Sequence[bytes | None]) -> bytes | None:
        """Run a statement with parameters in text, in a transaction of its own, and answer with its one value.

        A cancellation closes the connection; whether the statement was run is then not known.

        Raises:
            Trouble: It was not answered.
        """
        name = self._names.get(statement)
        try:
            if name is None:
                name = b"rescind-%d" % len(self._names)
                self._pg.send_prepare(name, statement.encode())
                await self._answered()
                self._names[statement] = name
            self._pg.send_query_prepared(name, values)
        except psycopg.Error as error:
            self.close()
            raise Trouble(str(error)) from error
        return (await self._answered()).get_value(0, 0)

    def close(self) -> None:
        """End the connection; a statement that is running is run to its end by the server."""
        if not self._closed:
            self._closed = True
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)
            self._pg.finish()

    async def _answered(self) -> PGresult:
        self._results = []
        self._answer = self._loop.create_future()
        self._send()
        try:
            results = await self._answer
        except asyncio.CancelledError:
            self.close()
            raise
        finally:
            self._answer = None
        # The commit comes after the statement's own result, and may fail too.
        if results[-1].status == ExecStatus.FATAL_ERROR:
            raise _refusal(results[-1])
        return results[0]

    def _send(self) -> None:
        try:
            waiting = bool(self._pg.flush())
        except psycopg.Error as error:
            self._lost(error)
            return
        if waiting and not self._writing:
            self._loop.add_writer(self._socket, self._send)
        elif self._writing and not waiting:
            self._loop.remove_writer(self._socket)
        self._writing = waiting

    def _read(self) -> None:
        if self._answer is None:
            self.close()
            return
        try:
            self._pg.consume_input()
            while not self._pg.is_busy():
                result = self._pg.get_result()
                if result is None:
                    self._settle()
                    return
                self._results.append(result)
        except psycopg.Error as error:
            self._lost(error)

    def _settle(self) -> None:
        if self._answer and not self._answer.done():
            self._answer.set_result(self._results)

    def _lost(self, error: psycopg.Error) -> None:
        """End a broken connection; what the server said before it broke is its answer."""
        self.close()
        if self._results and self._results[-1].status == ExecStatus.FATAL_ERROR:
            self._settle()
        elif self._answer and not self._answer.done():
            self._answer.set_exception(Trouble(str(error)))


def _refusal(result: PGresult) -> Trouble:
    def field(which: DiagnosticField) -> str:
        return (result.error_field(which) or b"").decode(errors="replace")

    text = field(DiagnosticField.MESSAGE_PRIMARY) or result.get_error_message()
    return Trouble(text, field(DiagnosticField.SQLSTATE) or None, field(DiagnosticField.MESSAGE_DETAIL))
