"""A worker as a process of its own, which ends with the demo however that ends."""

import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from embedded import Description
from embedded.processes import Leashed, Program, launch

ROOT = Path(__file__).parents[1]


def start_worker(stack: Description, environment: Mapping[str, str]) -> Leashed:
    """Start `worker.py`; returns once it polls.

    Raises:
        StandInFailedError: It does not come up; the message has its last lines.
    """
    log = stack.directory / "log" / "worker.log"
    begin = log.stat().st_size if log.exists() else 0

    def polls() -> bool:
        with log.open("rb") as file:
            file.seek(begin)
            return b" polls the task queue" in file.read()

    own = dict(environment) | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    worker = launch(Program("worker", [sys.executable, str(ROOT / "worker.py")], 0, polls, own), log)
    try:
        worker.wait_until_ready(threading.Event())
    except BaseException:
        stop_worker(worker)
        raise
    return worker


def stop_worker(worker: Leashed) -> None:
    """Let the worker finish its running steps, for ten seconds at most, and wait until it is gone."""
    worker.let_go()
    worker.wait_until_gone()


def run_starter(environment: Mapping[str, str], *words: str) -> int:
    """Run `starter.py` to its end, with our own output as its output, and return its exit code."""
    sys.stdout.flush()
    command = [sys.executable, str(ROOT / "starter.py"), *words]
    return subprocess.run(command, env=dict(environment), check=False).returncode  # noqa: S603  (our own words)
