"""The undo of what is critical, from the command line: it waits, and a second person lets it go on."""

import json

from tests.rescind.cli.program import Program, until

DEAR = json.dumps({"tool": "toy.make_dear"})


def test_second_person(program: Program, workflow_id: str) -> None:
    """The dry run says it, the screen how to answer, `approvals` has it, and it goes on once somebody else agrees."""
    words = ("make", "dear", "--workflow-id", workflow_id, "--task-queue", program.task_queue, "--plan", DEAR)
    assert program.run(*words).code == 0
    assert "It waits until a second person agrees" in program.run("undo", workflow_id, "--dry-run").out
    with program.started("undo", workflow_id, "--who", "anna", "--note", "regretted") as process:
        said = until(process, "waits for approval by 2 people (1 have) until")
        assert "It waits until a second person agrees" in said
        shown = program.run("approvals", "--limit", "500").out
        assert "critical: make_dear#1: toy.make_dear " in shown
        assert "approved by anna (regretted), it takes 2 different people" in shown
        own = program.run("approve", workflow_id, "--who", "anna")
        assert own.code == 2, own
        assert "another one is needed" in own.err
        agreed = program.run("approve", workflow_id, "--who", "ben", "--note", "so do I")
        assert agreed.code == 0, agreed
        assert "undo is approved by anna: regretted; ben: so do I" in agreed.out
        assert process.stdout is not None
        assert "undone: exact" in process.stdout.read()
        assert process.wait(30) == 0


def test_nobody_is_named(program: Program, workflow_id: str) -> None:
    """It is refused with 2 before anything is looked at."""
    for who in (" ", "a" * 201):
        ran = program.run("undo", workflow_id, "--who", who)
        assert (ran.code, "--who has to name somebody" in ran.err) == (2, True), ran
