"""The command undo: the whole saga, a part of it, twice, and what it would do."""

import asyncio

import pytest
from temporalio.client import Client

from rescind import Outcome, SagaReport
from rescind.saga import QUERY
from tests.rescind.cli.program import Program
from tests.rescind.toy_workflows import MakeThings, Plan


def report(program: Program, saga: str) -> SagaReport:
    """What the ledger has of a saga."""
    return SagaReport.model_validate_json(program.run("show", saga, "--json").out)


def test_undo(program: Program, workflow_id: str) -> None:
    """A saga that is done is undone: 0, and once more is 0 too, with nothing to do."""
    assert program.make("alpha", "beta", workflow_id=workflow_id).code == 0
    ran = program.run("undo", workflow_id, "--note", "regretted", "--who", "anna")
    assert ran.code == 0, ran
    assert "Its undo takes back 2 steps, in this order:" in ran.out
    assert "undone: exact" in ran.out
    told = report(program, workflow_id)
    assert (told.outcome, told.error) == (Outcome.UNDONE, "undone after the fact, anna: regretted")
    again = program.run("undo", workflow_id)
    assert again.code == 0, again
    assert "Nothing of it stands: it is undone already" in again.out


def test_dry_run(program: Program, workflow_id: str) -> None:
    """It shows tool, state, window, risk, what the undo does and what the lookup finds, and touches nothing."""
    assert program.make("gamma", workflow_id=workflow_id).code == 0
    before = report(program, workflow_id)
    ran = program.run("undo", workflow_id, "--dry-run", COLUMNS="200")
    assert ran.code == 0, ran
    for words in (
        "make_thing#1",
        "medium",
        "at any time",
        "Make a thing; it is taken away again",
        "now: it is there",
        "Nothing was touched.",
    ):
        assert words in ran.out
    assert report(program, workflow_id) == before


def test_part(program: Program, workflow_id: str) -> None:
    """A step is undone, the rest stands and is shown as left alone; a step that is not there is refused with 2."""
    assert program.make("delta", "epsilon", workflow_id=workflow_id).code == 0
    ran = program.run("undo", workflow_id, "--step", "make_thing#2")
    assert ran.code == 0, ran
    assert "Left alone: make_thing#1." in ran.out
    told = report(program, workflow_id)
    assert [step.state for step in told.steps] == ["applied", "undone"]
    assert "partly undone since" in program.run("show", workflow_id).out
    again = program.run("undo", workflow_id, "--step", "make_thing#2")
    assert (again.code, "Nothing of make_thing#2 stands" in again.out) == (0, True), again
    missing = program.run("undo", workflow_id, "--step", "make_thing#9")
    assert missing.code == 2, missing
    assert "it has make_thing#1, make_thing#2. Nothing was touched." in missing.err


def test_conflict(program: Program, workflow_id: str) -> None:
    """What is somebody else's by now is left, and named: 3."""
    assert program.make("zeta", "theirs", workflow_id=workflow_id).code == 0
    ran = program.run("undo", workflow_id)
    assert ran.code == 3, ran
    assert "theirs is somebody else's now" in ran.out
    assert [step.state for step in report(program, workflow_id).steps] == ["undone", "stuck"]
    assert program.run("waive", workflow_id, "make_thing#2", "--note", "let it be").code == 0


async def test_running(program: Program, workflow_id: str, client: Client) -> None:
    """A running saga is refused with 2, and goes on."""
    plan = Plan(world="toy", things=[f"eta-{workflow_id}"], wait=1)
    handle = await client.start_workflow(MakeThings.run, plan, id=workflow_id, task_queue=program.task_queue)
    while not (await handle.query(QUERY, result_type=SagaReport)).steps:
        pass
    ran = await asyncio.to_thread(program.run, "undo", workflow_id)
    assert ran.code == 2, ran
    assert "Not undone: its workflow is running; cancel that, and it undoes its steps itself." in ran.err
    await handle.signal(MakeThings.go)
    assert await handle.result() == [f"eta-{workflow_id}"]


@pytest.mark.parametrize("words", [("no-such-saga",), ()])
def test_nothing(program: Program, words: tuple[str, ...]) -> None:
    """A saga that is not there, and none at all, end with 2."""
    assert program.run("undo", *words).code == 2


def test_server_is_away(program: Program) -> None:
    """Without Temporal nothing is undone: 4."""
    ran = program.run("undo", "any", TEMPORAL_ADDRESS="127.0.0.1:1")
    assert ran.code == 4, ran
