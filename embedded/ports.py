"""Picks ports on loopback and remembers them, so that a restart keeps every address that is still free."""

import contextlib
import json
import random
import socket
from collections.abc import Collection, Iterable
from pathlib import Path

import psutil

LOOPBACK = "127.0.0.1"
OURS = range(10_000, 32_768)
"""Below those that Linux and others give to outgoing connections, so that none of these takes ours meanwhile."""


def is_free(port: int) -> bool:
    """True if a server could listen on `port` of 127.0.0.1 now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return not answers(port)


def answers(port: int) -> bool:
    """True if something accepts connections on `port` of 127.0.0.1; waits a second at most."""
    with contextlib.suppress(OSError), socket.create_connection((LOOPBACK, port), timeout=1):
        return True
    return False


def holder(port: int) -> str:
    """Who listens on `port` of this machine, in words; some systems tell it to root only."""
    with contextlib.suppress(psutil.Error, OSError):
        for connection in psutil.net_connections("tcp"):
            listens = connection.status == psutil.CONN_LISTEN and tuple(connection.laddr)[1:] == (port,)
            if listens and connection.pid:
                return f"process {connection.pid} ({psutil.Process(connection.pid).name()})"
    return "another program"


def choose(names: Iterable[str], memory: Path, wanted: dict[str, int]) -> dict[str, int]:
    """Gives each name a port that is free now: the one it wants, else the one it had, else any.

    The choice is written to `memory`. A wanted port of 0 means any free one.
    """
    had = remembered(memory)
    chosen: dict[str, int] = {}
    for name in names:
        tries = (wanted.get(name, 0), had.get(name, 0))
        port = next((p for p in tries if p and p not in chosen.values() and is_free(p)), None)
        chosen[name] = port or any_free(chosen.values())
    memory.write_text(json.dumps(chosen, indent=2) + "\n")
    return chosen


def any_free(given: Collection[int] = ()) -> int:
    """A port that nobody has now and that is not `given` away; by chance, so that two who ask hardly meet."""
    while (port := random.choice(OURS)) in given or not is_free(port):  # noqa: S311 - no secret
        pass
    return port


def remembered(memory: Path) -> dict[str, int]:
    """What `choose` wrote last; empty if there is nothing readable."""
    try:
        read = json.loads(memory.read_text())
        return {str(name): int(port) for name, port in read.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
