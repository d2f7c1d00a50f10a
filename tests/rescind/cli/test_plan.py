"""The command that checks, shows and runs plans; a process where it runs one, else in this one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from rescind.cli import ExitCode, Server, Stopped, plan_command
from tests.rescind.cli.program import Program
from tests.rescind.toy_world import TOOLS


async def nowhere() -> Server:
    """Refuses to connect: a plan that is refused or only shown asks no server."""
    raise AssertionError("the server was asked")


app = typer.Typer()
plan_command(app, nowhere, lambda: TOOLS, command="toy")


@app.callback()
def program_of_one_command() -> None:
    """With a callback the command keeps its name."""


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["plan", *words], env={"COLUMNS": "160"})


def refusal(ran: Result) -> str:
    assert isinstance(ran.exception, Stopped), ran.exception
    assert ran.exception.code is ExitCode.BAD_INPUT
    return str(ran.exception)


def make(name: str, *needs: str, tool: str = "toy.make_thing") -> dict[str, Any]:
    return {"id": name, "tool": tool, "arguments": {"world": "toy", "name": name}, "needs": list(needs)}


def written(folder: Path, *steps: dict[str, Any], **more: Any) -> str:
    file = folder / "plan.json"
    file.write_text(json.dumps({"goal": "make things", "steps": steps, **more}))
    return str(file)


def test_everything_wrong_is_told_at_once(tmp_path: Path) -> None:
    """Each problem with its place and the remedy, exit code 2, and no server was asked."""
    file = written(tmp_path, make("a", tool="toy.make_think"), make("b", "c"))
    said = refusal(run(file))
    assert "/steps/0/tool: there is no tool 'toy.make_think'" in said
    assert "Nearest: toy.make_thing" in said
    assert "/steps/1/needs/0: there is no step 'c'" in said
    assert said.endswith("Nothing was started.")


def test_problems_as_json(tmp_path: Path) -> None:
    """A program gets kind, place, message and remedy of each."""
    ran = run(written(tmp_path, make("a", tool="x.y")), "--json")
    refusal(ran)
    (problem,) = json.loads(ran.stdout)
    assert (problem["fault"], problem["place"]) == ("unknown_tool", "/steps/0/tool")


def test_a_dry_run(tmp_path: Path) -> None:
    """It says what each step does and undoes, who is asked, and what a failure would undo and leave."""
    steps = [
        make("tell", tool="toy.tell_world"),
        make("a"),
        make("b", "tell"),
        make("look", tool="toy.count_things"),
    ]
    ran = run(written(tmp_path, *steps), "--dry-run")
    assert ran.exception is None, ran.exception
    lines = [line.strip() for line in ran.stdout.splitlines()]
    assert lines.index("Stage 1") < lines.index("a: toy.make_thing world=toy, name=a")
    assert "undo: unmake_thing (unverified)" in lines
    assert "undo: not needed, it only reads" in lines
    assert "approval: a person has to be asked" in lines
    last = lines[lines.index("b: toy.make_thing world=toy, name=b") :]
    assert "if it fails: undone are a" in last
    assert "and tell is left: toy.tell_world can't be undone; a person has to deal with it" in last
    assert any(line.startswith("Note: /steps/0: tell can't be undone and comes before b") for line in last)
    assert last[-1] == "A dry run: nothing was started."


def test_a_dry_run_as_json(tmp_path: Path) -> None:
    """The same for programs."""
    file = written(tmp_path, make("a"), make("tell", "a", tool="toy.tell_world"))
    found = json.loads(run(file, "--dry-run", "--json", "--pre-approve", "toy.tell_world").stdout)
    assert [(step["step"], step["stage"], step["pre_approved"]) for step in found["steps"]] == [
        ("a", 1, False),
        ("tell", 2, True),
    ]
    assert found["steps"][1]["undone"] == ["a"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("plan.json", "{", "is not JSON"),
        ("plan.yaml", "steps: [", "is not YAML"),
        ("plan.json", "[" * 100_000, "is nested too deep"),
        ("plan.json", " " * 4_000_001, "4000001 characters"),
        ("plan.yaml", "a: &a [x, *a]\nsteps: []", "is not YAML: Circular reference"),
        (
            "plan.yaml",
            "a: &a [x,x,x,x,x,x,x,x,x]\n"
            + "".join(
                f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]\n"
                for a, b in zip("abcdefgh", "bcdefghi", strict=True)
            ),
            "its aliases stand for too much",
        ),
    ],
    ids=["json", "yaml", "deep", "long", "circular", "aliases"],
)
def test_a_file_that_can_not_be_read(name: str, content: str, words: str, tmp_path: Path) -> None:
    """What is no plan at all, or meant to exhaust the reader, is refused before it is looked into."""
    (tmp_path / name).write_text(content)
    assert words in refusal(run(str(tmp_path / name)))


def test_a_plan_that_is_run(program: Program, workflow_id: str, tmp_path: Path) -> None:
    """The command follows it to its end and says by its exit code how it ended."""
    words = ("--workflow-id", workflow_id, "--task-queue", program.task_queue)
    done = program.run("plan", written(tmp_path, make("a"), make("b", "a")), *words)
    assert (done.code, "done: every step stands" in done.out) == (0, True), done
    undone = program.run("plan", written(tmp_path, make("c"), make("refused", "c")), *words)
    assert (undone.code, "undone: every step that took effect" in undone.out) == (1, True), undone
