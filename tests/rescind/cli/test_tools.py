"""The command that shows and exports the catalogue."""

import json

import pytest
import typer
from typer.testing import CliRunner, Result

from rescind.cli import ExitCode, Stopped, tools_command
from tests.rescind.toy_world import TOOLS

app = typer.Typer()
tools_command(app, lambda: TOOLS)


@app.callback()
def program() -> None:
    """With a callback the command keeps its name."""


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["tools", *words])


def test_the_table() -> None:
    """Each tool with its class, its risk and its undo, and below it what it does."""
    lines = run().stdout.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("toy.tell_world"))
    assert lines[at].split(maxsplit=3)[1:] == ["irreversible", "high", "none; a person is asked"]
    assert lines[at + 1].strip() == "Say something; it can't be unsaid. Checked before the call."
    assert next(line for line in lines if line.startswith("toy.count_things")).endswith("not needed")


def test_json() -> None:
    """All facts and both schemas, for the tools that are named, in that order."""
    found = json.loads(run("--json", "toy.tell_world", "toy.make_thing").stdout)
    assert [(each["name"], each["class"]) for each in found] == [
        ("toy.tell_world", "irreversible"),
        ("toy.make_thing", "compensatable"),
    ]
    assert [each["is_checked"] for each in found] == [True, True]
    assert found[0]["request"]["required"] == ["world", "name"]
    assert "note" in found[0]["result"]["properties"]


@pytest.mark.parametrize(
    ("form", "key"), [("openai", "function"), ("anthropic", "input_schema"), ("mcp", "_meta")]
)
def test_the_forms(form: str, key: str) -> None:
    """A list of definitions as that kind of host takes them."""
    found = json.loads(run("--format", form).stdout)
    assert len(found) == len(TOOLS)
    assert all(key in each for each in found)


def test_an_unknown_tool() -> None:
    """It is bad input, and the nearest names are told."""
    ran = run("toy.make_think")
    assert isinstance(ran.exception, Stopped)
    assert ran.exception.code is ExitCode.BAD_INPUT
    assert "Nearest: toy.make_thing" in str(ran.exception)
