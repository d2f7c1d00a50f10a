"""The connections of one process to the ledger's database."""

from __future__ import annotations

import asyncio

import psycopg

from rescind.ledger._errors import LedgerUnavailable
from rescind.ledger._session import Session

PATIENCE = 5.0
"""Seconds for which a statement waits for a connection."""

_PAUSE = 0.2


class Sessions:
    """At most so many connections, made when they are needed; the one that was used last is used next.

    Args:
        dsn: The connection string.
        most: Connections at most.
    """

    def __init__(self, dsn: str, most: int) -> None:
        self._dsn = dsn
        self._free = asyncio.Semaphore(most)
        self._idle: list[Session] = []
        self._closed = False

    async def take(self, *, patience: float = PATIENCE) -> Session:
        """A connection that is up, for one statement; give it back after it.

        Raises:
            LedgerUnavailable: There was none for so many seconds; nothing was sent.
        """
        if not self._free.locked():
            await self._free.acquire()
            if session := self._living():
                return session
            self._free.release()
        last: list[str] = []
        try:
            async with asyncio.timeout(patience):
                return await self._waited_for(last)
        except TimeoutError:
            raise LedgerUnavailable(
                f"The ledger's database gave no connection within {patience:g} seconds"
                f"{''.join(f' ({why})' for why in last)}. The statement was not sent, and nothing was begun by it. "
                "It is safe to try again.",
                ran=False,
            ) from None

    def give_back(self, session: Session) -> None:
        """Keep a connection for the next statement; after `close` there is none, and it is ended."""
        if self._closed:
            session.close()
        else:
            self._idle.append(session)
        self._free.release()

    def close(self) -> None:
        """End the connections that nobody uses now, and each of the others when it is given back."""
        self._closed = True
        self.close_idle()

    def close_idle(self) -> None:
        """End the connections that nobody uses; when the server has ended one, they end too."""
        while self._idle:
            self._idle.pop().close()

    def _living(self) -> Session | None:
        while self._idle:
            session = self._idle.pop()
            if session.usable:
                return session
            session.close()
        return None

    async def _waited_for(self, last: list[str]) -> Session:
        await self._free.acquire()
        try:
            return self._living() or await self._opened(last)
        except BaseException:
            self._free.release()
            raise

    async def _opened(self, last: list[str]) -> Session:
        while True:
            try:
                return await Session.opened(self._dsn)
            except psycopg.OperationalError as error:
                last[:] = [str(error).strip()]
                await asyncio.sleep(_PAUSE)
