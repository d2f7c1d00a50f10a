"""Starting, finding and stopping the stand-ins."""

import json
import signal
import socket
import threading
import time
from collections.abc import Iterable
from pathlib import Path

import httpx
import psycopg
import pytest
from temporalio.client import Client

from embedded import AlreadyRunningError, Description, Stack, StandInError, StandInFailedError, running
from embedded.ports import LOOPBACK, answers, choose, is_free
from embedded.state import recorded
from tests.embedded.up import processes_of, up, wait_until_gone


async def test_everything_answers(stack: Description, stack_environment: dict[str, str]) -> None:
    """Each address of the environment is a server that works."""
    client = await Client.connect(stack_environment["TEMPORAL_ADDRESS"], namespace="default")
    assert await client.service_client.check_health()
    async with httpx.AsyncClient(trust_env=False, follow_redirects=True) as browser:
        page = await browser.get(stack.web_ui)
        behind = await browser.get(f"{stack.web_ui}/api/v1/namespaces/default")
    assert "<!doctype html>" in page.text
    assert behind.json()["namespaceInfo"]["name"] == "default"
    logins = {
        stack_environment["RESCIND_LEDGER_DSN"]: ("rescind_ledger_worker", "ledger", "UTF8"),
        stack_environment["RESCIND_LEDGER_ADMIN_DSN"]: ("postgres", "ledger", "UTF8"),
        json.loads(stack_environment["RESCIND_DATABASES"])["app"]: ("app", "app", "UTF8"),
    }
    for dsn, expected in logins.items():
        with psycopg.connect(dsn) as connection:
            asked = "select current_user, current_database(), current_setting('server_encoding')"
            assert connection.execute(asked).fetchone() == expected


def test_history_is_kept_for_a_month(stack: Description) -> None:
    """The namespace's retention is 30 days, not the dev server's one day."""
    ports = json.loads((stack.directory / "ports.json").read_text())
    url = f"http://127.0.0.1:{ports['temporal-http']}/api/v1/namespaces/default"
    assert httpx.get(url, trust_env=False).json()["config"]["workflowExecutionRetentionTtl"] == "2592000s"


def test_secrets_are_readable_by_their_owner_only(stack: Description) -> None:
    """No other user of the machine gets the databases' password from the folder."""
    for name in ("password", "stack.json"):
        assert (stack.directory / name).stat().st_mode & 0o077 == 0


def test_a_second_start_finds_the_first(stack: Description) -> None:
    """It refuses, names the process and the Web UI, and leaves the first as it is."""
    with pytest.raises(AlreadyRunningError) as refused:
        Stack(stack.directory).start()
    assert str(refused.value) == (
        f"The stand-ins in {stack.directory} already run: process {stack.owner.pid}, its Web UI is "
        f"{stack.web_ui}. Use them as they are, or end them with `python -m embedded down` and start again."
    )
    assert running(stack.directory) == stack


def test_a_second_command_finds_the_first(stack: Description) -> None:
    """`up` on the same folder ends at once with exit code 1 and says where the first is."""
    with up(stack.directory) as second:
        assert second.process.wait(60) == 1
        assert stack.web_ui in second.said()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stopped_by_a_signal(tmp_path: Path, number: signal.Signals) -> None:
    """Exit code 0, no process left, every port free, nobody finds it any more."""
    with up(tmp_path / "data") as started:
        found = started.ready()
        assert started.end(number) == 0
        assert "All stand-ins are stopped; their data is kept." in started.said()
    assert processes_of(found) == []
    assert running(tmp_path / "data") is None
    assert recorded(tmp_path / "data") is None
    assert all(is_free(service.port) for service in found.services.values())


def test_stopped_while_it_starts(tmp_path: Path) -> None:
    """SIGTERM before anything is ready ends it cleanly, and the next start works on the same folder."""
    with up(tmp_path / "data") as started:
        while not (tmp_path / "data" / "log").exists():
            assert started.process.poll() is None
        assert started.end(signal.SIGTERM) == 0
    with up(tmp_path / "data") as again:
        again.ready()


def test_one_server_dies(tmp_path: Path) -> None:
    """`up` says what its process served and where its log is, stops the others and ends with exit code 1."""
    with up(tmp_path / "data") as started:
        found = started.ready()
        sandbox = found.services["sandbox"].process.process()
        assert sandbox is not None
        sandbox.kill()
        assert started.process.wait(60) == 1
        said = " ".join(started.said().split())
        assert "Ended by itself: sandbox, mail, stripe. All stand-ins are stopped." in said
        assert said.count("sandbox.log") == 1
    wait_until_gone(found)


def test_a_port_that_is_taken_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that ends since another program listens on one of its ports by now is started again."""
    log = tmp_path / "log" / "temporal.log"

    def release(holder: socket.socket) -> None:
        while not (log.exists() and "address already in use" in log.read_text()):
            time.sleep(0.01)
        holder.close()

    def taken(names: Iterable[str], memory: Path, wanted: dict[str, int]) -> dict[str, int]:
        chosen = choose(names, memory, wanted)
        holder = socket.create_server((LOOPBACK, chosen["temporal"]))
        threading.Thread(target=release, args=(holder,)).start()
        return chosen

    monkeypatch.setattr("embedded.ports.choose", taken)
    with Stack(tmp_path, ui_port=0) as stack:
        assert answers(stack.description.services["temporal"].port)
    assert log.read_text().count("address already in use") == 1


def test_a_server_that_cannot_start(tmp_path: Path) -> None:
    """The error shows what the server said; all others are stopped again."""
    (tmp_path / "temporal.db").write_text("This is no database. " * 100)
    stack = Stack(tmp_path, ui_port=0)
    with pytest.raises(StandInFailedError, match="file is not a database") as failed:
        stack.start()
    assert failed.value.name == "temporal"
    assert recorded(tmp_path) is None
    with pytest.raises(StandInError, match="not started"):
        _ = stack.description
