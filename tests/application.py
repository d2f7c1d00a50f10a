"""This application's own programs, run as people run them: worker.py and starter.py as processes."""

import json
import subprocess
import sys
import uuid
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from embedded.environment import SOCKET_VARIABLE
from embedded.world import World, snapshot
from rescind.ledger import install

ROOT = Path(__file__).parents[1]
LEDGER_LOGIN = "rescind_ledger_worker"


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of one command."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Application:
    """The programs in one environment, on a task queue of their own."""

    environment: dict[str, str]
    task_queue: str = field(default_factory=lambda: f"application-{uuid.uuid4()}")

    @contextmanager
    def started(self, program: str, *words: str, **settings: str) -> Generator[subprocess.Popen[str]]:
        """A program with all its output in one pipe; killed at the end if it still runs."""
        process = subprocess.Popen(
            [sys.executable, program, *words],
            cwd=ROOT,
            env=self.environment | settings,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()

    def run(self, program: str, *words: str, **settings: str) -> Ran:
        """Run a program to its end."""
        done = subprocess.run(
            [sys.executable, program, *words],
            cwd=ROOT,
            env=self.environment | settings,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def provision(self, *words: str, **settings: str) -> Ran:
        """Provision an environment, with the last step approved."""
        approved = ("--pre-approve", "chat.notify", "--on", "ecs", "--task-queue", self.task_queue)
        return self.run("starter.py", "provision", *words, *approved, **settings)

    @contextmanager
    def worker(self) -> Generator[subprocess.Popen[str]]:
        """A worker that polls and knows one more webhook, `revoked`; killed at the end if it still runs."""
        settings = {"RESCIND_CHAT_WEBHOOKS": webhooks_with_a_revoked_one(self.environment)}
        with self.started("worker.py", "--task-queue", self.task_queue, **settings) as process:
            until(process, "polls the task queue")
            yield process

    def world(self) -> World:
        """Everything outside but Docker's containers, since others use that engine, and these tests ECS."""
        return snapshot({name: each for name, each in self.environment.items() if name != SOCKET_VARIABLE})


def until(process: subprocess.Popen[str], words: str) -> str:
    """Read a process's output until a line has these words, and return what was read."""
    assert process.stdout is not None
    read = ""
    for line in process.stdout:
        read += line
        if words in line:
            return read
    raise AssertionError(f"it ended without saying {words!r}: {read}")


def webhooks_with_a_revoked_one(environment: dict[str, str]) -> str:
    """The webhooks, and `revoked`, which leads to a place that the chat does not have."""
    webhooks = json.loads(environment["RESCIND_CHAT_WEBHOOKS"])
    return json.dumps(webhooks | {"revoked": webhooks["ops"].replace("/hook/", "/revoked/")})


@pytest.fixture(scope="session")
def idle_application(stack_environment: dict[str, str]) -> Application:
    """The application with its ledger and without a worker."""
    install(stack_environment["RESCIND_LEDGER_ADMIN_DSN"], workers=[LEDGER_LOGIN])
    return Application(stack_environment)


@pytest.fixture(scope="session")
def application(idle_application: Application) -> Iterator[Application]:
    """The application with a worker."""
    attended = Application(idle_application.environment)
    with attended.worker():
        yield attended
