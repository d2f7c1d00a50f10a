"""Hostile or odd surroundings: taken ports, locales, proxies, accounts, stale files, other programs."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import psutil
import psycopg
import pytest

from embedded import Stack, StandInError, environment
from embedded.ports import choose, is_free
from embedded.postgres import remove_stale_lock
from embedded.temporal import find_program, packaged
from tests.embedded.up import up


@contextmanager
def taken_port() -> Generator[int]:
    """A port that this process listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def test_a_port_that_was_asked_for_is_taken(tmp_path: Path) -> None:
    """Nothing is started, and the message names the port and who has it."""
    with taken_port() as port, pytest.raises(StandInError) as refused:
        Stack(tmp_path, ui_port=port).start()
    assert str(refused.value).startswith(
        f"Port {port}, asked for the Web UI, is taken by process {os.getpid()} ("
    )
    assert not (tmp_path / "stack.json").exists()
    assert not (tmp_path / "temporal.db").exists()


def test_a_remembered_port_is_taken(tmp_path: Path) -> None:
    """Another one is chosen; those that are free are kept."""
    memory = tmp_path / "ports.json"
    first = choose(["a", "b"], memory, {})
    with socket.create_server(("127.0.0.1", first["a"])):
        second = choose(["a", "b"], memory, {})
    assert second["a"] != first["a"]
    assert second["b"] == first["b"]
    assert choose(["a", "b"], memory, {}) == second


def test_the_wanted_port_is_taken(tmp_path: Path) -> None:
    """Any free one is taken instead, never one that another name has."""
    with taken_port() as port:
        chosen = choose(["ui", "other"], tmp_path / "ports.json", {"ui": port, "other": port})
    assert port not in chosen.values()
    assert len(set(chosen.values())) == 2


def test_the_memory_of_ports_is_damaged(tmp_path: Path) -> None:
    """It is as if there were none."""
    memory = tmp_path / "ports.json"
    memory.write_text('{"a": "no port"')
    assert is_free(choose(["a"], memory, {})["a"])


def test_another_user(tmp_path: Path) -> None:
    """PostgreSQL and the rest run without root too, under a locale that does not exist."""
    prefix: tuple[str, ...] = ()
    if os.geteuid() == 0:
        if not shutil.which("unshare"):
            pytest.skip("root without unshare can't become another user that may read this folder")
        prefix = ("unshare", "--user", "--map-user=1000", "--map-group=1000")
    odd = {**os.environ, "LC_ALL": "xx_XX.nothing", "LANG": "yy_YY"}
    with up(tmp_path / "data", environment=odd, prefix=prefix) as started:
        found = started.ready()
        with psycopg.connect(environment(found)["RESCIND_LEDGER_ADMIN_DSN"]) as connection:
            assert connection.execute("select lower('ÄÖ'), 'ä' < 'z'").fetchone() == ("äö", False)


@pytest.mark.parametrize(
    "content",
    [f"{os.getpid()}\n/somewhere\n", "999999999\n", "", "nonsense\n"],
    ids=["our own", "nobody's", "empty", "nonsense"],
)
def test_a_stale_postmaster_file(tmp_path: Path, content: str) -> None:
    """One that names another program is removed; the rest is left to PostgreSQL itself."""
    lock = tmp_path / "postmaster.pid"
    lock.write_text(content)
    remove_stale_lock(tmp_path)
    assert lock.exists() == (str(os.getpid()) not in content)


def test_a_postmaster_file_of_a_zombie(tmp_path: Path) -> None:
    """It is removed: a killed server whose parent has not looked yet still has its number."""
    lock = tmp_path / "postmaster.pid"
    with subprocess.Popen(["sleep", "60"]) as killed:
        lock.write_text(f"{killed.pid}\n/somewhere\n")
        killed.kill()
        while psutil.Process(killed.pid).status() != psutil.STATUS_ZOMBIE:
            time.sleep(0.01)
        remove_stale_lock(tmp_path)
    assert not lock.exists()


def test_a_start_with_stale_files(tmp_path: Path) -> None:
    """A half-made data folder, a lock file and a description of processes long gone do not matter."""
    (tmp_path / "postgres").mkdir()
    (tmp_path / "postgres" / "PG_VERSION").write_text("18\n")
    (tmp_path / "lock").write_text("1\n")
    (tmp_path / "stack.json").write_text('{"pid": 1')
    (tmp_path / "aws.jsonl").write_text('{"torn')
    with Stack(tmp_path, ui_port=0) as stack:
        assert stack.description.ready


def program(folder: Path, says: str) -> Path:
    """A `temporal` program that only tells its version."""
    folder.mkdir()
    made = folder / "temporal"
    made.write_text(f"#!/bin/sh\necho '{says}'\n")
    made.chmod(0o755)
    return made


@pytest.mark.parametrize(
    ("says", "why"),
    [
        ("temporal version 0.12.0 (Server 1.24.2, UI 2.28.0)", "its server is older than 1.28"),
        ("something else", "it does not name its server's version ('something else')"),
    ],
)
def test_an_unusable_temporal_on_the_path(tmp_path: Path, says: str, why: str) -> None:
    """The packaged one is used, and a note says why."""
    made = program(tmp_path / "bin", says)
    found = find_program({"PATH": f"{made.parent}:/usr/bin:/bin"})
    assert found.path == packaged()[0]
    assert found.note.startswith(f"{made} is not used: {why}")


def test_a_good_temporal_on_the_path(tmp_path: Path) -> None:
    """It is preferred to the packaged one."""
    made = program(tmp_path / "bin", "temporal version 1.9.1 (Server 1.32.0, UI 2.54.1)")
    found = find_program({"PATH": f"{made.parent}:/usr/bin:/bin"})
    assert (found.path, found.note) == (made, "")


def test_without_git(tmp_path: Path) -> None:
    """The message says that git is missing, and everything is stopped again."""
    (tmp_path / "bin").mkdir()
    nothing = {**os.environ, "PATH": str(tmp_path / "bin")}
    with up(tmp_path / "data", environment=nothing) as started:
        assert started.process.wait(90) == 1
        assert "git is missing" in started.said()


def test_python_without_the_venv_module() -> None:
    """Nothing of the stand-ins needs it."""
    script = (
        "import sys; sys.modules['venv'] = None; sys.modules['ensurepip'] = None; import embedded.commands"
    )

    subprocess.run([sys.executable, "-c", script], check=True, cwd=Path(__file__).parents[2])
