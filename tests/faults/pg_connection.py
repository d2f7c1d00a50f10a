"""One connection through the PostgreSQL proxy: it meets its faults at a statement or at its COMMIT."""

import asyncio
import re
import struct
from collections.abc import Mapping

from tests.faults import Fault, Seen
from tests.faults.pg_control import PostgresControl
from tests.faults.pg_wire import FATAL_SHUTDOWN, Message, Statements, error, message
from tests.faults.script import Script, first

_FLAGS = re.IGNORECASE | re.DOTALL
_AT_STATEMENT = {Fault.REFUSE, Fault.UNAVAILABLE, Fault.HOLD}


class PostgresConnection:
    """Carries messages both ways; a call is a transaction with a statement that belongs to an operation."""

    def __init__(
        self,
        script: Script,
        operations: Mapping[str, str],
        control: PostgresControl,
        client: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        server: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        self._script = script
        self._operations = operations
        self._control = control
        self._client, self._to_client = client
        self._server, self._to_server = server
        self._sent: asyncio.Queue[Message | None] = asyncio.Queue()
        self._gone = asyncio.Event()
        self._statements = Statements()
        self._backend = 0
        self._asked = 1  # ReadyForQuery messages that are due; the first one ends the start-up
        self._answered = 0
        self._decisive = 0  # the ReadyForQuery that tells whether the call took effect; 0: not sent yet
        self._decided = asyncio.Event()
        self._seen: Seen | None = None
        self._hold: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Returns when the server has closed, after all that the client had sent was done."""
        tasks = [asyncio.ensure_future(work) for work in (self._listen(), self._upward())]
        try:
            await self._downward()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._end()

    async def _listen(self) -> None:
        try:
            while True:
                self._sent.put_nowait(await message(self._client))
        except (OSError, asyncio.IncompleteReadError):
            self._gone.set()
            self._sent.put_nowait(None)

    async def _upward(self) -> None:
        while sent := await self._sent.get():
            text = self._statements.executed(sent)
            if text is not None and not await self._may_pass(text):
                return
            self._asked += sent.kind in {b"Q", b"S", b"F"}
            self._to_server.write(sent.raw)
        if self._hold:
            await self._hold
        if self._decisive:
            await self._decided.wait()
        self._to_server.close()

    async def _may_pass(self, text: str) -> bool:
        """Meets what the plan has for this statement; false if it must not reach the server."""
        ends = self._statements.ends(text)
        if self._seen is None and await self._is_stopped(text):
            return False
        if ends and self._seen and not self._decisive:
            if self._seen.fault is Fault.HANG_BEFORE:
                await self._script.may_act(self._seen.fault, self._gone.wait)
            self._decisive = self._asked + 1
        return True

    async def _is_stopped(self, text: str) -> bool:
        """Whether a call begins with this statement and is stopped before the server sees it."""
        named = (name for name, pattern in self._operations.items() if re.search(pattern, text, _FLAGS))
        operation = next(named, None)
        if operation is None:
            return False
        self._seen = await self._script.arrive(operation, text)
        match self._seen.fault:
            case Fault.UNAVAILABLE:
                await self._control.terminate(self._backend)
                return True
            case Fault.REFUSE:
                await self._control.refuse(self._backend)
                self._decisive = self._asked + 1
            case Fault.HOLD:
                await self._control.hold(self._backend)
                self._hold = asyncio.ensure_future(self._stand())
            case _:
                pass
        return False

    async def _stand(self) -> None:
        """Stands at the gate while the statement waits in the server; without a client it is rolled back."""
        await first(self._control.waits(self._backend), self._gone.wait())
        if not await self._script.stand(self._gone.wait):
            await self._control.terminate(self._backend)
        await self._control.let_go(self._backend)

    async def _downward(self) -> None:
        kept: list[Message] = []
        try:
            while True:
                got = await message(self._server)
                if got.kind == b"K":
                    self._backend = struct.unpack("!I", got.payload[:4])[0]
                kept.append(got)
                decisive = self._decisive == self._answered + 1
                self._answered += got.kind == b"Z"
                if not decisive:
                    self._pass_on(kept)
                elif got.kind == b"Z":
                    await self._decide(kept)
        except (OSError, asyncio.IncompleteReadError):
            self._pass_on(kept)

    async def _decide(self, answer: list[Message]) -> None:
        """The answer to the end of the call is here: what the client gets of it is up to the fault."""
        seen = self._seen
        assert seen
        seen.answer, seen.acted = _told(answer)
        if seen.fault is Fault.HANG_AFTER:
            await self._script.stand(self._gone.wait)
        match seen.fault:
            case Fault.DROP_AFTER:
                self._to_client.transport.abort()
            case Fault.ERROR_AFTER:
                self._to_client.write(error(FATAL_SHUTDOWN))
                self._to_client.close()
            case Fault.GARBAGE:
                self._to_client.write(b"<html>this is no answer</html>\n")
                self._to_client.close()
            case _:
                self._pass_on(answer)
        self._decided.set()
        await self._end()

    def _pass_on(self, messages: list[Message]) -> None:
        if not self._to_client.is_closing():
            self._to_client.write(b"".join(each.raw for each in messages))
        messages.clear()

    async def _end(self) -> None:
        """The call is over, if there was one."""
        if self._seen is None:
            return
        if self._hold:
            self._hold.cancel()
            await asyncio.gather(self._hold, return_exceptions=True)
        if self._seen.fault in _AT_STATEMENT:
            await self._control.let_go(self._backend)
        seen, self._seen, self._hold, self._decisive = self._seen, None, None, 0
        self._decided.clear()
        await self._script.leave(seen)


def _told(answer: list[Message]) -> tuple[str, bool]:
    """The SQLSTATE or the last command tag, and whether the transaction has been committed."""
    for each in answer:
        if each.kind == b"E":
            fields = each.payload.split(b"\0")
            return next(field[1:].decode() for field in fields if field[:1] == b"C"), False
    tags = [each.payload.rstrip(b"\0").decode() for each in answer if each.kind == b"C"]
    return (tags[-1] if tags else ""), "ROLLBACK" not in tags
