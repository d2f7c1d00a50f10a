"""The tool that makes out an invoice at Stripe; the undo goes by what the invoice is by then."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

import stripe
from pydantic import Field
from temporalio import activity

from activities._invoices import Found, complete, credit, draft, look, only_ours, search
from activities._stripe import stripe_client
from rescind import Absent, Applied, Call, Receipt, Repeat, Request, Restoration, Result, Tool, Unknown
from rescind.evidence import Conflict, Unproven
from rescind.evidence.stripe import proves


class CreateInvoice(Request):
    """Make out an invoice over one amount, to be paid within some days.

    Attributes:
        customer: Stripe's id of the customer.
        order: The order that it is for; kept with the invoice.
        amount: In the currency's smallest unit.
        currency: Stripe's code, such as `eur`.
        description: What it is for.
        days_until_due: Days until it has to be paid.
    """

    customer: Annotated[str, Field(pattern=r"^cus_[A-Za-z0-9]+$")]
    order: Annotated[str, Field(pattern=r"^[\w.-]{1,64}$")]
    amount: Annotated[int, Field(gt=0, le=99_999_999)]
    currency: Annotated[str, Field(pattern=r"^[a-z]{3}$")]
    description: Annotated[str, Field(min_length=1, max_length=500)]
    days_until_due: Annotated[int, Field(ge=1, le=365)] = 30


class Invoice(Result):
    """An invoice at Stripe, and what it was when it was last seen."""

    invoice: str
    number: str | None
    status: Literal["draft", "open", "paid", "uncollectible", "void"]


class InvoiceUnfinished(Exception):
    """The invoice was begun and is not finished; a further attempt goes on where this one has stopped."""


@activity.defn
async def create_invoice(call: Call[CreateInvoice]) -> Invoice:
    """Make a draft, put the amount on it and finalize it: three requests, each with a key of its own.

    Raises:
        stripe.StripeError: The draft was refused, or it is not known whether it was made.
        InvoiceUnfinished: It was made, and what comes after it failed.
        Unproven: It was made, and what comes after it was refused for good.
    """
    request = call.request
    async with stripe_client() as client:
        made = await draft(client, request, call.key)
        try:
            return _invoice(await complete(client, made.invoice, request, call.key))
        except stripe.StripeError as error:
            words = f"the invoice {made.invoice} was begun and is not finished: {error.user_message}"
            evidence = proves(error)
            if evidence is not None and not evidence.try_again:
                raise Unproven(words) from error
            raise InvoiceUnfinished(words) from error


@activity.defn
async def cancel_invoice(receipt: Receipt[CreateInvoice, Invoice]) -> Restoration:
    """Delete the draft, void the open invoice, or credit the paid one.

    Raises:
        Conflict: It was changed, paid in part or given up since, or can't be credited. Nothing was changed.
    """
    call, invoice = receipt.call, receipt.result.invoice
    async with stripe_client() as client:
        found = await look(client, invoice)
        if found is None:
            return await _gone(client, invoice, call.undo_key)
        only_ours(found, call.request, call.key)
        match found.status:
            case "draft":
                await client.v1.invoices.delete_async(invoice, options={"idempotency_key": call.undo_key})
                return Restoration.exact()
            case "open":
                await client.v1.invoices.void_invoice_async(
                    invoice, options={"idempotency_key": call.undo_key}
                )
                return Restoration.equivalent(f"the invoice {invoice} is kept as a void one")
            case "void":
                return Restoration.equivalent(f"the invoice {invoice} is kept as a void one")
            case "paid":
                note = await credit(client, found, call.undo_key)
                return Restoration.residue(
                    f"the invoice {invoice} was paid; the credit note {note} gives it back"
                )
            case _:
                raise Conflict(
                    f"the invoice {invoice} was marked {found.status} since. Nothing was changed. Void it by hand"
                )


@activity.defn
async def find_invoice(call: Call[CreateInvoice]) -> Applied[Invoice] | Absent | Unknown:
    """Look through the customer's invoices for the one with the call's key; a listing shows what was just written."""
    async with stripe_client() as client:
        found = await search(client, call.request.customer, call.key)
    if found is None or found.status == "void":
        return Absent()
    return Applied(result=_invoice(found), partial=found.status == "draft")


CREATE_INVOICE: Tool[CreateInvoice, Invoice] = Tool(
    name="billing.create_invoice",
    description="Make out an invoice; the undo deletes, voids or credits it, by what it is by then.",
    forward=create_invoice,
    compensate=cancel_invoice,
    lookup=find_invoice,
    is_reversible=True,
    repeat=Repeat.DEDUPLICATED,
    timeout=timedelta(seconds=15),
    undo_timeout=timedelta(seconds=15),
    late_for=timedelta(seconds=3),
    proves=proves,
)


async def _gone(client: stripe.StripeClient, invoice: str, undo_key: str) -> Restoration:
    """A read that finds no invoice may be an old one, so Stripe is asked to delete it: that it can't is believed."""
    try:
        await client.v1.invoices.delete_async(invoice, options={"idempotency_key": undo_key})
    except stripe.InvalidRequestError as error:
        if error.http_status != 404:
            raise  # it is there, and no draft: the next try sees what it is
        return Restoration.nothing(f"the draft {invoice} is gone")
    return Restoration.exact()


def _invoice(found: Found) -> Invoice:
    return Invoice(invoice=found.invoice, number=found.number, status=found.status)
