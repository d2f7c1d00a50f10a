"""A mail server that keeps every mail it has said yes to, and misbehaves at each step as the sandbox is told."""

import asyncio
import email
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiosmtpd.smtp import SMTP, Envelope, Session

from embedded.sandbox.faults import BALLAST, HEADER, Fault, Meeting, told
from embedded.sandbox.plans import Plans
from embedded.sandbox.storage import Storage

OK = "250 2.0.0 OK"
LARGEST = 10_000_000  # bytes of a mail
GARBAGE = "\x01<<this is no reply>>"
REPLIES = {
    Fault.REFUSE: "550 5.7.1 Refused; nothing was done",
    Fault.UNAVAILABLE: "451 4.3.0 Try again later; nothing was done",
    Fault.THROTTLED: "421 4.7.0 Too many mails; closing the connection",
    Fault.ERROR_AFTER: "451 4.3.0 Something went wrong on our side",
    Fault.GARBAGE: GARBAGE,
    Fault.NO_HTTP: GARBAGE,
    Fault.HUGE: f"{OK} {BALLAST}",
}


class Mailbox:
    """What the server does at each command; the mails are in the database before their sender is told so."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._plans = Plans(storage)
        self._running: set[asyncio.Task[str]] = set()

    async def handle_MAIL(  # noqa: N802 - aiosmtpd's name
        self, server: "Connection", _session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        """Takes the sender."""

        async def act() -> None:
            envelope.mail_from = address
            envelope.mail_options.extend(options)

        return await self.meet(server, Command("mail.from", f"MAIL FROM:<{address}>", act))

    async def handle_RCPT(  # noqa: N802
        self, server: "Connection", _session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        """Takes one recipient."""

        async def act() -> None:
            envelope.rcpt_tos.append(address)
            envelope.rcpt_options.extend(options)

        return await self.meet(server, Command("mail.rcpt", f"RCPT TO:<{address}>", act))

    async def handle_DATA(self, server: "Connection", _session: Session, envelope: Envelope) -> str:  # noqa: N802
        """Keeps the mail, once its final dot has come."""
        content = bytes(envelope.original_content or b"")
        headers = email.message_from_bytes(content)
        sender, recipients = envelope.mail_from or "", list(envelope.rcpt_tos)

        async def act() -> None:
            await self._storage.rows(
                "insert into mail (sender, recipients, content) values (%s, %s, %s)",
                *(sender, recipients, content),
            )

        try:
            meeting = told(str(headers[HEADER])) if headers[HEADER] else None
        except ValueError as error:
            return f"554 5.6.0 The header Sandbox-Fault: {error}; nothing was done"
        body = "\n".join([sender, *recipients]).encode() + content
        key = str(headers["Message-ID"]) if headers["Message-ID"] else None
        line = f"DATA from <{sender}> to {', '.join(recipients)}"
        return await self.meet(server, Command("mail.end", line, act, key, body, meeting))

    async def handle_exception(self, _error: Exception) -> str:
        """An error of ours, such as a database that is gone, is for a while only."""
        return "451 4.3.0 Local error; nothing is known of this command"

    async def meet(self, server: "Connection", command: "Command") -> str:
        """Does one command with its fault; it goes on when the client goes, which cancels the caller."""
        task = asyncio.create_task(self._meet(server, command))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)

    async def _meet(self, server: "Connection", command: "Command") -> str:
        body = command.body or command.line.encode()
        number, met = await self._plans.arrive(
            command.operation, command.key, command.line, body, command.told
        )
        fault = met.fault if met else None
        done = False
        try:
            if fault is Fault.LATE and met:
                await server.gone.wait()
                await asyncio.sleep(met.seconds)
            if fault is None or fault.acts or fault is Fault.STALE:
                await command.act()
                done = True
        finally:
            acted = done and command.operation == "mail.end"
            await self._plans.leave(number, 250 if done else None, acted=acted)
        return await server.answer(fault)


@dataclass(frozen=True)
class Command:
    """One step of the dialogue: what it is called in plans, what it does, and what a plan can tell it by."""

    operation: str
    line: str
    act: Callable[[], Awaitable[None]]
    key: str | None = None
    body: bytes = b""
    told: Meeting | None = None


class Connection(SMTP):
    """One client's connection, which can be cut, and which tells when its client has gone."""

    def __init__(self, mailbox: Mailbox) -> None:
        super().__init__(
            mailbox, data_size_limit=LARGEST, hostname="sandbox", ident="Rescind", enable_SMTPUTF8=True
        )
        self.gone = asyncio.Event()
        self._mailbox = mailbox

    def connection_lost(self, error: Exception | None) -> None:
        """The client has gone, or was cut off."""
        self.gone.set()
        super().connection_lost(error)

    def eof_received(self) -> bool | None:
        """The client has gone."""
        self.gone.set()
        return super().eof_received()

    async def smtp_DATA(self, arg: str) -> None:  # noqa: N802
        """Lets the mail come, unless a fault is planned for the command itself."""

        async def act() -> None:
            return

        if self.envelope and self.envelope.rcpt_tos and not arg:
            addresses = "\n".join([self.envelope.mail_from or "", *self.envelope.rcpt_tos]).encode()
            reply = await self._mailbox.meet(self, Command("mail.data", "DATA", act, body=addresses))
            if reply != OK:
                await self.push(reply)
                return
        await super().smtp_DATA(arg)

    async def answer(self, fault: Fault | None) -> str:
        """The reply to give; it does not come back where there is to be none."""
        if fault in (Fault.DROP_BEFORE, Fault.DROP_AFTER) and isinstance(self.transport, asyncio.Transport):
            self.transport.abort()
        if fault in (Fault.DROP_BEFORE, Fault.DROP_AFTER, Fault.HANG, Fault.HANG_AFTER, Fault.LATE):
            await self.gone.wait()
        if fault is Fault.THROTTLED:
            await self.push(REPLIES[fault])
            if self.transport:
                self.transport.close()
            await self.gone.wait()
        return REPLIES.get(fault, OK) if fault else OK


@asynccontextmanager
async def receiving(dsn: str, host: str, port: int) -> AsyncGenerator[int]:
    """Inside the block mails are received on the port that it gives; 0 asks for a free one."""
    async with Storage(dsn, most=6) as storage:
        mailbox = Mailbox(storage)
        server = await asyncio.get_running_loop().create_server(lambda: Connection(mailbox), host, port)
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            server.close()
