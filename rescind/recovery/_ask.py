"""The short workflow that tells people what the sweeper asks, so that a channel that is away holds up no look."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from pydantic import BaseModel, ConfigDict
from temporalio import workflow
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import ActivityError, WorkflowAlreadyStartedError
from temporalio.workflow import ChildWorkflowCancellationType, ParentClosePolicy

from rescind._workflow import deepest
from rescind.reconciliation._alerts import Alert
from rescind.reconciliation._names import ALERT, ALERT_RETRIES, ALERT_TIMEOUT, AlertOrder

ASK = "rescind.Ask"
ASK_ID = "rescind-ask"
"""The workflow's id; one at a time tells."""


class AskOrder(BaseModel):
    """Asks for one alert on these channels, each tried for so long."""

    model_config = ConfigDict(frozen=True)

    alert: Alert
    channels: list[str]
    limit: timedelta


@workflow.defn(name=ASK)
class Ask:
    """Tells one alert by every channel; what a channel does not manage is logged, and told again when it is due."""

    @workflow.run
    async def run(self, order: AskOrder) -> list[str]:
        """Answer with the channels that could not tell it."""
        untold = await asyncio.gather(*(_tell(order, channel) for channel in order.channels))
        return [channel for channel in untold if channel is not None]


async def ask(order: AskOrder) -> bool:
    """Start to tell it, and do not wait for it; False while an earlier alert is still being told."""
    try:
        await workflow.start_child_workflow(
            ASK,
            order,
            id=ASK_ID,
            parent_close_policy=ParentClosePolicy.ABANDON,
            cancellation_type=ChildWorkflowCancellationType.ABANDON,
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
            static_summary=order.alert.headline[:200],
        )
    except WorkflowAlreadyStartedError:
        return False
    return True


async def _tell(order: AskOrder, channel: str) -> str | None:
    try:
        await workflow.execute_activity(
            ALERT,
            AlertOrder(channel=channel, alert=order.alert),
            activity_id=f"alert/{channel}",
            summary=f"{channel}: {order.alert.headline}"[:200],
            start_to_close_timeout=ALERT_TIMEOUT,
            schedule_to_close_timeout=order.limit,
            retry_policy=ALERT_RETRIES,
        )
    except ActivityError as error:
        workflow.logger.error("alert %s was not told by %s: %s", order.alert.key, channel, deepest(error))
        return channel
    return None
