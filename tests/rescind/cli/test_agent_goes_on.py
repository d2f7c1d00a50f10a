"""The command whose plan goes on after a failure: what it shows, what people are asked, and which processes may die."""

from __future__ import annotations

import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from tests.rescind.cli.program import Program
from tests.rescind.cli.test_agent import at_a_terminal
from tests.rescind.planner.conftest import make
from tests.rescind.planner.scripted import HANG, Held, Scripted, scripted_model


def fails() -> dict[str, Any]:
    """A plan that makes a thing of its own, and fails at its second step."""
    thing = {"world": "toy", "name": f"before-{uuid.uuid4().hex[:8]}"}
    return {"steps": [make("before") | {"arguments": thing}, make("refused", "before")]}


@pytest.fixture(scope="module")
def one_model() -> Iterator[Scripted]:
    """The scripted model's server."""
    with scripted_model() as running:
        yield running


@pytest.fixture
def model(one_model: Scripted) -> Scripted:
    """A model, whose answers each test writes."""
    one_model.answers, one_model.asked = [], []
    return one_model


def words(program: Program, workflow_id: str, *more: str) -> tuple[str, ...]:
    queue = ("--task-queue", program.task_queue)
    return ("agent", "make things", "--workflow-id", workflow_id, *queue, "--continuations", "1", *more)


def until(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    while not condition():
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)


def test_it_goes_on(program: Program, model: Scripted, workflow_id: str) -> None:
    """With --yes nobody is asked: the steps go on where the first part has failed, and all of it is done."""
    model.answers = [fails(), {"steps": [make("instead")]}]
    done = program.run(*words(program, workflow_id, "--yes"), **model.environment())
    assert (done.code, "done: every step stands" in done.out) == (0, True), done
    assert "plan.go_on after=refused" in done.out
    assert "then=instead" in done.out


def test_it_never_goes_on(program: Program, model: Scripted, workflow_id: str) -> None:
    """All is undone with exit code 1; the first error is told, and below it why it did not go on."""
    model.answers = [fails()] + [{"steps": [make("before")]}] * 4
    undone = program.run(*words(program, workflow_id, "--yes"), **model.environment())
    assert (undone.code, len(model.asked)) == (1, 5), undone
    assert "refused#1 failed: refused is not allowed" in undone.out
    assert "the model gave nothing sound to go on with in 4 answers" in " ".join(undone.out.split())


def test_a_person_is_asked(program: Program, model: Scripted, workflow_id: str) -> None:
    """`approvals` shows the whole of it, `approve` lets it go on, and the command that follows sees it through."""
    model.answers = [fails(), {"steps": [make(f"agreed-{uuid.uuid4().hex[:8]}")]}]
    with ThreadPoolExecutor(1) as beside:
        following = beside.submit(
            at_a_terminal, program, words(program, workflow_id), model.environment(), "y\n"
        )
        while workflow_id not in (waiting := program.run("approvals").out):
            assert not following.done(), following.result()
        agreed = program.run("approve", workflow_id, "--note", "fine")
        code, shown = following.result(60)
    assert (agreed.code, code, "done: every step stands" in shown) == (0, 0, True), (agreed, shown)
    of_this = waiting[waiting.index(workflow_id) :]
    for said in ("then=agreed-", "    agreed-", '"world": "toy"', "undo: unmake_thing", "undone are before"):
        assert said in of_this, of_this


def test_the_worker_dies_while_the_model_is_asked(
    unattended: Program, model: Scripted, workflow_id: str
) -> None:
    """The next worker goes on from the same place, with the answer, and nothing is done twice."""
    program = replace(unattended, task_queue=f"toy-{uuid.uuid4()}")
    free = threading.Event()
    model.answers = [fails(), Held({"steps": [make("instead")]}, free)]
    asking = replace(program, environment={**program.environment, **model.environment()})
    with program.worker({"make refused": ["refuse"]}) as first:
        process = asking.start(*words(program, workflow_id, "--yes"))
        until(lambda: len(model.asked) == 2, process)
        first.kill()
        first.wait()
    free.set()
    with program.worker():
        shown, _ = process.communicate(timeout=80)
    assert (process.returncode, "done: every step stands" in shown) == (0, True), shown
    assert len(model.asked) == 2
    assert "before#2" not in shown


def test_the_command_dies_while_the_model_is_asked(
    program: Program, model: Scripted, workflow_id: str
) -> None:
    """Nobody has the key any more: all is undone, and whoever watches is told why."""
    model.answers = [fails(), HANG]
    asking = replace(program, environment={**program.environment, **model.environment()})
    process = asking.start(*words(program, workflow_id, "--yes"))
    until(lambda: len(model.asked) == 2, process)
    process.kill()
    process.communicate()
    undone = program.run("watch", workflow_id)
    assert undone.code == 1, undone
    assert "refused#1 failed: refused is not allowed" in undone.out
    assert "nobody was there to ask the model within 20 seconds" in " ".join(undone.out.split())
