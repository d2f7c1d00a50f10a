"""One mail in one SMTP session, with a word about whether it may have been sent."""

from __future__ import annotations

from contextlib import suppress
from email.message import EmailMessage
from email.policy import SMTP as WIRE
from email.utils import format_datetime, localtime, parseaddr
from typing import Annotated, TypeAlias

import aiosmtplib
from pydantic import Field

from activities.settings import Settings, settings
from rescind import time_left
from rescind.evidence import NothingHappened, Refused
from rescind.evidence.smtp import proves_unsent

Address: TypeAlias = Annotated[str, Field(pattern=r"^[^\s@<>,;\"]+@[^\s@<>,;\"]+$", max_length=254)]
"""One mail address without a name; its length is RFC 5321's, 4.5.3.1.3."""

Subject: TypeAlias = Annotated[str, Field(pattern=r"^[^\r\n]+$", max_length=200)]
"""One line."""


def message_id(key: str) -> str:
    """The Message-ID of the mail with this key; the same at every attempt (RFC 5322, 3.6.4)."""
    return f"<{key}@{settings().mail_sender.rpartition('@')[2]}>"


def written(key: str, to: str, subject: str, text: str, *, answers: str | None = None) -> EmailMessage:
    """A mail from this worker's sender; `answers` is the Message-ID of the mail that it corrects."""
    mail = EmailMessage(policy=WIRE)
    mail["Message-ID"] = message_id(key)
    mail["Date"] = format_datetime(localtime())
    mail["From"], mail["To"], mail["Subject"] = settings().mail_sender, to, subject
    mail["Auto-Submitted"] = "auto-generated"  # RFC 3834: no answering machine answers it
    if answers:
        mail["In-Reply-To"] = mail["References"] = answers
    mail.set_content(text)
    return mail


async def send(mail: EmailMessage) -> None:
    """Hand the mail to the mail server; it has taken it when this returns.

    Raises:
        Refused: It was not sent, and will not be.
        NothingHappened: It was not sent, and may be later.
        aiosmtplib.SMTPException: It was sent, and it is not known whether the server has taken it.
    """
    known = settings()
    server = known.required("smtp")
    client = _client(known, server)
    try:
        await _up_to_the_message(client, mail, server)
        await client.data(mail.as_bytes())
        with suppress(aiosmtplib.SMTPException):  # the server has said that it has the mail
            await client.quit()
    finally:
        client.close()


async def _up_to_the_message(client: aiosmtplib.SMTP, mail: EmailMessage, server: str) -> None:
    """Connect and say from whom and to whom; nothing is sent by that."""
    try:
        await client.connect()
        await client.mail(parseaddr(mail["From"])[1])
        await client.rcpt(parseaddr(mail["To"])[1])
    except aiosmtplib.SMTPException as error:
        evidence = proves_unsent(error)
        message = f"the mail server {server} said: {_said(error)}. Nothing was sent"
        raise (NothingHappened(message) if evidence.try_again else Refused(message)) from error


def _client(known: Settings, server: str) -> aiosmtplib.SMTP:
    host, _, port = server.rpartition(":")
    password = known.smtp_password
    return aiosmtplib.SMTP(
        hostname=host.strip("[]"),
        port=int(port),
        timeout=min(known.http_seconds, time_left()),
        use_tls=known.smtp_tls,
        start_tls=True if known.smtp_username and not known.smtp_tls else None,
        username=known.smtp_username,
        password=password.get_secret_value() if password else None,
    )


def _said(error: aiosmtplib.SMTPException) -> str:
    if isinstance(error, aiosmtplib.SMTPResponseException):
        return f"{error.code} {error.message}"
    return str(error) or type(error).__name__
