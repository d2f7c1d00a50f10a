"""The word to people that a saga has failed: told once, after its report, and never able to change its outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from datetime import timedelta
from typing import TypeAlias

from pydantic import BaseModel, ConfigDict
from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError
from temporalio.workflow import ActivityCancellationType

from rescind._keys import provider_key
from rescind._record import Outcome, SagaReport
from rescind._workflow import deepest

_RETRIES = RetryPolicy(
    initial_interval=timedelta(seconds=1), maximum_interval=timedelta(seconds=8), maximum_attempts=5
)
_TIMEOUT = timedelta(seconds=15)
_NO_LONGER_THAN = timedelta(seconds=60)
"""Until then the workflow stays open for a notice; the report is in the ledger before."""


class FailureNotice(BaseModel):
    """What is told of a saga that has failed.

    Attributes:
        reference: What the business calls the case; the workflow's id where the saga was not given anything.
        key: The same at every attempt to tell: of the form of a call's key.
        report: The saga's report, without the results of its steps.
    """

    model_config = ConfigDict(frozen=True)

    reference: str
    key: str
    report: SagaReport


Tell: TypeAlias = Callable[[FailureNotice], Awaitable[None]]
"""An `@activity.defn` function that tells somebody; the application registers it with its worker."""


async def tell_failure(tell: Iterable[Tell], reference: str | None, report: SagaReport) -> None:
    """Tell everybody of a saga that has failed, undone or not, each with retries of their own.

    It returns when all are told or given up; a notice that fails is logged and nothing else.
    """
    if report.outcome not in (Outcome.UNDONE, Outcome.INCOMPLETE):
        return
    steps = [step.model_copy(update={"result": None}) for step in report.steps]
    notice = FailureNotice(
        reference=reference or workflow.info().workflow_id,
        key=provider_key(f"{report.saga}/notice"),
        report=report.model_copy(update={"steps": steps}),
    )
    await asyncio.gather(*(_tell(each, number, notice) for number, each in enumerate(tell, 1)))


async def _tell(tell: Tell, number: int, notice: FailureNotice) -> None:
    try:
        await workflow.execute_activity(
            tell,
            notice,
            activity_id=f"notice-{number}",
            summary=f"tell of the failure of {notice.reference}"[:200],
            start_to_close_timeout=_TIMEOUT,
            schedule_to_close_timeout=_NO_LONGER_THAN,
            retry_policy=_RETRIES,
            cancellation_type=ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        )
    except ActivityError as error:
        workflow.logger.error("nobody was told by %s that the saga failed: %s", notice.key, deepest(error))
