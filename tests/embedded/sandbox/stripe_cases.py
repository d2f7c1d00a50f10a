"""Invoices in each state, and every change at Stripe as a call with its own client and a look at its effect."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import stripe

from tests.embedded.sandbox.cases import new
from tests.embedded.sandbox.servers import Asking

INVOICE: Any = {"collection_method": "send_invoice", "days_until_due": 30, "currency": "eur"}


async def draft(ask: Asking, amount: int = 1000) -> stripe.Invoice:
    """A draft with one item, of a customer of its own who can pay."""
    customer = await ask.stripe.v1.customers.create_async({"name": "Ada"})
    told: Any = {"customer": customer.id, **INVOICE}
    made = await ask.stripe.v1.invoices.create_async(told)
    await ask.stripe.v1.invoice_items.create_async(
        {"customer": customer.id, "invoice": made.id, "amount": amount, "currency": "eur"}
    )
    return made


async def opened(ask: Asking, amount: int = 1000) -> stripe.Invoice:
    """An open invoice."""
    return await ask.stripe.v1.invoices.finalize_invoice_async((await draft(ask, amount)).id)


async def paid(ask: Asking) -> stripe.Invoice:
    """An invoice that was paid by card."""
    found = await opened(ask)
    customer = str(found.customer)
    method = await ask.stripe.v1.payment_methods.attach_async("pm_card_visa", {"customer": customer})
    settings: Any = {"invoice_settings": {"default_payment_method": method.id}}
    await ask.stripe.v1.customers.update_async(customer, settings)
    return await ask.stripe.v1.invoices.pay_async(found.id)


async def status(ask: Asking, invoice: str) -> str | None:
    """What the invoice is; `gone` for a deleted draft."""
    try:
        return (await ask.stripe.v1.invoices.retrieve_async(invoice)).status
    except stripe.InvalidRequestError as error:
        return "gone" if (error.http_status, error.code) == (404, "resource_missing") else str(error)


@dataclass(frozen=True)
class Case:
    """A call that is ready to be made, and a look at whether it took effect."""

    call: Callable[[], Awaitable[object]]
    effect: Callable[[], Awaitable[bool]]


def becomes(ask: Asking, invoice: str, wanted: str) -> Callable[[], Awaitable[bool]]:
    async def look() -> bool:
        return await status(ask, invoice) == wanted

    return look


async def create_customer(ask: Asking) -> Case:
    name = new()

    async def look() -> bool:
        page = await ask.stripe.v1.customers.list_async({"limit": 100})
        return name in [one.name async for one in page.auto_paging_iter()]

    return Case(lambda: ask.stripe.v1.customers.create_async({"name": name}), look)


async def create_invoice(ask: Asking) -> Case:
    customer = (await ask.stripe.v1.customers.create_async({"name": "Ada"})).id

    async def look() -> bool:
        return len((await ask.stripe.v1.invoices.list_async({"customer": customer})).data) == 1

    return Case(lambda: ask.stripe.v1.invoices.create_async({"customer": customer}), look)


async def create_item(ask: Asking) -> Case:
    made = await draft(ask)
    item: Any = {"customer": str(made.customer), "invoice": made.id, "amount": 5, "currency": "eur"}

    async def look() -> bool:
        return (await ask.stripe.v1.invoices.retrieve_async(made.id)).total == 1005

    return Case(lambda: ask.stripe.v1.invoice_items.create_async(item), look)


async def delete_invoice(ask: Asking) -> Case:
    made = (await draft(ask)).id
    return Case(lambda: ask.stripe.v1.invoices.delete_async(made), becomes(ask, made, "gone"))


async def finalize_invoice(ask: Asking) -> Case:
    made = (await draft(ask)).id
    return Case(lambda: ask.stripe.v1.invoices.finalize_invoice_async(made), becomes(ask, made, "open"))


async def void_invoice(ask: Asking) -> Case:
    made = (await opened(ask)).id
    return Case(lambda: ask.stripe.v1.invoices.void_invoice_async(made), becomes(ask, made, "void"))


async def pay_invoice(ask: Asking) -> Case:
    made, told = (await opened(ask)).id, {"paid_out_of_band": True}
    call = lambda: ask.stripe.v1.invoices.pay_async(made, told)  # type: ignore[arg-type] # noqa: E731
    return Case(call, becomes(ask, made, "paid"))


async def create_credit_note(ask: Asking) -> Case:
    made = (await opened(ask)).id

    async def look() -> bool:
        return len((await ask.stripe.v1.credit_notes.list_async({"invoice": made})).data) == 1

    return Case(lambda: ask.stripe.v1.credit_notes.create_async({"invoice": made, "amount": 10}), look)


CHANGES: dict[str, Callable[[Asking], Awaitable[Case]]] = {
    f"stripe.{prepare.__name__}": prepare
    for prepare in (
        *(create_customer, create_invoice, create_item, create_credit_note),
        *(delete_invoice, finalize_invoice, void_invoice, pay_invoice),
    )
}
