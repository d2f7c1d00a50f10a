"""Runs the toy program as people do: a process of its own, by its command line."""

import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of one command."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Program:
    """The toy program in one environment, on one task queue."""

    environment: dict[str, str]
    task_queue: str

    def command(self, *words: str) -> list[str]:
        """The command line."""
        return [sys.executable, "-m", "tests.rescind.cli.toy_program", *words]

    def run(self, *words: str, **settings: str) -> Ran:
        """Run one command to its end."""
        done = subprocess.run(
            self.command(*words),
            cwd=ROOT,
            env=self.environment | settings,
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def make(self, *things: str, workflow_id: str, **settings: str) -> Ran:
        """Make things."""
        return self.run(
            "make", *things, "--workflow-id", workflow_id, "--task-queue", self.task_queue, **settings
        )

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start a command and do not wait for it."""
        return subprocess.Popen(
            self.command(*words),
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    @contextmanager
    def worker(self, plan: dict[str, list[str]] | None = None) -> Generator[subprocess.Popen[str]]:
        """A worker process with a plan of what goes wrong; killed at the end if it still runs."""
        words = ("work", "--task-queue", self.task_queue, "--world", json.dumps(plan or {}))
        with self.started(*words) as process:
            until(process, "ready")
            yield process

    @contextmanager
    def started(self, *words: str) -> Generator[subprocess.Popen[str]]:
        """A command that is not waited for; killed at the end if it still runs."""
        process = self.start(*words)
        try:
            yield process
        finally:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


def until(process: subprocess.Popen[str], words: str) -> str:
    """Read a process's output until a line has these words, and return what was read."""
    assert process.stdout is not None
    read = ""
    for line in process.stdout:
        read += line
        if words in line:
            return read
    raise AssertionError(f"it ended without saying {words!r}: {read}")
