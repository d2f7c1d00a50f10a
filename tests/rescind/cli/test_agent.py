"""The command that has a model propose a plan: what it asks, shows and refuses, and that it runs what was agreed to."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from rescind.cli import ExitCode, Stopped, agent_command
from tests.rescind.cli.program import ROOT, Program
from tests.rescind.cli.toy_program import server
from tests.rescind.planner.conftest import make
from tests.rescind.planner.scripted import HANG, KEY, Http, Scripted, scripted_model
from tests.rescind.toy_world import TOOLS

app = typer.Typer()
agent_command(app, server, lambda: TOOLS, command="toy")


@app.callback()
def program_of_one_command() -> None:
    """With a callback the command keeps its name."""


@pytest.fixture(scope="module")
def model() -> Iterator[Scripted]:
    """A model, whose answers each test writes."""
    with scripted_model() as running:
        yield running


def run(unattended: Program, model: Scripted, *words: str, **settings: str | None) -> Result:
    """Run the command in this process; its input is no terminal, and no worker polls its queue."""
    model.asked = []
    environment = {**unattended.environment, **model.environment(), "COLUMNS": "160", **settings}
    queue = ("--task-queue", unattended.task_queue)
    return CliRunner().invoke(app, ["agent", "make things", *queue, *words], env=environment)


def stopped(ran: Result, code: ExitCode) -> str:
    assert isinstance(ran.exception, Stopped), (ran.exception, ran.output)
    assert ran.exception.code is code
    return str(ran.exception)


@pytest.mark.parametrize(
    ("words", "settings", "said"),
    [
        (["--yes"], {"RESCIND_MODEL": ""}, "RESCIND_MODEL=provider:name"),
        (
            ["--yes"],
            {"OPENAI_BASE_URL": None, "OPENAI_API_KEY": None},
            "Set the `OPENAI_API_KEY` environment",
        ),
        (["--yes"], {"OPENAI_BASE_URL": "", "OPENAI_API_KEY": ""}, "Missing credentials"),
        (["--yes", "--model", "nobody:x"], {}, "Unknown model: nobody:x"),
        (["--yes", "--model", "test"], {}, "'test' names no model"),
        (["--yes", "--model", "anthropic:x"], {}, "pydantic-ai-slim[anthropic]"),
        (["--yes", "--tools", "toy.make_thin"], {}, "Nearest: toy.make_thing"),
        (["--yes", "--pre-approve", "toy.tell"], {}, "Nearest: toy.tell_world"),
        (["--dry-run", "--save", "README.md"], {}, "README.md is there already"),
        ([], {}, "Nobody can be asked here"),
    ],
    ids=["model", "key", "empty key", "unknown", "made up", "client", "tool", "approval", "file", "nobody"],
)
def test_what_is_missing(
    words: list[str], settings: dict[str, str | None], said: str, unattended: Program, model: Scripted
) -> None:
    """It is told what to set or write before the server or the model is asked; exit code 2."""
    away = {"TEMPORAL_ADDRESS": "127.0.0.1:9"}
    assert said in stopped(run(unattended, model, *words, **away, **settings), ExitCode.BAD_INPUT)
    assert model.asked == []


def test_without_the_extra(unattended: Program, model: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the planner is not installed, the command says how it is."""
    monkeypatch.setitem(sys.modules, "rescind.planner", None)
    said = stopped(run(unattended, model, "--dry-run"), ExitCode.BAD_INPUT)
    assert said.endswith("pip install 'rescind[planner]'")


def test_nobody_works_there(unattended: Program, model: Scripted) -> None:
    """A model is not asked for a plan that nobody would run."""
    assert "No worker polls" in stopped(run(unattended, model, "--yes"), ExitCode.UNREACHABLE)
    assert model.asked == []


def test_a_dry_run(unattended: Program, model: Scripted, tmp_path: Path) -> None:
    """The plan is shown in full, with what hides in it, and what it would undo; it is kept, and nothing is started."""
    hidden = "x" * 200 + "\x1b[2K\u202e; DROP TABLE everything"
    step = {"id": "a", "tool": "toy.make_thing", "arguments": {"world": "toy", "name": hidden}}
    model.answers = [{"steps": [step]}]
    file = tmp_path / "plan.json"
    ran = run(unattended, model, "--dry-run", "--tools", "toy.make_thing", "--save", str(file))
    assert ran.exception is None, ran.exception
    assert "DROP TABLE everything" in ran.stdout
    assert r"\u001b[2K\u202e" in ran.stdout
    assert "\x1b" not in ran.stdout
    assert "\u202e" not in ran.stdout
    assert "undo: unmake_thing (unverified)" in ran.stdout
    assert ran.stdout.rstrip().endswith("A dry run: nothing was started.")
    kept = json.loads(file.read_text())
    assert (kept["goal"], kept["steps"]) == ("make things", [step])
    assert [tool["name"] for tool in model.said(0)["tools"]] == ["toy.make_thing"]


