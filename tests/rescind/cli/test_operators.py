"""The commands that read the ledger: show and list, for people and for programs."""

import json

import pytest

from rescind import Outcome, SagaReport
from tests.rescind.cli.program import Program


@pytest.fixture(scope="module")
def undone(program: Program) -> str:
    """A saga that was undone."""
    assert program.make("kept", "refused", workflow_id="toy-undone").code == 1
    return "toy-undone"


def test_show_by_workflow(program: Program, undone: str) -> None:
    """The report of a workflow's newest saga is printed with state, error and restoration."""
    ran = program.run("show", undone)
    assert ran.code == 0, ran
    assert "closed in the ledger" in ran.out
    assert "refused is not allowed" in ran.out
    assert "undone: exact" in ran.out


def test_show_for_programs(program: Program, undone: str) -> None:
    """With --json the output is the report and nothing else; its full id finds it again."""
    ran = program.run("show", undone, "--json")
    report = SagaReport.model_validate_json(ran.out)
    assert report.outcome is Outcome.UNDONE
    assert [step.state for step in report.steps] == ["undone", "absent"]
    assert program.run("show", report.saga, "--json").out == ran.out


def test_show_without_temporal(program: Program, undone: str) -> None:
    """The ledger answers while Temporal is away."""
    ran = program.run("show", undone, TEMPORAL_ADDRESS="127.0.0.1:1")
    assert ran.code == 0, ran
    assert "undone: exact" in ran.out


def test_show_nothing(program: Program) -> None:
    """A saga that is not there ends with 2."""
    ran = program.run("show", "no-such-saga")
    assert ran.code == 2, ran
    assert "no saga 'no-such-saga'" in ran.err


def test_show_without_a_ledger(program: Program) -> None:
    """A ledger that does not answer, and none at all, end with 4."""
    away = program.run("show", "any", RESCIND_LEDGER_DSN="postgresql://nobody@127.0.0.1:1/none")
    unknown = program.run("show", "any", RESCIND_LEDGER_DSN="")
    assert (away.code, unknown.code) == (4, 4), (away, unknown)
    assert "RESCIND_LEDGER_DSN" in unknown.err


def test_watch_nothing(program: Program) -> None:
    """A workflow that is not there ends with 2."""
    assert program.run("watch", "no-such-saga").code == 2


def test_list(program: Program, undone: str) -> None:
    """The newest sagas are listed, for people and for programs."""
    assert undone in program.run("list", "--limit", "500").out
    listed = json.loads(program.run("list", "--limit", "500", "--json").out)
    assert any(each["saga"].startswith(f"{undone}/") and each["state"] == "closed" for each in listed)


def test_bug(program: Program) -> None:
    """An exception that nobody has thought of ends with 70 and says what to report."""
    ran = program.run("break-down")
    assert ran.code == 70, ran
    assert "KeyError: 'a bug'" in ran.err
    assert "Please report" in ran.err


@pytest.mark.parametrize(("words", "code"), [(("--help",), 0), (("nonsense",), 2), (("show",), 2), ((), 2)])
def test_usage(program: Program, words: tuple[str, ...], code: int) -> None:
    """Wrong usage ends with 2, help with 0."""
    assert program.run(*words).code == code
