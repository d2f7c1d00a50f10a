"""`python -m embedded up` as a process of its own, to be stopped and killed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from embedded import Description, running

ROOT = Path(__file__).parents[2]
LIMIT = 90.0  # seconds


class Up:
    """One such process and what it prints."""

    def __init__(
        self, directory: Path, *words: str, environment: Mapping[str, str], prefix: tuple[str, ...]
    ) -> None:
        self.directory = directory
        self.output = directory.with_suffix(".out")
        command = [*prefix, sys.executable, "-m", "embedded", "up", "--directory", str(directory), *words]
        with self.output.open("wb") as out:
            self.process = subprocess.Popen(
                command,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=ROOT,
                env=environment,
                start_new_session=True,
            )

    def said(self) -> str:
        """All that it has printed so far."""
        return self.output.read_text()

    def ready(self) -> Description:
        """Waits until all stand-ins run."""
        limit = time.monotonic() + LIMIT
        while time.monotonic() < limit:
            assert self.process.poll() is None, self.said()
            if found := running(self.directory):
                return found
            time.sleep(0.1)
        raise AssertionError(self.said())

    def end(self, number: signal.Signals) -> int:
        """Sends the signal and returns the exit code."""
        self.process.send_signal(number)
        return self.process.wait(LIMIT)

    def kill_group(self) -> None:
        """SIGKILL to the whole process group, as a closed terminal or an impatient person does it."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@contextmanager
def up(
    directory: Path,
    *words: str,
    environment: Mapping[str, str] | None = None,
    prefix: tuple[str, ...] = (),
) -> Generator[Up]:
    """Runs it on this folder, and leaves no process behind however the test ends."""
    words = words or ("--ui-port", "0")
    started = Up(directory, *words, environment=environment or os.environ, prefix=prefix)
    try:
        yield started
    finally:
        if started.process.poll() is None:
            started.end(signal.SIGTERM)


def processes_of(found: Description) -> list[psutil.Process]:
    """Every process of these stand-ins that still lives, leashes and the servers' own children too."""
    owned = {one for service in found.services.values() for one in (service.process, service.leash)}
    alive = [process for one in owned if (process := one.process())]
    children: list[psutil.Process] = []
    for process in alive:
        with suppress(psutil.NoSuchProcess):  # it may end while we look
            children += process.children(recursive=True)
    return alive + children


def wait_until_gone(found: Description) -> None:
    """Returns when nothing of these stand-ins runs any more; fails after 30 seconds."""
    limit = time.monotonic() + 30
    while left := processes_of(found):
        assert time.monotonic() < limit, left
        time.sleep(0.05)
