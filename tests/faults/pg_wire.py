"""PostgreSQL's protocol, version 3, as far as a proxy must read it to see statements and their ends."""

import asyncio
import re
import struct
from dataclasses import dataclass, field

# "PostgreSQL 18, 54.7 Message Formats": codes that stand where a startup packet has its version.
_CANCEL = 80877102
_ENCRYPTION = {80877103, 80877104}

FATAL_SHUTDOWN = b"SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0"


@dataclass(frozen=True)
class Message:
    """One message: its type (empty for a startup packet), its payload, and both as they came."""

    kind: bytes
    payload: bytes
    raw: bytes


async def message(reader: asyncio.StreamReader) -> Message:
    """The next message; IncompleteReadError when the other end has closed."""
    head = await reader.readexactly(5)
    payload = await reader.readexactly(struct.unpack("!I", head[1:])[0] - 4)
    return Message(head[:1], payload, head + payload)


def error(fields: bytes) -> bytes:
    """An ErrorResponse of these fields."""
    return b"E" + struct.pack("!I", len(fields) + 4) + fields


async def startup(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[bytes, bool]:
    """The client's startup packet, and whether it only cancels; encryption is declined before."""
    while True:
        head = await reader.readexactly(8)
        length, code = struct.unpack("!II", head)
        packet = head + await reader.readexactly(length - 8)
        if code not in _ENCRYPTION:
            return packet, code == _CANCEL
        writer.write(b"N")


@dataclass
class Statements:
    """What a client executes, in the simple and in the extended protocol, and its transaction blocks."""

    in_block: bool = False
    _prepared: dict[bytes, str] = field(default_factory=dict[bytes, str])

    def executed(self, sent: Message) -> str | None:
        """The text that this message executes, if it does; a Bind stands for the Execute that follows."""
        if sent.kind == b"Q":
            return sent.payload.rstrip(b"\0").decode()
        if sent.kind == b"P":
            name, text, _ = sent.payload.split(b"\0", 2)
            self._prepared[name] = text.decode()
        if sent.kind == b"B":
            return self._prepared.get(sent.payload.split(b"\0", 2)[1], "")
        return None

    def ends(self, text: str) -> bool:
        """Whether this text ends its transaction, so that its changes become visible or are dropped."""
        if re.search(r"^\s*(begin|start\s+transaction)\b", text, re.IGNORECASE):
            self.in_block = True
        if re.search(r"(^|;)\s*(commit|end|abort|rollback(?!\s+to))\b", text, re.IGNORECASE):
            self.in_block = False
        return not self.in_block
