"""Tells operations: of a saga that has failed, and as long as one needs a person, by chat and by mail."""

from __future__ import annotations

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities._smtp import send, written
from activities.chat import LONGEST, Notify, notify
from activities.settings import settings
from rescind import Call, FailureNotice, Outcome, StepReport
from rescind.evidence import NothingHappened, Refused, Unproven
from rescind.reconciliation import Alert, AlertChannel

_POSTING = "posting"
_STEPS = 50
"""Steps that are named at most."""

_HEADLINES = {
    Outcome.UNDONE: "failed; every step that had taken effect was undone",
    Outcome.INCOMPLETE: "failed, and is NOT clean: a person is needed",
}


@activity.defn
async def tell_operations_by_chat(notice: FailureNotice) -> None:
    """Post the notice, unless an earlier attempt may have posted it; a worker without such a webhook posts nothing.

    A webhook can't be asked what it was sent, so that an attempt first leaves word that it is about to post.
    """
    webhook = settings().operations_webhook
    if webhook is None:
        return
    if _POSTING in activity.info().heartbeat_details:
        raise _final("an earlier attempt may have posted it; it is not posted twice")
    activity.heartbeat(_POSTING)
    text = notice_in_words(notice)[:LONGEST]
    try:
        await notify(
            Call(request=Notify(webhook=webhook, text=text), key=notice.key, undo_key=f"{notice.key}-u")
        )
    except NothingHappened:
        activity.heartbeat()
        raise
    except (Refused, Unproven) as error:
        raise _final(str(error)) from error


@activity.defn
async def tell_operations_by_mail(notice: FailureNotice) -> None:
    """Send the notice; a repeated one has the same Message-ID. A worker without such an address sends nothing."""
    address = settings().operations_address
    if address is None:
        return
    headline = f"{notice.reference}: {_HEADLINES.get(notice.report.outcome, 'failed')}"
    try:
        await send(written(notice.key, address, " ".join(headline.split())[:200], notice_in_words(notice)))
    except Refused as error:
        raise _final(str(error)) from error


NOTICES = (tell_operations_by_chat, tell_operations_by_mail)
"""What the workflows tell a failure by; the worker registers them."""


class OperationsChat:
    """Alerts by the same webhook. One whose answer was lost is posted again: better told twice than not at all."""

    name = "chat"

    async def send(self, alert: Alert) -> None:
        """Post it; a worker without such a webhook posts nothing."""
        webhook = settings().operations_webhook
        if webhook is not None:
            post = Notify(webhook=webhook, text=alert.text[:LONGEST])
            await notify(Call(request=post, key=alert.key, undo_key=f"{alert.key}-u"))


class OperationsMail:
    """Alerts to the same address; a repeated one has the same Message-ID."""

    name = "mail"

    async def send(self, alert: Alert) -> None:
        """Send it; a worker without such an address sends nothing."""
        address = settings().operations_address
        if address is not None:
            headline = " ".join(alert.headline.split())[:200]
            await send(written(alert.key, address, headline, alert.text))


ALERTS: tuple[AlertChannel, ...] = (OperationsChat(), OperationsMail())
"""How people are told of what needs them; the worker passes them to the plugin."""


def notice_in_words(notice: FailureNotice) -> str:
    """The case, the original error, the outcome of each step, and what a person has to see to."""
    report = notice.report
    where = f"{report.failed_at} failed" if report.failed_at else "it failed"
    lines = [
        f"{notice.reference} {_HEADLINES.get(report.outcome, 'failed')}.",
        f"{where}: {report.error}",
        "",
        *(_step(step) for step in report.steps[-_STEPS:]),
    ]
    if report.left:
        lines += ["", "Left in the world, or nobody knows:"]
        lines += [f"- {step.step}: {step.error or 'no reason known'}" for step in report.left]
    return "\n".join([*lines, "", f"Saga {report.saga}, notice {notice.key}"])


def _step(step: StepReport) -> str:
    words = f"- {step.step} ({step.summary}): {step.state.value.replace('_', ' ')}"
    if step.restoration is None:
        return words
    return f"{words}, restored: {step.restoration.grade.value}" + (
        f" ({step.restoration.detail})" if step.restoration.detail else ""
    )


def _final(words: str) -> ApplicationError:
    return ApplicationError(words, type="NotTold", non_retryable=True)
