"""What needs a person, from the command line: shown, and answered by each word in right and wrong states."""

import getpass
import json
import uuid
from itertools import count
from typing import Any

import pytest

from tests.rescind.cli.program import Program

BLIND = ("--plan", json.dumps({"tool": "toy.make_blind"}))


def named(program: Program, saga: str) -> dict[str, Any] | None:
    """The saga on the desk."""
    sagas = json.loads(program.run("desk", "--limit", "500", "--json").out)
    return next((each for each in sagas if each["saga"].startswith(f"{saga}/")), None)


_numbers = count()


@pytest.fixture
def conflict(program: Program, workflow_id: str) -> str:
    """A saga of which one thing is somebody else's by now."""
    assert program.make(f"theirs-{next(_numbers)}", "refused", workflow_id=workflow_id).code == 3
    return workflow_id


@pytest.fixture
def doubt(program: Program, workflow_id: str) -> str:
    """A saga of which nobody can tell whether its step took effect."""
    thing = f"doubtful-{next(_numbers)}"
    ran = program.run("make", thing, "--workflow-id", workflow_id, "--task-queue", program.task_queue, *BLIND)
    assert ran.code == 3, ran
    return workflow_id


def test_desk_and_waive(program: Program, conflict: str) -> None:
    """It is on the desk with what to do; waived it is off the desk, closed and not clean; a second word hears that."""
    on_desk = named(program, conflict)
    assert on_desk is not None
    (step,) = on_desk["steps"]
    assert (step["step"], step["how"], on_desk["error"]) == (
        "make_thing#1",
        "conflict",
        "refused is not allowed",
    )
    shown = program.run("desk", "--limit", "500").out
    assert conflict in shown
    assert "waive" in shown
    waived = program.run("waive", conflict, "make_thing#1", "--note", "they keep it", "--who", "anna")
    assert waived.code == 0, waived
    assert "left standing by anna: they keep it" in waived.out
    assert named(program, conflict) is None
    again = program.run("resolve", conflict, "make_thing#1", "--note", "deleted")
    assert again.code == 2, again
    assert (
        "does not need a person, it is resolved: residue (left standing, says anna: they keep it)"
        in again.err
    )
    report = program.run("show", conflict).out
    assert "NOT CLEAN: closed, and something was left standing" in report
    assert "they keep it" in report
    assert json.loads(program.run("show", conflict, "--json").out)["outcome"] == "left"


def test_retry_and_resolve(program: Program, conflict: str) -> None:
    """A retry in vain ends with 3 and says why; so does a word that the lookup disagrees with, which is taken."""
    retried = program.run("retry", conflict, "make_thing#1")
    assert retried.code == 3, retried
    assert f"somebody else's now; retry by {getpass.getuser()}" in retried.out
    resolved = program.run("resolve", conflict, "make_thing#1", "--note", "deleted")
    assert resolved.code == 3, resolved
    assert "Taken, but its lookup still finds it" in resolved.out
    assert "NOT CLEAN" in program.run("show", conflict).out


def test_confirm(program: Program, doubt: str) -> None:
    """A result that is none is refused with 2; with a right one the step is undone, and the saga is clean."""
    none = program.run("confirm", doubt, "make_blind#1", "--result", "{nonsense")
    assert none.code == 2, none
    assert "--result is not JSON" in none.err
    wrong = program.run("confirm", doubt, "make_blind#1", "--result", '{"nonsense": 1}')
    assert wrong.code == 2, wrong
    assert "the result is no Thing" in wrong.err
    right = program.run("confirm", doubt, "make_blind#1", "--result", '{"name": "doubtful"}')
    assert right.code == 0, right
    assert "undone: " in right.out
    assert "undone: every step that took effect was taken back" in program.run("show", doubt).out


def test_absent(program: Program, doubt: str) -> None:
    """A step in doubt that is said to be absent is closed."""
    ran = program.run("absent", doubt, "make_blind#1", "--note", "asked them")
    assert ran.code == 0, ran
    assert named(program, doubt) is None


def test_what_is_refused(program: Program, conflict: str) -> None:
    """A word that does not fit, an unknown step or saga end with 2 and say what is possible; no server is 4."""
    unfit = program.run("absent", conflict, "make_thing#1")
    unknown = program.run("retry", conflict, "make_thing#9")
    nowhere = program.run("retry", f"nowhere-{uuid.uuid4()}", "make_thing#1")
    blank = program.run("waive", conflict, "make_thing#1", "--note", " ")
    away = program.run("waive", conflict, "make_thing#1", "--note", "x", TEMPORAL_ADDRESS="127.0.0.1:1")
    assert [each.code for each in (unfit, unknown, nowhere, blank, away)] == [2, 2, 2, 2, 4]
    assert "possible: retry, resolve, waive" in unfit.err
    assert "Open: make_thing#1" in unknown.err
    assert "The ledger has no saga" in nowhere.err
    assert "note" in blank.err
