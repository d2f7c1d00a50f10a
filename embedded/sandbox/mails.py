"""A view of the mails that the mail server has kept."""

import email
import email.policy

from fastapi import APIRouter
from psycopg.rows import DictRow
from pydantic import BaseModel

from embedded.sandbox.answers import Stored

routes = APIRouter(tags=["mail"])


class Mail(BaseModel):
    """One mail as it was kept; the sender and recipients are the envelope's. `at` is in seconds since 1970."""

    number: int
    at: float
    sender: str
    recipients: list[str]
    message_id: str
    subject: str
    headers: dict[str, str]
    text: str


@routes.get("/mails")
@routes.get("/admin/mails", include_in_schema=False)
async def list_mails(storage: Stored, message_id: str | None = None) -> list[Mail]:
    """Every mail, or those with this Message-ID, oldest first."""
    rows = await storage.rows(
        "select number, extract(epoch from at)::float as at, sender, recipients, content from mail order by number"
    )
    mails = [_mail(row) for row in rows]
    return [mail for mail in mails if message_id in (None, mail.message_id)]


def _mail(row: DictRow) -> Mail:
    message = email.message_from_bytes(bytes(row["content"]), policy=email.policy.default)
    body = message.get_body(("plain", "html"))
    return Mail(
        number=row["number"],
        at=row["at"],
        sender=row["sender"],
        recipients=row["recipients"],
        message_id=str(message.get("Message-ID", "")),
        subject=str(message.get("Subject", "")),
        headers={name: str(value) for name, value in message.items()},
        text=str(body.get_content()) if body else "",
    )
