"""No command of the starter crashes at interpreter exit: every exit code is right, every time."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import pytest

from tests.application import Application

RUNS = 200 if os.environ.get("RESCIND_SOAK") else 40
AT_ONCE = 2


@dataclass(frozen=True, slots=True)
class Command:
    """A command, the code that it has to end with, and what its standard error has to begin with."""

    words: tuple[str, ...]
    code: int
    error: str = ""


@pytest.fixture(scope="session")
def done(application: Application) -> str:
    """A saga that is done."""
    assert application.provision("--name", "exits").code == 0
    return "provision-exits"


@pytest.mark.timeout(1500)
def test_exit_codes(application: Application, done: str) -> None:
    """In many runs of commands that speak to Temporal and the ledger, and of those that stop before, none crashes."""
    queue = ("--task-queue", "nobody-polls-this", "--pre-approve", "chat.notify")
    commands = [
        Command(("watch", done), 0, "Temporal: "),
        Command(("show", done, "--json"), 0, "Temporal: "),
        Command(("list",), 0),
        Command(("provision", "--name", "x", "--on", "ecs", *queue), 4, "Temporal: "),
        Command(("watch", "no-such-saga"), 2, "Temporal: "),
        Command(("show",), 2, "Usage: "),
        Command(
            ("provision", "--name", "NO GOOD NAME", "--pre-approve", "chat.notify"), 2, "The command line"
        ),
        Command(("--help",), 0),
    ]
    turns = [commands[number % len(commands)] for number in range(RUNS)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        wrong = [complaint for complaint in pool.map(partial(tried, application), turns) if complaint]
    assert wrong == []


def tried(application: Application, command: Command) -> str:
    """What was wrong with one run; empty if nothing was."""
    ran = application.run("starter.py", *command.words)
    if ran.code != command.code:
        return f"{command.words} ended with {ran.code}, not {command.code}: {ran.err}"
    expected = ran.err.startswith(command.error) if command.error else ran.err == ""
    unwanted = [word for word in ("Traceback", "panicked", "Fatal Python", "core dumped") if word in ran.err]
    return "" if expected and not unwanted else f"{command.words} said: {ran.err}"
