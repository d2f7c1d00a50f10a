"""The workflow of one look of the sweeper."""

from __future__ import annotations

from datetime import timedelta

from pydantic import BaseModel, ConfigDict
from temporalio import workflow
from temporalio.common import RetryPolicy

from rescind._bench import heartbeat_timeout
from rescind.recovery._ask import AskOrder, ask
from rescind.recovery._asking import Asking
from rescind.recovery._sweeping import SWEEP, Sweeping

LOOK_AT_PAGE = "rescind.sweep"
_LONGEST = timedelta(minutes=5)
_RETRIES = RetryPolicy(maximum_attempts=3)
"""After them this look is over; the next one of the schedule begins where the last good one had stopped."""


class PageOrder(BaseModel):
    """Asks for a look at the sagas behind `after`.

    Attributes:
        sweeping: How the sweeper works.
        after: The saga at which the last look stopped.
        looks: What Temporal remembers of the ledger's count.
        asking: What people were asked until now.
    """

    model_config = ConfigDict(frozen=True)

    sweeping: Sweeping
    after: str
    looks: int | None = None
    asking: Asking = Asking()


class Swept(BaseModel):
    """What one look came to; lists name 50 at most, as workflow id and first run id.

    Attributes:
        looks: How many looks the ledger has counted; one that has counted fewer by the next look is an older backup.
        next_after: Where the next look begins; empty at the end of the list.
        looked_at: Sagas looked at.
        running: Those whose workflow is running; nothing was done about them.
        promoted: Sealed ones whose workflow has completed: committed now.
        closed: Those of which nothing stood: closed now.
        undoing: Those for which an undo was started.
        reconciling: Those for which a reconciliation was opened, since it was missing.
        stalled: Running ones whose own code does not go on: a bug, about which a person is told.
        questions: What a person has to decide, in words; nothing was done about it.
        asking: What people are asked, from look to look.
        ask: What they are to be told of it now; None where nothing is due.
    """

    model_config = ConfigDict(frozen=True)

    looks: int = 0
    next_after: str = ""
    looked_at: int = 0
    running: int = 0
    promoted: int = 0
    closed: int = 0
    undoing: list[str] = []
    reconciling: list[str] = []
    stalled: list[str] = []
    questions: list[str] = []
    asking: Asking = Asking()
    ask: AskOrder | None = None


@workflow.defn(name=SWEEP)
class Sweep:
    """Looks at one page of unfinished sagas, and hands the place where it stopped to the schedule's next run.

    What it can't decide it asks people, by the worker's alert channels: once, and again at the pace of the reminders.
    """

    @workflow.run
    async def run(self, sweeping: Sweeping) -> Swept:
        """Look once."""
        last = workflow.get_last_completion_result(Swept) or Swept()
        swept: Swept = await workflow.execute_activity(
            LOOK_AT_PAGE,
            PageOrder(
                sweeping=sweeping,
                after=last.next_after,
                looks=last.looks or None,
                asking=last.asking,
            ),
            result_type=Swept,
            activity_id="sweep",
            summary="ask Temporal for the workflow of each unfinished saga",
            start_to_close_timeout=_LONGEST,
            heartbeat_timeout=heartbeat_timeout(_LONGEST),
            retry_policy=_RETRIES,
        )
        if swept.ask is None or not swept.ask.channels or await ask(swept.ask):
            return swept
        return swept.model_copy(update={"asking": swept.asking.untold(last.asking)})
