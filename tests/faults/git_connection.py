"""One connection to the git server: bytes go both ways until the planned fault is met."""

import asyncio
from pathlib import Path

from tests.faults import Fault, Seen
from tests.faults.script import Script

_POLL = 0.01  # seconds; half of what the hook itself waits between two looks

# Band 3 of git's side band carries an error that ends the client.
_BROKEN = b"\x03503 service unavailable\n"
_UNAVAILABLE = b"\x03429 too many requests, retry after 1 second\n"
_GARBAGE = b"<html>this is no answer</html>\n"


class GitConnection:
    """Carries one fetch or push; a push stops at its hooks until it has been told what becomes of it."""

    def __init__(
        self,
        script: Script,
        call: Path,
        process: asyncio.subprocess.Process,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._script = script
        self._call = call
        self._process = process
        self._reader = reader
        self._writer = writer
        self._gone = asyncio.Event()
        self._mute = False
        self._seen: Seen | None = None

    async def run(self) -> None:
        """Returns when git has ended, whether or not the client is still there."""
        tasks = [asyncio.ensure_future(work) for work in (self._upward(), self._meet())]
        try:
            await self._downward()
            await self._process.wait()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if self._seen:
                await self._script.leave(self._seen)

    async def _upward(self) -> None:
        into = self._process.stdin
        assert into
        try:
            while data := await self._reader.read(65536):
                into.write(data)
                await into.drain()
        except OSError:
            pass  # the client was cut off, or git has ended: both end this direction
        self._gone.set()
        into.close()

    async def _downward(self) -> None:
        out = self._process.stdout
        assert out
        while data := await out.read(65536):
            if not self._mute and not self._writer.is_closing():
                self._writer.write(data)

    async def _meet(self) -> None:
        """Meets the fault that is planned for this push; a fetch never comes to its first point."""
        await self._come_to("before")
        operation, refs = _pushed(self._call.with_suffix(".refs").read_text())
        self._seen = seen = await self._script.arrive(operation, refs)
        if not await self._script.may_act(seen.fault, self._gone.wait):
            self._stay_out(seen.fault)
            return
        seen.answer = "rejected"
        self._go_on("before", "go")
        await self._come_to("after")
        seen.answer, seen.acted = "updated", True
        if seen.fault is Fault.HANG_AFTER:
            await self._script.stand(self._gone.wait)
        self._spoil(seen.fault)
        self._go_on("after", "go")

    def _stay_out(self, fault: Fault | None) -> None:
        if fault is Fault.UNAVAILABLE:
            self._say_last(_packet(_UNAVAILABLE))
        self._go_on("before", "refuse" if fault is Fault.REFUSE else "die")

    def _spoil(self, fault: Fault | None) -> None:
        match fault:
            case Fault.ERROR_AFTER:
                self._say_last(_packet(_BROKEN))
            case Fault.GARBAGE:
                self._say_last(_GARBAGE)
            case Fault.DROP_AFTER:
                self._mute = True
                self._writer.transport.abort()
            case _:
                return

    def _say_last(self, data: bytes) -> None:
        self._mute = True
        self._writer.write(data)
        self._writer.close()

    async def _come_to(self, point: str) -> None:
        while not self._call.with_suffix(f".{point}").exists():  # noqa: ASYNC110 - a file has no event
            await asyncio.sleep(_POLL)

    def _go_on(self, point: str, answer: str) -> None:
        part = self._call.with_suffix(".part")
        part.write_text(answer)
        part.rename(self._call.with_suffix(f".{point}.answer"))


def said_to_read(fault: Fault | None) -> bytes:
    """What a client is told in place of the refs that it asks for; nothing where its connection is only cut."""
    match fault:
        case Fault.REFUSE:
            return _packet(b"ERR access denied or repository not exported\n")
        case Fault.UNAVAILABLE:
            return _packet(b"ERR too many requests, retry after 1 second\n")
        case Fault.ERROR_AFTER:
            return _packet(b"ERR service unavailable\n")
        case Fault.GARBAGE:
            return _GARBAGE
        case _:
            return b""


def _packet(payload: bytes) -> bytes:
    return b"%04x" % (len(payload) + 4) + payload


def _pushed(lines: str) -> tuple[str, str]:
    """The operation that the pre-receive lines (old, new, name) make, and what to log of them."""
    updates = [line.split(" ", 2) for line in lines.splitlines()]
    deletes = any(not new.strip("0") for _, new, _ in updates)
    creates = any(not old.strip("0") for old, _, _ in updates)
    refs = " ".join(name for _, _, name in updates)
    return "delete" if deletes else "create" if creates else "update", refs
