"""The tool that sends an e-mail; a mail can't be called back, and what can be done is decided in its request."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

import aiosmtplib
from pydantic import Field
from temporalio import activity

from activities._smtp import Address, Subject, message_id, send, written
from rescind import Call, Receipt, Repeat, Request, Restoration, Result, Risk, Tool
from rescind.evidence.smtp import proves


class SendEmail(Request):
    """Send an e-mail in plain text to one address.

    Attributes:
        to: The address.
        subject: The subject.
        text: The text.
        on_undo: `correct` sends a correction after it; `leave` leaves it as it is.
        correction: The correction's text; by default that the mail does not hold any more.
    """

    to: Address
    subject: Subject
    text: Annotated[str, Field(min_length=1, max_length=100_000)]
    on_undo: Literal["correct", "leave"] = "correct"
    correction: Annotated[str, Field(min_length=1, max_length=100_000)] | None = None


class Email(Result):
    """A mail that the mail server has taken."""

    message_id: str
    to: str


@activity.defn
async def send_email(call: Call[SendEmail]) -> Email:
    """Send the mail once; from its final dot on it may have been sent whatever the server answers or does not."""
    request, number = call.request, message_id(call.key)
    try:
        await send(written(call.key, request.to, request.subject, request.text))
    except aiosmtplib.SMTPException as error:
        raise SentUnproven(
            f"the mail to {request.to} was handed over, and the mail server did not confirm it: {error}. It may arrive "
            f"or not. Look for the Message-ID {number} in the mail server's log"
        ) from error
    return Email(message_id=number, to=request.to)


@activity.defn
async def correct_email(receipt: Receipt[SendEmail, Email]) -> Restoration:
    """Send the correction, if one was asked for; a repeated one has the same Message-ID, by which it is known."""
    request, sent = receipt.call.request, receipt.result
    if request.on_undo == "leave":
        return Restoration.residue(f"the mail {sent.message_id} to {sent.to} was sent and is left as it is")
    text = request.correction or (
        f"Our mail with the subject “{request.subject}” does not hold any more. We are sorry for the trouble."
    )
    subject = f"Correction: {request.subject}"[:200]
    await send(written(receipt.call.undo_key, sent.to, subject, text, answers=sent.message_id))
    return Restoration.residue(
        f"the mail {sent.message_id} to {sent.to} was sent, and the correction {message_id(receipt.call.undo_key)} "
        "after it"
    )


class SentUnproven(Exception):
    """The mail was handed over without being confirmed; it may arrive or not."""


SEND_EMAIL: Tool[SendEmail, Email] = Tool(
    name="email.send",
    description="Send an e-mail; the undo sends a correction after it, or leaves it, as the request says.",
    forward=send_email,
    compensate=correct_email,
    is_reversible=True,
    risk=Risk.MEDIUM,
    repeat=Repeat.NEVER,  # SMTP has no lookup
    timeout=timedelta(seconds=10),
    undo_timeout=timedelta(seconds=10),
    proves=proves,
)
