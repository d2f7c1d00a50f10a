"""The tool that posts a message by a Slack-compatible webhook; what was said can't be taken back."""

from datetime import timedelta

from pydantic import Field
from temporalio import activity

from activities._webhooks import Webhook
from activities.settings import settings
from rescind import Call, Repeat, Request, Result, Risk, Tool
from rescind.evidence.http import proves

LONGEST = 40_000
"""Characters of a message; longer ones Slack cuts off (docs.slack.dev, "Truncating content")."""


class Notify(Request):
    """Post a text by a webhook that the worker knows by this alias."""

    webhook: str
    text: str = Field(min_length=1, max_length=LONGEST)


class Notification(Result):
    """A message that the chat has accepted."""

    webhook: str


@activity.defn
async def notify(call: Call[Notify]) -> Notification:
    """Post the message once; only the answer 200 with "ok" is success, and a redirect is not followed."""
    webhook = call.request.webhook
    hook = Webhook(
        url=settings().chat_webhook(webhook),
        named=f"the chat webhook {webhook!r}",
        setting="RESCIND_CHAT_WEBHOOKS",
        look="look into the chat before it is sent again",
    )
    await hook.post({"text": call.request.text}, {}, lambda status, answer: (status, answer) == (200, "ok"))
    return Notification(webhook=webhook)


NOTIFY: Tool[Notify, Notification] = Tool(
    name="chat.notify",
    description="Post a message to a chat. It can't be taken back.",
    forward=notify,
    risk=Risk.HIGH,
    repeat=Repeat.NEVER,
    timeout=timedelta(seconds=8),
    proves=proves,
)
