"""How often the sweeper looks, and the Temporal Schedule that the workers keep in being for it."""

from __future__ import annotations

from datetime import timedelta

from pydantic import BaseModel, ConfigDict, Field
from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleAlreadyRunningError,
    ScheduleIntervalSpec,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleSpec,
    ScheduleState,
    ScheduleUpdate,
    ScheduleUpdateInput,
)
from temporalio.service import RPCError, RPCStatusCode

from rescind._operations_queue import OPERATIONS_QUEUE

SWEEP = "rescind.Sweep"
SWEEP_ID = "rescind-sweep"
"""The id of the schedule, and the beginning of its workflows' ids; one in each namespace."""


class Sweeping(BaseModel):
    """How the sweeper works.

    Attributes:
        every: How often it looks; a look that takes longer lets the next one fall out.
        limit: Sagas looked at in one go, at most; the next one goes on behind them.
        grace: How long the ledger must not have heard of a saga before a workflow that Temporal does not know counts
            as gone; by the database's clock.
        many_gone: When more than this many, and more than half of those asked for, are gone at once, none of them is
            undone: a server that was wiped, or is the wrong one, looks like that.
        stalled_after: Failures of one workflow task from which on a running workflow is told of as stalled; five take
            some fifteen seconds.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    every: timedelta = Field(default=timedelta(minutes=1), ge=timedelta(seconds=1))
    limit: int = Field(default=500, ge=1, le=5000)
    grace: timedelta = timedelta(minutes=10)
    many_gone: int = Field(default=10, ge=0)
    stalled_after: int = Field(default=5, ge=1)


async def keep_sweeping(client: Client, sweeping: Sweeping) -> None:
    """Make the namespace's schedule, or bring it to these settings; several may do so at once.

    A schedule that somebody has paused stays paused.

    Raises:
        temporalio.service.RPCError: The server does not answer, or does not allow it.
    """
    wanted = _schedule(sweeping)
    handle = client.get_schedule_handle(SWEEP_ID)
    try:
        found = (await handle.describe()).schedule
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
        try:
            await client.create_schedule(SWEEP_ID, wanted)
        except ScheduleAlreadyRunningError:
            return  # another worker was faster
    else:
        if found.state.note != wanted.state.note:
            await handle.update(lambda seen: _changed(seen, wanted))


def _changed(seen: ScheduleUpdateInput, wanted: Schedule) -> ScheduleUpdate:
    wanted.state.paused = seen.description.schedule.state.paused
    return ScheduleUpdate(wanted)


def _schedule(sweeping: Sweeping) -> Schedule:
    return Schedule(
        action=ScheduleActionStartWorkflow(
            SWEEP,
            sweeping,
            id=SWEEP_ID,
            task_queue=OPERATIONS_QUEUE,
            static_summary="find sagas whose workflow has ended without them, and take them back",
        ),
        spec=ScheduleSpec(intervals=[ScheduleIntervalSpec(every=sweeping.every)]),
        policy=SchedulePolicy(
            overlap=ScheduleOverlapPolicy.SKIP, catchup_window=max(sweeping.every, timedelta(seconds=10))
        ),
        state=ScheduleState(note=f"kept by Rescind's workers with {sweeping.model_dump_json()}"),
    )
