"""worker.py as people use it: how it starts, how it stops, and what it says when it can't."""

import signal
import uuid
from pathlib import Path

from embedded import Description, isolated, running
from tests.application import Application, until


def test_sigterm_finishes_the_step(idle_application: Application) -> None:
    """SIGTERM in mid-step lets the step finish: one attempt, exit code 0, and the next worker goes on after it."""
    one = Application(idle_application.environment)
    name = f"w-{uuid.uuid4().hex[:8]}"
    slow = (
        "--up",
        f'CREATE TABLE "{name}" AS SELECT 1 AS one FROM pg_sleep(3)',
        "--down",
        f'DROP TABLE "{name}"',
    )
    words = (
        "--name",
        name,
        *slow,
        "--pre-approve",
        "chat.notify",
        "--on",
        "ecs",
        "--task-queue",
        one.task_queue,
    )
    with one.worker() as worker, one.started("starter.py", "provision", *words) as starter:
        until(starter, "migrate#1")
        worker.send_signal(signal.SIGTERM)
        said, _ = worker.communicate(timeout=60)
        assert worker.returncode == 0, said
        assert "Finishing the running steps" in said
        assert "WARNING" not in said
        with one.worker():
            rest, _ = starter.communicate(timeout=90)
    assert starter.returncode == 0, rest
    assert "try 2" not in rest


def test_interrupt(idle_application: Application) -> None:
    """Ctrl-C ends an idle worker with 130."""
    with Application(idle_application.environment).worker() as worker:
        worker.send_signal(signal.SIGINT)
        said, _ = worker.communicate(timeout=60)
        assert worker.returncode == 130, said


def test_second_worker_finds_the_stand_ins(idle_application: Application, stack: Description) -> None:
    """Where the environment names no server, the running stand-ins are used, and it says which.

    It is a fresh worker with the sandbox, the whole workflow package and all tools: it starts (scenario 30).
    """
    bare = Application(isolated(idle_application.environment, stack.directory))
    with bare.started("worker.py", "--directory", str(stack.directory)) as worker:
        said = until(worker, "polls the task queue 'rescind'")
    assert (
        f"{stack.services['temporal'].address}, namespace default, the stand-ins in {stack.directory}" in said
    )


def test_no_server(idle_application: Application) -> None:
    """Without a server it ends with 4 and names the address that it tried."""
    ran = idle_application.run("worker.py", TEMPORAL_ADDRESS="127.0.0.1:1")
    assert ran.code == 4, ran
    assert "127.0.0.1:1" in ran.err


def test_no_ledger(idle_application: Application) -> None:
    """Without a ledger, with one that is away, and with a database that has none, it ends with 4 and says which."""
    unset = idle_application.run("worker.py", RESCIND_LEDGER_DSN="")
    away = idle_application.run("worker.py", RESCIND_LEDGER_DSN="postgresql://nobody@127.0.0.1:1/none")
    admin = idle_application.environment["RESCIND_LEDGER_ADMIN_DSN"]
    empty = idle_application.run("worker.py", RESCIND_LEDGER_DSN=admin.replace("/ledger", "/postgres"))
    assert (unset.code, away.code, empty.code) == (4, 4, 4), (unset, away, empty)
    assert "RESCIND_LEDGER_DSN is not set" in unset.err
    assert "does not answer" in away.err
    assert "python -m rescind.ledger install" in empty.err


def test_embedded(idle_application: Application, tmp_path: Path) -> None:
    """With --embedded it brings up the stand-ins, ignores an environment that names others, and ends them with it."""
    words = ("--embedded", "--directory", str(tmp_path), "--ui-port", "0")
    elsewhere = {"TEMPORAL_ADDRESS": "temporal.example.com:7233"}
    with idle_application.started("worker.py", *words, **elsewhere) as worker:
        said = until(worker, "polls the task queue")
        assert str(tmp_path.resolve()) in said
        assert running(tmp_path) is not None
        worker.terminate()
        rest, _ = worker.communicate(timeout=90)
    assert worker.returncode == 0, rest
    assert running(tmp_path) is None
