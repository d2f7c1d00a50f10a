"""Points of no return from the command line: shown while the saga waits, approved and rejected."""

import json
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from tests.rescind.cli.program import Program, until


@contextmanager
def making_that_asks(
    program: Program, saga: str, plan: dict[str, str] | None = None
) -> Generator[subprocess.Popen[str]]:
    """The command that starts a saga which tells something first; killed at the end if it still runs."""
    told = json.dumps(plan or {"tell": "hello"})
    words = ("--workflow-id", saga, "--task-queue", program.task_queue, "--plan", told)
    with program.started("make", "a", *words) as process:
        yield process


def waiting(program: Program, saga: str) -> dict[str, Any]:
    """What waits of a saga."""
    for _ in range(30):
        found = json.loads(program.run("approvals", "--limit", "500", "--json").out)
        for each in found:
            if each["workflow"] == saga:
                return dict(each)
        time.sleep(0.1)
    raise AssertionError(f"{saga} does not wait")


def test_approve(program: Program, workflow_id: str) -> None:
    """The screen says that it waits and how to approve it; who approved it and why is on record, and it goes on."""
    with making_that_asks(program, workflow_id) as making:
        said = until(making, "waits for approval until")
        assert f"toy approve {workflow_id} --step tell_world#1" in said
        shown = waiting(program, workflow_id)
        assert (shown["step"], shown["tool"], shown["people"], shown["approved_by"]) == (
            "tell_world#1",
            "toy.tell_world",
            1,
            [],
        )
        assert workflow_id in program.run("approvals", "--limit", "500").out
        other = program.run("approve", workflow_id, "--step", "make_thing#1")
        assert other.code == 2, other
        assert "Nothing was sent. Waiting: tell_world#1." in other.err
        approved = program.run("approve", workflow_id, "--who", "anna", "--note", "go ahead")
        assert approved.code == 0, approved
        assert "tell_world#1 is approved by anna: go ahead" in approved.out
        assert making.stdout is not None
        assert "done: every step stands" in making.stdout.read()
        assert making.wait(30) == 0
    again = program.run("approve", workflow_id)
    assert again.code == 2, again
    assert "Nothing was sent" in again.err


def test_the_whole_request_is_shown(program: Program, workflow_id: str) -> None:
    """Also what is too long for the step's words."""
    long = "x" * 300
    with making_that_asks(program, workflow_id, {"tell": long}) as making:
        until(making, "waits for approval until")
        waiting(program, workflow_id)
        assert f"  name: {long}\n" in program.run("approvals", "--limit", "500", COLUMNS="80").out


def test_reject(program: Program, workflow_id: str) -> None:
    """It has failed, with who rejected it and why, and the command that started it ends with 1."""
    with making_that_asks(program, workflow_id) as making:
        until(making, "waits for approval until")
        rejected = program.run("reject", workflow_id, "--who", "ben", "--note", "too early")
        assert rejected.code == 0, rejected
        assert making.stdout is not None
        assert "tell_world#1 failed: rejected by ben: too early" in making.stdout.read()
        assert making.wait(30) == 1
