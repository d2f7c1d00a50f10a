"""The two ends of an HTTP/1.1 exchange: the caller that was accepted, and the server that is asked."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus

import h11

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

# Headers that speak of one connection (RFC 9110, 7.6.1), and Expect, which the proxy has answered itself.
_OF_ONE_HOP = {b"connection", b"keep-alive", b"proxy-connection", b"te", b"transfer-encoding", b"upgrade"}
_REWRITTEN = _OF_ONE_HOP | {b"expect", b"content-length"}


@dataclass(frozen=True)
class Answer:
    """A whole response that a provider would give."""

    status: int
    body: bytes = b""
    headers: Sequence[tuple[str, str]] = field(default=())


class Caller:
    """One accepted connection; requests come from it one at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.SERVER)

    async def request(self) -> h11.Request | None:
        """The next request's head, or None when the caller has closed."""
        event = await self.event()
        return event if isinstance(event, h11.Request) else None

    async def event(self) -> h11.Event:
        """The next event from the caller; one that waits for 100 Continue gets it."""
        while True:
            event = self._http.next_event()
            if event is h11.PAUSED:
                raise h11.RemoteProtocolError("the caller went on before it was answered")
            if not isinstance(event, type):
                return event
            if self._http.they_are_waiting_for_100_continue:
                await self.send(h11.InformationalResponse(status_code=100, headers=[]))
            self._http.receive_data(await self._reader.read(65536))

    async def gone(self) -> None:
        """Returns when the caller has closed its end; what it sends before that is kept."""
        try:
            while data := await self._reader.read(65536):
                self._http.receive_data(data)
        except OSError:
            return

    async def send(
        self, event: h11.InformationalResponse | h11.Response | h11.Data | h11.EndOfMessage
    ) -> None:
        """Passes one event on; raises OSError when the caller has gone."""
        if data := self._http.send(event):
            self._writer.write(data)
            await self._writer.drain()

    async def answer(self, answer: Answer) -> bool:
        """Gives a whole answer; true, since the connection can be used again."""
        length = ("Content-Length", str(len(answer.body)))
        headers, reason = [*answer.headers, length], HTTPStatus(answer.status).phrase
        await self.send(h11.Response(status_code=answer.status, headers=headers, reason=reason))
        await self.send(h11.Data(data=answer.body))
        await self.send(h11.EndOfMessage())
        return True

    async def replay(self, events: Sequence[h11.Response | h11.Data | h11.EndOfMessage]) -> bool:
        """Gives an answer that was held back; true, since the connection can be used again."""
        for event in events:
            await self.send(event)
        return True

    async def garbage(self) -> bool:
        """Answers what is no HTTP; false, since the connection can't be used any more."""
        self._writer.write(b"\x00\xff<<this is no answer>>\r\n\r\n")
        await self._writer.drain()
        self._writer.close()
        return False

    def next_cycle(self) -> bool:
        """Makes ready for the next request; false if this connection has had its last."""
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True

    def cut(self) -> None:
        """Ends the connection; what has not been sent yet is lost, unless `garbage` has closed it."""
        if not self._writer.is_closing():
            self._writer.transport.abort()


async def body_of(caller: Caller) -> bytes:
    """The whole body of the request that the caller has begun."""
    parts: list[bytes] = []
    while isinstance(event := await caller.event(), h11.Data):
        parts.append(bytes(event.data))
    return b"".join(parts)


async def ask(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: h11.Request, body: bytes
) -> AsyncIterator[h11.Response | h11.Data | h11.EndOfMessage]:
    """Sends the request on a connection of its own and gives the final response as it comes."""
    http = h11.Connection(h11.CLIENT)
    headers = [(name, value) for name, value in request.headers if name not in _REWRITTEN]
    framing = [(b"connection", b"close"), (b"content-length", str(len(body)).encode())]
    head = h11.Request(method=request.method, target=request.target, headers=headers + framing)
    for event in (head, h11.Data(data=body), h11.EndOfMessage()):
        writer.write(http.send(event) or b"")
    await writer.drain()
    while True:
        answer = http.next_event()
        if answer is h11.NEED_DATA:
            http.receive_data(await reader.read(65536))
        elif isinstance(answer, h11.Response):
            yield _of_next_hop(answer)
        elif isinstance(answer, h11.Data):
            yield answer
        elif isinstance(answer, h11.EndOfMessage):
            yield answer
            return
        elif isinstance(answer, h11.ConnectionClosed):
            raise ConnectionResetError("the provider closed before it had answered")


def _of_next_hop(response: h11.Response) -> h11.Response:
    headers = [(name, value) for name, value in response.headers if name not in _OF_ONE_HOP]
    return h11.Response(status_code=response.status_code, headers=headers, reason=response.reason)
