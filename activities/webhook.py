"""The tool that posts an event to another program by a webhook; what was said can't be taken back."""

from datetime import timedelta
from typing import Annotated

from pydantic import Field, JsonValue
from temporalio import activity

from activities._webhooks import Webhook
from activities.settings import settings
from rescind import Call, Repeat, Request, Result, Risk, Tool
from rescind.evidence.http import proves


class PostEvent(Request):
    """Post an event by a webhook that the worker knows by this alias.

    Attributes:
        webhook: The alias.
        event: What has happened, as `order.shipped`.
        data: What there is to say of it.
    """

    webhook: str
    event: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*(\.[a-z0-9_]+)*$", max_length=100)]
    data: dict[str, JsonValue] = Field(default_factory=dict)


class PostedEvent(Result):
    """An event that the other program has accepted, with its answer's status."""

    webhook: str
    status: int


@activity.defn
async def post_event(call: Call[PostEvent]) -> PostedEvent:
    """Post the event once, with the call's key as its id; any answer from 200 to 299 is success."""
    asked = call.request
    hook = Webhook(
        url=settings().webhook(asked.webhook),
        named=f"the webhook {asked.webhook!r}",
        setting="RESCIND_WEBHOOKS",
        look="ask its owner for the event by its id before it is sent again",
    )
    body: dict[str, JsonValue] = {"id": call.key, "event": asked.event, "data": asked.data}
    status = await hook.post(body, {"Idempotency-Key": call.key}, lambda status, _: 200 <= status < 300)
    return PostedEvent(webhook=asked.webhook, status=status)


POST_EVENT: Tool[PostEvent, PostedEvent] = Tool(
    name="webhook.post",
    description="Post an event to another program by a webhook. It can't be taken back.",
    forward=post_event,
    risk=Risk.HIGH,
    repeat=Repeat.NEVER,  # nobody promises that the other program knows an id again
    timeout=timedelta(seconds=8),
    proves=proves,
)
