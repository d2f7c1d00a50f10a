"""The tool that posts a message by a Slack-compatible webhook; what was said can't be taken back."""

from datetime import timedelta

import httpx
from pydantic import Field
from temporalio import activity

from activities.settings import settings
from rescind import Call, Repeat, Request, Result, Risk, Tool, time_left
from rescind.evidence import Evidence, NothingHappened, Refused, Unproven
from rescind.evidence.http import proves, proves_status

LONGEST = 40_000
"""Characters of a message; longer ones Slack cuts off (docs.slack.dev, "Truncating content")."""

_ANSWER_LIMIT = 4096
"""Bytes of the answer that are read; a webhook's own answers are a word."""


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
    url = settings().chat_webhook(webhook)
    try:
        status, headers, answer = await _post(url, call.request.text)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        # Without the cause, which may show the URL, and the URL is the secret.
        raise _failure(proves(error), f"{webhook!r}: {_said(error)}") from None
    if (status, answer) == (200, "ok"):
        return Notification(webhook=webhook)
    evidence = None if status < 300 else proves_status(status, headers)
    raise _failure(evidence, f"{webhook!r} answered {status}: {answer[:200]!r}")


NOTIFY: Tool[Notify, Notification] = Tool(
    name="chat.notify",
    description="Post a message to a chat. It can't be taken back.",
    forward=notify,
    risk=Risk.HIGH,
    repeat=Repeat.NEVER,
    timeout=timedelta(seconds=8),
    proves=proves,
)


async def _post(url: str, text: str) -> tuple[int, httpx.Headers, str]:
    """The status, headers and first bytes of the answer."""
    async with (
        httpx.AsyncClient(timeout=time_left(), follow_redirects=False) as client,
        client.stream("POST", url, json={"text": text}) as response,
    ):
        body = b""
        async for part in response.aiter_raw(_ANSWER_LIMIT):
            body += part
            if len(body) >= _ANSWER_LIMIT:
                break
        return response.status_code, response.headers, body.decode(errors="replace").strip()


def _said(error: Exception) -> str:
    """The error without what may be a part of the URL."""
    if isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol):
        return "its address is not usable; mend it in RESCIND_CHAT_WEBHOOKS and restart the worker"
    return f"{type(error).__name__}: {error}"


def _failure(evidence: Evidence | None, what: str) -> Exception:
    message = f"the chat webhook {what}"
    if evidence is None or not evidence.nothing_happened:
        return Unproven(
            f"{message}. The message may have been posted: look into the chat before it is sent again"
        )
    if evidence.try_again:
        return NothingHappened(f"{message}. Nothing was posted", retry_after=evidence.retry_after)
    return Refused(f"{message}. Nothing was posted")
