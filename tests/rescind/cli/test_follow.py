"""Start and follow a saga: what is said, and the exit code, for each way in which it can end."""

import asyncio
import json
import signal
import time

from temporalio.client import Client, WorkflowExecutionStatus

from rescind.cli._server import idle_queues
from tests.rescind.cli.program import Program, until


def test_done(program: Program, workflow_id: str) -> None:
    """A saga that succeeds shows its steps and ends with 0."""
    ran = program.make(f"a-{workflow_id}", f"b-{workflow_id}", workflow_id=workflow_id)
    assert ran.code == 0, ran
    assert "done: every step stands" in ran.out
    assert "make_thing#2" in ran.out
    assert ran.err == ""


def test_undone(program: Program, workflow_id: str) -> None:
    """A saga that fails ends with 1, and names the first error and how well each step was restored."""
    ran = program.make(f"a-{workflow_id}", "refused", workflow_id=workflow_id)
    assert ran.code == 1, ran
    assert "make_thing#2 failed: refused is not allowed" in ran.out
    assert "undone: exact" in ran.out


def test_not_clean(program: Program, workflow_id: str) -> None:
    """A saga that can't take back a step ends with 3 and says what is left."""
    ran = program.make("theirs", "refused", workflow_id=workflow_id)
    assert ran.code == 3, ran
    assert "NOT CLEAN" in ran.out
    assert "theirs is somebody else's now" in ran.out


def test_no_server(program: Program, workflow_id: str) -> None:
    """Without a server it ends with 4 within ten seconds, and says that nothing was started."""
    began = time.monotonic()
    ran = program.make("a", workflow_id=workflow_id, TEMPORAL_ADDRESS="127.0.0.1:1")
    assert ran.code == 4, ran
    assert "127.0.0.1:1" in ran.err
    assert "Nothing was started" in ran.err
    assert time.monotonic() - began < 20  # ten, and the start of a process on a busy machine


def test_no_such_namespace(program: Program, workflow_id: str) -> None:
    """With a wrong namespace it ends with 4 and names it."""
    ran = program.make("a", workflow_id=workflow_id, TEMPORAL_NAMESPACE="nowhere")
    assert ran.code == 4, ran
    assert "nowhere" in ran.err


async def test_no_worker(unattended: Program, workflow_id: str, client: Client) -> None:
    """On a queue that nobody polls it ends with 4, and nothing was started."""
    ran = unattended.make("a", workflow_id=workflow_id)
    assert ran.code == 4, ran
    assert unattended.task_queue in ran.err
    assert "Nothing was started" in ran.err
    assert [each.id async for each in client.list_workflows(f"WorkflowId = '{workflow_id}'")] == []


async def test_worker_was_just_killed(unattended: Program, workflow_id: str, client: Client) -> None:
    """When the server still believes in a worker that is dead, it ends with 4 and says that it was started."""
    lonely = Program(unattended.environment, f"lonely-{workflow_id}")
    with lonely.worker() as worker:
        while await idle_queues(client, lonely.task_queue):  # noqa: ASYNC110  (it happens in the server)
            await asyncio.sleep(0.1)
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        ran = lonely.make("a", workflow_id=workflow_id)
    assert ran.code == 4, ran
    assert f"{workflow_id} was started, and no worker has begun" in ran.err


def test_worker_is_killed_on_the_way(unattended: Program, workflow_id: str) -> None:
    """When the only worker dies it says so, shows the history's steps, and ends well once another goes on."""
    lonely = Program(unattended.environment, f"lonely-{workflow_id}")
    made = ("make", "first", "slow", "--workflow-id", workflow_id, "--task-queue", lonely.task_queue)
    with lonely.worker({"make slow": ["slow", "slow"]}) as worker:
        starter = lonely.start(*made)
        until(starter, "make_thing#2")
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        until(starter, "no worker")
    with lonely.worker():
        rest, _ = starter.communicate(timeout=90)
    assert starter.returncode == 0, rest


def test_runs_already(program: Program, workflow_id: str) -> None:
    """A second start under the id of a running saga ends with 2 and leaves the first one alone."""
    plan = ("--plan", json.dumps({"wait": 0}))
    first = program.start(
        "make", "a", "--workflow-id", workflow_id, "--task-queue", program.task_queue, *plan
    )
    until(first, "Started")
    second = program.make("a", workflow_id=workflow_id)
    first.send_signal(signal.SIGINT)
    said, _ = first.communicate()
    assert second.code == 2, second
    assert "runs already" in second.err
    assert first.returncode == 130
    assert f"toy watch {workflow_id}" in said


async def test_interrupted_and_watched(program: Program, workflow_id: str, client: Client) -> None:
    """Ctrl-C ends with 130 and leaves the saga alone; watching it again ends with how it ended: undone by a cancel."""
    plan = ("--plan", json.dumps({"wait": 1}))
    name = f"a-{workflow_id}"
    first = program.start(
        "make", name, "--workflow-id", workflow_id, "--task-queue", program.task_queue, *plan
    )
    until(first, "applied")
    first.send_signal(signal.SIGINT)
    first.communicate()
    handle = client.get_workflow_handle(workflow_id)
    assert first.returncode == 130
    assert (await handle.describe()).status is WorkflowExecutionStatus.RUNNING
    await handle.cancel()
    watched = program.run("watch", workflow_id)
    assert watched.code == 1, watched
    assert "cancelled: every step that took effect was taken back" in watched.out
    assert "undone: exact" in watched.out


async def test_terminated(program: Program, workflow_id: str, client: Client) -> None:
    """A saga that was terminated with a step that stands is not clean."""
    plan = ("--plan", json.dumps({"wait": 1}))
    name = f"a-{workflow_id}"
    first = program.start(
        "make", name, "--workflow-id", workflow_id, "--task-queue", program.task_queue, *plan
    )
    until(first, "applied")
    await client.get_workflow_handle(workflow_id).terminate()
    said, _ = first.communicate()
    assert first.returncode == 3, said
    assert "NOT CLEAN" in said
    assert "make_thing#1: toy.make_thing" in said
