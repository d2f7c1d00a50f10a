"""A long plan's workflow tasks stay short: Temporal gives up a worker that thinks for two seconds."""

from __future__ import annotations

import os
import time

from temporalio.bridge.proto.workflow_activation import WorkflowActivation
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.worker import WorkflowInstance, WorkflowInstanceDetails
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner

from rescind.plans import ExecutePlan
from tests.rescind.conftest import NewWorker
from tests.rescind.plans.conftest import Plans

STEPS = 1_000 if os.environ.get("RESCIND_SOAK") else 120
TOOK: list[float] = []
"""Seconds of this process's time for each activation."""


class TimedRunner(SandboxedWorkflowRunner):
    """Temporal's sandbox with a clock."""

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        """See base class."""
        instance = super().create_instance(det)
        think = instance.activate

        def timed(act: WorkflowActivation) -> WorkflowActivationCompletion:
            began = time.thread_time()
            try:
                return think(act)
            finally:
                TOOK.append(time.thread_time() - began)

        setattr(instance, "activate", timed)  # noqa: B010  (the sandbox has no hook for it)
        return instance


async def test_the_time_of_each_activation(plans: Plans, new_worker: NewWorker) -> None:
    """With as many steps at a time as a plan may ask for, the longest takes less than a second."""
    TOOK.clear()
    steps = [plans.make(f"s{n}", *([f"s{n - 100}"] if n >= 100 else [])) for n in range(STEPS)]
    async with new_worker(workflows=[ExecutePlan], workflow_runner=TimedRunner(), max_cached_workflows=10):
        done = await plans.done(*steps, parallel=100)
    assert len(done.steps) == STEPS
    assert max(TOOK) < 1, sorted(TOOK)[-5:]
