"""Invoices at Stripe, request by request: begun, finished, found again by the key of their call, credited."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

import stripe
from pydantic import BaseModel, ConfigDict

from activities._stripe import KEY
from rescind.evidence import Conflict

if TYPE_CHECKING:
    from activities.billing import CreateInvoice

Status = Literal["draft", "open", "paid", "uncollectible", "void"]


class Found(BaseModel):
    """What is of interest of an invoice."""

    model_config = ConfigDict(frozen=True)

    invoice: str
    number: str | None
    status: Status
    key: str | None
    total: int
    amount_paid: int
    currency: str
    lines: list[int]


async def draft(client: stripe.StripeClient, request: CreateInvoice, key: str) -> Found:
    """The draft of this call, made now or by an earlier attempt; pending items of the customer stay off it."""
    made = await client.v1.invoices.create_async(
        {
            "customer": request.customer,
            "currency": request.currency,
            "collection_method": "send_invoice",
            "days_until_due": request.days_until_due,
            "auto_advance": False,
            "pending_invoice_items_behavior": "exclude",
            "description": request.description,
            "metadata": {KEY: key, "order": request.order},
        },
        {"idempotency_key": f"{key}-draft"},
    )
    return seen(made)


async def complete(client: stripe.StripeClient, invoice: str, request: CreateInvoice, key: str) -> Found:
    """Put the amount on the draft and finalize it; what an earlier attempt has done is not done again."""
    await client.v1.invoice_items.create_async(
        {
            "customer": request.customer,
            "invoice": invoice,
            "amount": request.amount,
            "currency": request.currency,
            "description": request.description,
            "metadata": {KEY: key},
        },
        {"idempotency_key": f"{key}-item"},
    )
    return seen(
        await client.v1.invoices.finalize_invoice_async(
            invoice, {"auto_advance": False}, {"idempotency_key": f"{key}-final"}
        )
    )


async def look(client: stripe.StripeClient, invoice: str) -> Found | None:
    """The invoice as it is now; None if there is none, which is what a deleted draft becomes."""
    try:
        return seen(await client.v1.invoices.retrieve_async(invoice))
    except stripe.InvalidRequestError as error:
        if error.http_status == 404:
            return None
        raise


async def search(client: stripe.StripeClient, customer: str, key: str) -> Found | None:
    """The customer's invoice with this key in its metadata, by listing them all, newest first."""
    try:
        page = await client.v1.invoices.list_async({"customer": customer, "limit": 100})
    except stripe.InvalidRequestError as error:
        if error.http_status == 404 or error.code == "resource_missing":
            return None  # there is no such customer, so no invoice either
        raise
    async for invoice in page.auto_paging_iter():
        if _key_of(invoice.metadata) == key:
            return seen(invoice)
    return None


def only_ours(found: Found, request: CreateInvoice, key: str) -> None:
    """Returns if the invoice is this call's and has nothing on it but this call's amount.

    Raises:
        Conflict: It is not so. Nothing was changed.
    """
    as_made = [[], [request.amount]] if found.status == "draft" else [[request.amount]]
    paid_in_part = found.status == "open" and found.amount_paid > 0
    if found.key != key or found.lines not in as_made or paid_in_part:
        raise Conflict(
            f"the invoice {found.invoice} is not as this step made it: its key is {found.key!r}, its lines are "
            f"{found.lines}, {found.amount_paid} of {found.total} are paid. Nothing was changed. Decide by hand"
        )


async def credit(client: stripe.StripeClient, found: Found, undo_key: str) -> str:
    """Refund a paid invoice by a credit note over all of it; returns the note's id.

    Raises:
        Conflict: Another credit note is there, it was paid outside Stripe, or the endpoint has no credit notes.
    """
    try:
        notes = await client.v1.credit_notes.list_async({"invoice": found.invoice, "limit": 100})
        for note in notes.data:
            if _key_of(note.metadata) == undo_key:
                return note.id
        if notes.data:
            raise Conflict(
                f"the invoice {found.invoice} is credited by {notes.data[0].id}, which is not ours"
            )
        made = await client.v1.credit_notes.create_async(
            {
                "invoice": found.invoice,
                "amount": found.total,
                "refund_amount": found.total,
                "metadata": {KEY: undo_key},
            },
            {"idempotency_key": undo_key},
        )
    except stripe.InvalidRequestError as error:
        raise Conflict(
            f"the invoice {found.invoice} was paid, and Stripe does not give it back by a credit note: "
            f"{error.user_message}. Nothing was changed. Refund it by hand"
        ) from error
    return made.id


def seen(invoice: stripe.Invoice) -> Found:
    """An invoice of the client as what is of interest of it."""
    return Found(
        invoice=str(invoice.id),
        number=getattr(invoice, "number", None),
        status=cast("Status", invoice.status),
        key=_key_of(invoice.metadata),
        total=invoice.total,
        amount_paid=invoice.amount_paid,
        currency=invoice.currency,
        lines=[line.amount for line in invoice.lines.data],
    )


def _key_of(metadata: object) -> str | None:
    """The call's key in an object's metadata, which the client has as an object without fields of its own."""
    return getattr(metadata, KEY, None)
