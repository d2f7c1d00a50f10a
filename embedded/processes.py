"""Starts servers on a leash, waits until they answer, and stops them or what an earlier run left behind."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from embedded.errors import StandInFailedError
from embedded.state import Identity, Service

LEASH = Path(__file__).with_name("_leash.py")
START_LIMIT = 60.0  # seconds; a first start on a busy machine takes some five
STOP_LIMIT = 15.0  # seconds; the leash itself kills after ten
POLL = 0.02  # seconds


@dataclass(frozen=True, slots=True)
class Program:
    """One process to run: the command, where it will listen, and how to ask whether it is ready.

    Attributes:
        name: What its log is called, and its one server.
        also: More servers in the same process, by name, and their ports.
    """

    name: str
    command: list[str]
    port: int
    ready: Callable[[], bool]
    environment: Mapping[str, str]
    end: signal.Signals = signal.SIGTERM
    account: str = ""
    also: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(slots=True)
class Leashed:
    """A server that runs; it ends when this process does."""

    program: Program
    leash: subprocess.Popen[bytes]
    service: Service = field(init=False)

    def services(self) -> dict[str, Service]:
        """The servers of the process by name; all but the first one are those in `also`."""
        more = {
            name: self.service.model_copy(update={"name": name, "port": port})
            for name, port in self.program.also.items()
        }
        return {self.program.name: self.service, **more}

    def wait_until_ready(self, given_up: threading.Event) -> None:
        """Returns once the server answers, or when `given_up` is set; raises if it ends or takes a minute."""
        limit = time.monotonic() + START_LIMIT
        while not given_up.is_set() and not self.program.ready():
            if self.leash.poll() is not None:
                why = f"it ended with code {self.leash.returncode}"
                raise StandInFailedError(self.program.name, why, self.service.log)
            if time.monotonic() > limit:
                why = f"it does not answer after {START_LIMIT:.0f} seconds"
                raise StandInFailedError(self.program.name, why, self.service.log, ended=False)
            time.sleep(POLL)

    def let_go(self) -> None:
        """Asks the server to end; returns at once."""
        if self.leash.stdin:
            self.leash.stdin.close()

    def wait_until_gone(self) -> None:
        """Returns when the server has ended, killed if need be."""
        try:
            self.leash.wait(STOP_LIMIT)
        except subprocess.TimeoutExpired:
            end_all([self.service], patience=0)
            self.leash.wait()


def launch(program: Program, log: Path) -> Leashed:
    """Starts the server in a session of its own, so that Ctrl-C in a terminal reaches only its owner."""
    command = leashed_command(program.command, program.end, program.account)
    with log.open("ab") as out:
        leash = subprocess.Popen(  # noqa: S603 - commands are built in embedded/
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=out,
            env=dict(program.environment),
            start_new_session=True,
        )
    started = Leashed(program, leash)
    assert leash.stdout is not None  # noqa: S101 - it is a pipe
    line = leash.stdout.readline()
    leash.stdout.close()
    try:
        service = Service(
            name=program.name,
            port=program.port,
            process=Identity.of(int(line)),
            leash=Identity.of(leash.pid),
            end=program.end.name,
            log=log,
        )
    except (ValueError, psutil.NoSuchProcess):
        code = leash.wait()
        raise StandInFailedError(program.name, f"it ended at once with code {code}", log) from None
    started.service = service
    return started


def leashed_command(command: list[str], end: signal.Signals, account: str = "") -> list[str]:
    """The command that runs `command` for as long as its standard input is held open."""
    return [sys.executable, "-I", "-S", str(LEASH), end.name, account, *command]


def run(command: list[str], environment: Mapping[str, str], *, account: str = "") -> None:
    """Runs a short program to its end; raises `subprocess.CalledProcessError` with what it said."""
    read, held = os.pipe()
    try:
        subprocess.run(  # noqa: S603 - commands are built in embedded/
            leashed_command(command, signal.SIGTERM, account),
            stdin=read,
            env=dict(environment),
            check=True,
            capture_output=True,
            text=True,
        )
    finally:
        os.close(read)
        os.close(held)


def end_all(services: Iterable[Service], *, patience: float = STOP_LIMIT) -> list[str]:
    """Ends those servers that still live, politely first, and returns their names once all are gone.

    A process that merely has the number of one of ours is left alone. Waits `patience` seconds before it
    kills.
    """
    alive: list[psutil.Process] = []
    names: list[str] = []
    for service in services:
        leash, server = service.leash.process(), service.process.process()
        if leash or server:
            names.append(service.name)
        alive += [process for process in (leash, server) if process]
        with contextlib.suppress(psutil.NoSuchProcess):
            if leash:
                leash.terminate()
            elif server:
                server.send_signal(signal.Signals[service.end])
    _, stubborn = psutil.wait_procs(alive, timeout=patience)
    for process in stubborn:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(stubborn, timeout=STOP_LIMIT)
    return names
