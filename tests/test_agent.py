"""The application's own `agent` command: a goal in words becomes a branch and a bucket, or nothing at all."""

from __future__ import annotations

import uuid

from embedded.world import difference
from tests.application import Application
from tests.rescind.planner.scripted import Scripted, scripted_model


def steps(name: str, start: str) -> dict[str, object]:
    """A plan for a bucket and a branch, as a model writes it for this application's catalogue."""
    bucket = {"id": "bucket", "tool": "s3.create_bucket", "arguments": {"bucket": f"env-{name}"}}
    branch = {"remote": "app", "branch": f"env/{name}", "from_ref": start}
    return {
        "steps": [
            bucket,
            {"id": "branch", "tool": "git.create_branch", "arguments": branch, "needs": ["bucket"]},
        ]
    }


def agent(application: Application, model: Scripted, name: str) -> tuple[int, str]:
    ran = application.run(
        "starter.py",
        "agent",
        f"A bucket env-{name} and then a branch env/{name}",
        "--yes",
        "--tools",
        "s3.create_bucket,git.create_branch",
        "--workflow-id",
        f"agent-{uuid.uuid4()}",
        "--task-queue",
        application.task_queue,
        **model.environment(),
    )
    return ran.code, ran.out


def test_a_goal_in_words(application: Application) -> None:
    """The plan is done; one that fails at its second step takes the first one back, and the world is as before."""
    name = uuid.uuid4().hex[:8]
    with scripted_model() as model:
        model.answers = [steps(f"{name}-lost", "no-such-ref"), steps(name, "main")]
        before = application.world()
        code, shown = agent(application, model, f"{name}-lost")
        assert (code, difference(before, application.world())) == (1, []), shown
        code, shown = agent(application, model, name)
    assert code == 0, shown
    world = application.world()
    assert f"refs/heads/env/{name}" in world.git["app"]
    assert f"env-{name}" in world.buckets
