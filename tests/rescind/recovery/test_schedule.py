"""The sweeper's schedule: made once, kept, brought up to date, and run."""

import asyncio
from datetime import timedelta

import pytest
from temporalio.client import (
    ScheduleActionExecutionStartWorkflow,
    ScheduleActionStartWorkflow,
    ScheduleOverlapPolicy,
)

from rescind.recovery import SWEEP_ID, Sweeping, keep_sweeping
from rescind.recovery._sweep import Swept
from tests.rescind.sagas import Sagas, until


@pytest.mark.usefixtures("toy_worker")
async def test_schedule(sagas: Sagas) -> None:
    """Two workers that make it at once make one; a change is taken over, a pause stays, and a run looks once."""
    rarely = Sweeping(every=timedelta(days=30), grace=timedelta(days=1))
    await asyncio.gather(*(keep_sweeping(sagas.client, rarely) for _ in range(3)))
    handle = sagas.client.get_schedule_handle(SWEEP_ID)
    try:
        found = (await handle.describe()).schedule
        assert found.policy.overlap is ScheduleOverlapPolicy.SKIP
        assert found.spec.intervals[0].every == timedelta(days=30)
        await handle.pause(note="not now")
        more = rarely.model_copy(update={"limit": 4000, "every": timedelta(days=20)})
        await keep_sweeping(sagas.client, more)
        found = (await handle.describe()).schedule
        assert (found.spec.intervals[0].every, found.state.paused) == (timedelta(days=20), True)
        assert isinstance(found.action, ScheduleActionStartWorkflow)
        await handle.unpause()
        await handle.trigger()

        async def has_acted() -> bool:
            return bool((await handle.describe()).info.recent_actions)

        await until(has_acted)
        started = (await handle.describe()).info.recent_actions[0].action
        assert isinstance(started, ScheduleActionExecutionStartWorkflow)
        run = sagas.client.get_workflow_handle(started.workflow_id, result_type=Swept)
        swept = await run.result()
        assert swept.next_after == ""
    finally:
        await handle.delete()
