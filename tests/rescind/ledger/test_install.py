"""Installing the ledger: once, again, at once, over a newer one, and by command."""

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from rescind.ledger import Ledger, LedgerNotInstalled, LedgerUnavailable, install
from rescind.ledger._version import VERSION
from tests.rescind.ledger.postgres import Server


@pytest.fixture
def empty_dsn(server: Server) -> Iterator[str]:
    yield server.create_database("empty")
    server.drop_database("empty")


def test_two_start_at_once(empty_dsn: str) -> None:
    """All succeed, and the ledger is there once."""
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(install, [empty_dsn] * 4)) == [VERSION] * 4
    with psycopg.connect(empty_dsn) as connection:
        assert connection.execute("select version from rescind.installed").fetchall() == [(VERSION,)]


async def test_worker_on_an_empty_database(empty_dsn: str) -> None:
    """It hears what is missing and the command that mends it."""
    with pytest.raises(LedgerNotInstalled, match=r"has no ledger.*python -m rescind\.ledger install"):
        await Ledger(empty_dsn).__aenter__()


async def test_ledger_of_a_newer_version(empty_dsn: str) -> None:
    """Neither the installer nor a worker touches it."""
    install(empty_dsn)
    with psycopg.connect(empty_dsn) as connection:
        connection.execute("insert into rescind.installed values (%s, '')", [VERSION + 1])
    with pytest.raises(LedgerNotInstalled, match=rf"version {VERSION + 1}.*up to {VERSION}"):
        install(empty_dsn)
    with pytest.raises(LedgerNotInstalled, match=f"version {VERSION + 1}"):
        await Ledger(empty_dsn).__aenter__()


def test_command(empty_dsn: str) -> None:
    """An operator installs with one command, and a wrong address is a message with exit code 1."""
    command = [sys.executable, "-m", "rescind.ledger", "install", "--dsn"]
    done = subprocess.run([*command, empty_dsn], check=True, capture_output=True, text=True)
    assert done.stdout == f"The ledger is installed, version {VERSION}.\n"
    failed = subprocess.run(
        [*command, "postgresql://127.0.0.1:1/x"], check=False, capture_output=True, text=True
    )
    assert failed.returncode == 1
    assert "cannot be reached" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_wrong_address() -> None:
    """The error says that nothing was changed."""
    with pytest.raises(LedgerUnavailable, match="Nothing was changed"):
        install("postgresql://127.0.0.1:1/x")
