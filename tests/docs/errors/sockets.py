"""Servers that say what a test wants, byte by byte, on a free port of loopback."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

HANG = b"\x00hang"
"""In place of an answer: nothing is said until the test has ended."""


@contextmanager
def listening(serve: Callable[[socket.socket, threading.Event], None]) -> Generator[int]:
    """Serve one connection after the other; gives the port."""
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)
        thread = threading.Thread(target=_accept, args=(server, serve, over), daemon=True)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            over.set()
            thread.join(10)


def _accept(
    server: socket.socket, serve: Callable[[socket.socket, threading.Event], None], over: threading.Event
) -> None:
    while not over.is_set():
        try:
            connection, _ = server.accept()
        except TimeoutError:
            continue
        with connection:
            connection.settimeout(5)
            serve(connection, over)


@contextmanager
def answering(answer: bytes) -> Generator[int]:
    """An HTTP server that reads a request and says this; no bytes are a cut connection."""

    def serve(connection: socket.socket, over: threading.Event) -> None:
        connection.recv(65536)
        if answer == HANG:
            over.wait(20)
        else:
            connection.sendall(answer)

    with listening(serve) as port:
        yield port


def http(status: int, body: str = "{}", **headers: str) -> bytes:
    """An answer over HTTP."""
    told = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    head = f"HTTP/1.1 {status} Said\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return f"{head}{told}Connection: close\r\n\r\n{body}".encode()


@contextmanager
def speaking_smtp(replies: Sequence[bytes]) -> Generator[int]:
    """A mail server with one reply for each of: the connection, EHLO, MAIL, RCPT, DATA, the final dot.

    After the last one it says nothing more and closes.
    """

    def serve(connection: socket.socket, over: threading.Event) -> None:
        lines = connection.makefile("rb")
        for number, reply in enumerate(replies):
            if number == 5:
                while lines.readline() not in (b".\r\n", b""):
                    pass
            elif number:
                lines.readline()
            if reply == HANG:
                over.wait(20)
                return
            if not reply:
                return
            connection.sendall(reply + b"\r\n")
        lines.readline()

    with listening(serve) as port:
        yield port


@contextmanager
def full() -> Generator[int]:
    """A port whose queue of connections is full, so that a further one is not answered at all."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(server.getsockname())
        try:
            yield server.getsockname()[1]
        finally:
            for each in waiting:
                each.close()