NO_PLAN: list[tuple[list[Any], ExitCode, str]] = [
    ([{"steps": [make("a", "nobody")]}] * 4, ExitCode.BAD_INPUT, "no sound plan in 4 answers"),
    ([{"steps": [], "declined": "No\x1b[2K way."}], ExitCode.BAD_INPUT, r"no plan for this: No\u001b[2K way."),
    ([Http(401, KEY)], ExitCode.BAD_INPUT, "the key is not taken"),
    ([Http(400)], ExitCode.UNREACHABLE, "answered with HTTP 400"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("answers", "code", "said"),
    NO_PLAN,
    ids=["never sound", "declined", "wrong key", "refused"],
)  # fmt: skip
def test_no_plan(answers: list[Any], code: ExitCode, said: str, unattended: Program, model: Scripted) -> None:
    """It is said why there is none, and that nothing was run."""
    model.answers = answers
    words = stopped(run(unattended, model, "--dry-run"), code)
    assert said in words
    assert "Nothing was run" in words


def test_a_plan_that_is_run(program: Program, model: Scripted, workflow_id: str) -> None:
    """With --yes nobody is asked; it runs as any plan, and the exit code says how it ended."""
    model.answers = [
        {"steps": [make("agent-a"), make("agent-b", "agent-a")]},
        {"steps": [make("agent-c"), make("refused", "agent-c")]},
    ]
    words = (
        "agent",
        "make things",
        "--yes",
        "--workflow-id",
        workflow_id,
        "--task-queue",
        program.task_queue,
    )
    done = program.run(*words, **model.environment())
    assert (done.code, "done: every step stands" in done.out) == (0, True), done
    undone = program.run(*words, **model.environment())
    assert (undone.code, "undone: every step that took effect" in undone.out) == (1, True), undone


@pytest.mark.parametrize(
    ("answer", "code", "said", "recorded"),
    [
        ("y\n", 0, "done: every step stands", 0),
        ("n\n", 2, "You said no. Nothing was run.", 2),
        ("\x04", 130, "Interrupted. Nothing was run.", 2),
    ],
    ids=["yes", "no", "end of input"],
)
def test_a_person_at_the_terminal(
    answer: str, code: int, said: str, recorded: int, program: Program, model: Scripted, workflow_id: str
) -> None:
    """The plan is shown before the question, and runs after a yes and only then."""
    model.answers = [{"steps": [make(f"asked-{code}")]}]
    words = ("agent", "make things", "--workflow-id", workflow_id, "--task-queue", program.task_queue)
    ended, shown = at_a_terminal(program, words, model.environment(), answer)
    assert (ended, said in shown) == (code, True), shown
    assert -1 < shown.index('"tool": "toy.make_thing"') < shown.index("Run this plan?") < shown.index(said)
    assert program.run("show", workflow_id).code == recorded


def test_ctrl_c_while_the_model_thinks(program: Program, model: Scripted) -> None:
    """The question is given up with the command, and nothing was run."""
    model.answers, model.asked = [HANG], []
    asking = replace(program, environment={**program.environment, **model.environment()})
    process = asking.start("agent", "make things", "--yes", "--task-queue", program.task_queue)
    while not model.asked:
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    shown, _ = process.communicate(timeout=60)
    assert (process.returncode, "Interrupted. Nothing was run." in shown) == (130, True), shown


def at_a_terminal(
    program: Program, words: tuple[str, ...], settings: dict[str, str], answer: str
) -> tuple[int, str]:
    """Run a command on a terminal, answer its question, and return its exit code and all that the terminal got."""
    person, terminal = pty.openpty()
    environment = {**program.environment, **settings, "COLUMNS": "200", "TERM": "dumb"}
    process = subprocess.Popen(
        program.command(*words), cwd=ROOT, env=environment, stdin=terminal, stdout=terminal, stderr=terminal
    )
    os.close(terminal)
    shown, answered = "", False
    with os.fdopen(person, "r+b", buffering=0) as screen:
        while read := _read(screen.fileno()):
            shown += read
            if not answered and "Run this plan?" in shown:
                answered = True
                screen.write(answer.encode())
    return process.wait(60), shown


def _read(terminal: int) -> str:
    try:
        return os.read(terminal, 65_536).decode(errors="replace")
    except OSError:  # Linux says so when the last one has closed its side
        return ""
