"""The ledger's statements on their way to the database: one statement is one round trip and one transaction."""

import functools
import json
from collections.abc import Sequence
from types import TracebackType
from typing import Any, LiteralString, Self, cast

from rescind.ledger._errors import (
    EffectFenced,
    IllegalTransition,
    LedgerBehind,
    LedgerError,
    LedgerNotInstalled,
    LedgerUnavailable,
    TakenOver,
)
from rescind.ledger._session import Trouble
from rescind.ledger._sessions import Sessions
from rescind.ledger._version import VERSION

Answer = dict[str, Any]

# Classes of SQLSTATE that say something about the server, not about the statement: connection, rollback,
# resources, object not available, operator's intervention, system, internal.
_SERVER_TROUBLE = ("08", "25", "40", "53", "55", "57", "58", "XX")
# The server sends these instead of an answer when it ends a connection; the transaction was rolled back.
_ENDED_BY_SERVER = frozenset({"57P01", "57P02", "57P03", "57P05"})
_READ_ONLY = "25006"
"""A server that was a primary once; another connection may lead to the one that is it now."""

_OPENING = 10.0
"""Seconds for which a worker that starts waits for the database."""


class LedgerConnection:
    """Connections that survive a restart of the server."""

    def __init__(self, dsn: str, *, connections: int = 8) -> None:
        self._sessions = Sessions(dsn, connections)

    async def __aenter__(self) -> Self:
        try:
            self._sessions.give_back(await self._sessions.take(patience=_OPENING))
        except LedgerUnavailable as error:
            raise LedgerUnavailable(
                "The ledger's database does not answer. Nothing was begun. Look at its address and server.",
                ran=False,
            ) from error
        try:
            await self._check_version()
        except BaseException:
            self._sessions.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._sessions.close()

    async def _check_version(self) -> None:
        try:
            version = (await self._call("select rescind.version()", ()))["version"]
        except LedgerNotInstalled:
            version = None
        if version != VERSION:
            found = f"a ledger of version {version}" if version else "no ledger"
            raise LedgerNotInstalled(
                f"The database has {found}, this program speaks version {VERSION}. Nothing was changed. "
                "An administrator installs it with: python -m rescind.ledger install --dsn ..."
            )

    async def _call(self, statement: LiteralString, values: Sequence[object]) -> Answer:
        """Run one function of the ledger; it is sent a second time only if the first provably did not run."""
        sent = [_text(value) for value in values]
        try:
            return await self._once(statement, sent)
        except LedgerUnavailable as error:
            if error.ran is not False or not isinstance(error.__cause__, Trouble):
                raise
        self._sessions.close_idle()
        return await self._once(statement, sent)

    async def _once(self, statement: LiteralString, values: Sequence[bytes | None]) -> Answer:
        session = await self._sessions.take()
        try:
            answer = await session.ask(_numbered(statement), values)
        except Trouble as error:
            if error.sqlstate == _READ_ONLY:
                session.close()
            raise _translated(error, statement) from error
        finally:
            self._sessions.give_back(session)
        return cast("Answer", answer and json.loads(answer.decode()))


@functools.cache
def _numbered(statement: str) -> str:
    """A statement with `$1`, `$2` for its parameters in order instead of `%s`."""
    first, *parts = statement.split("%s")
    return first + "".join(f"${number}{part}" for number, part in enumerate(parts, 1))


def _text(value: object) -> bytes | None:
    """A parameter as the text that PostgreSQL reads its type from."""
    match value:
        case None:
            return None
        case str():
            if "\x00" in value:
                raise LedgerError("PostgreSQL's text has no NUL character. Nothing was sent.")
            return value.encode()
        case bool():
            return b"true" if value else b"false"
        case list():
            return f"{{{','.join(map(str, cast('list[int]', value)))}}}".encode()
        case _:
            return str(value).encode()


def _translated(error: Trouble, statement: str) -> LedgerError:
    match error.sqlstate:
        case "RS001":
            epoch, owner, saga = (error.detail or "0||").split("|", 2)
            return TakenOver(saga, owner or None, int(epoch))
        case "RS002":
            return EffectFenced(error.text)
        case "RS003":
            return IllegalTransition(error.text)
        case "RS004":
            return LedgerBehind()
        case "3F000" | "42883":
            return LedgerNotInstalled(f"The database has no ledger: {error.text}. Nothing was changed.")
        case _:
            return _unavailable(error, statement)


def _unavailable(error: Trouble, statement: str) -> LedgerError:
    name = statement.partition("rescind.")[2].partition("(")[0]
    if error.sqlstate is not None and not error.sqlstate.startswith(_SERVER_TROUBLE):
        return LedgerError(
            f"The ledger refused {name}: {error.text} (SQLSTATE {error.sqlstate}). It changed nothing."
        )
    # An answer with an error code says that the transaction was rolled back; without one nothing is known.
    if error.sqlstate is not None:
        retry = error.sqlstate in _ENDED_BY_SERVER
        return LedgerUnavailable(
            f"The ledger did not take {name}: {error.text} (SQLSTATE {error.sqlstate}). It changed nothing.",
            ran=False if retry else None,
        )
    return LedgerUnavailable(
        f"The connection to the ledger broke during {name}: {error.text}. Whether it is on record is not "
        "known. No effect was begun by it, and an attempt that has not reported counts as unproven. Try again.",
    )


def rows(answer: Answer, name: str) -> list[Answer]:
    """The list of objects under one name of an answer."""
    return cast("list[Answer]", answer[name])
