"""A webhook behind a real socket that answers as a test says and keeps what it was sent."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Webhook:
    """What it was sent, and the bytes it answers; no bytes close the connection without an answer."""

    answer: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    port: int = 0
    bodies: list[Any] = field(default_factory=list[Any])
    hang: float = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Read one request, keep its body, answer, and close."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.split("content-length: ")[1].split("\r\n")[0])
        self.bodies.append(json.loads(await reader.readexactly(length)))
        await asyncio.sleep(self.hang)
        writer.write(self.answer)
        writer.close()


@asynccontextmanager
async def webhook() -> AsyncGenerator[Webhook]:
    """A webhook that listens on a free port of loopback."""
    hook = Webhook()
    server = await asyncio.start_server(hook.serve, "127.0.0.1", 0)
    hook.port = server.sockets[0].getsockname()[1]
    async with server:
        yield hook
