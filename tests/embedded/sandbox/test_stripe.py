"""The Stripe stand-in, asked by Stripe's own client over a real socket."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import stripe

from tests.embedded.sandbox.cases import new
from tests.embedded.sandbox.servers import AS_STRIPE_DOES, Asking
from tests.embedded.sandbox.stripe_cases import draft, opened, paid, status

pytestmark = AS_STRIPE_DOES
GAP = 2.0  # seconds; what a call may take on a busy machine


async def test_a_life_of_an_invoice(ask: Asking) -> None:
    """Draft, open with a number, paid, credited in full; the totals follow."""
    made = await draft(ask, 700)
    assert (made.status, await status(ask, made.id)) == ("draft", "draft")
    found = await paid(ask)
    assert (found.status, found.total, found.amount_paid, found.amount_remaining) == ("paid", 1000, 1000, 0)
    assert found.number
    note = await ask.stripe.v1.credit_notes.create_async(
        {"invoice": found.id, "amount": 1000, "refund_amount": 1000, "metadata": {"key": "k"}}
    )
    assert (note.type, note.amount, len(note.refunds)) == ("post_payment", 1000, 1)
    listed = await ask.stripe.v1.credit_notes.list_async({"invoice": found.id})
    assert [one.id for one in listed.data] == [note.id]
    with pytest.raises(stripe.InvalidRequestError):
        await ask.stripe.v1.credit_notes.create_async({"invoice": found.id, "amount": 1, "refund_amount": 1})


async def test_what_each_state_allows(ask: Asking) -> None:
    """Only a draft is deleted, filled or finalized, only an open one is voided; else 400 and nothing changes."""
    client = ask.stripe.v1.invoices
    void, kept = await opened(ask), await opened(ask)
    await client.void_invoice_async(void.id)
    gone = await draft(ask)
    await client.delete_async(gone.id)
    refused: list[Callable[[], Awaitable[object]]] = [
        lambda: client.void_invoice_async(void.id),
        lambda: client.delete_async(kept.id),
        lambda: client.finalize_invoice_async(kept.id),
        lambda: client.pay_async(void.id, {"paid_out_of_band": True}),
        lambda: ask.stripe.v1.invoice_items.create_async(
            {"customer": str(kept.customer), "invoice": kept.id, "amount": 1, "currency": "eur"}
        ),
    ]
    for call in refused:
        with pytest.raises(stripe.InvalidRequestError) as error:
            await call()
        assert error.value.http_status == 400
    assert [await status(ask, one.id) for one in (void, kept, gone)] == ["void", "open", "gone"]


async def test_paid_elsewhere(ask: Asking) -> None:
    """It is paid, and cannot be refunded by a credit note, since there is no payment."""
    found = await ask.stripe.v1.invoices.pay_async((await opened(ask)).id, {"paid_out_of_band": True})
    assert found.status == "paid"
    with pytest.raises(stripe.InvalidRequestError):
        await ask.stripe.v1.credit_notes.create_async(
            {"invoice": found.id, "amount": 1000, "refund_amount": 1000}
        )


async def test_pending_items(ask: Asking) -> None:
    """They stay off an invoice unless they are asked for, as at Stripe."""
    customer = (await ask.stripe.v1.customers.create_async({"name": "Ada"})).id
    await ask.stripe.v1.invoice_items.create_async({"customer": customer, "amount": 500, "currency": "eur"})
    without = await ask.stripe.v1.invoices.create_async({"customer": customer})
    having = await ask.stripe.v1.invoices.create_async(
        {"customer": customer, "pending_invoice_items_behavior": "include"}
    )
    assert (without.total, having.total) == (0, 500)


async def test_a_listing_sees_each_write(ask: Asking) -> None:
    """Newest first, page by page, complete."""
    customer = (await ask.stripe.v1.customers.create_async({"name": "Ada"})).id
    made: list[str] = []
    for _ in range(5):
        made.append((await ask.stripe.v1.invoices.create_async({"customer": customer})).id)
        page = await ask.stripe.v1.invoices.list_async({"customer": customer, "limit": 2})
        assert [one.id async for one in page.auto_paging_iter()] == made[::-1]


async def test_one_key_at_once(ask: Asking) -> None:
    """Twenty calls with one key make one customer; another body with it is an idempotency error."""
    key = new()

    def create(name: str) -> Any:
        return ask.stripe.v1.customers.create_async({"name": name}, {"idempotency_key": key})

    assert len({one.id for one in await asyncio.gather(*(create("Ada") for _ in range(20)))}) == 1
    with pytest.raises(stripe.IdempotencyError) as error:
        await create("Grace")
    assert error.value.http_status == 400


async def test_a_stale_read(ask: Asking) -> None:
    """One invoice and the list are shown as they were before the last write."""
    found = await opened(ask)
    await asyncio.sleep(2 * GAP)
    between = time.monotonic() - GAP
    await ask.stripe.v1.invoices.void_invoice_async(found.id)
    await ask.plan("stripe.get_invoice", "stale", seconds=time.monotonic() - between)
    assert [await status(ask, found.id), await status(ask, found.id)] == ["open", "void"]
    await ask.plan("stripe.list_invoices", "stale", seconds=time.monotonic() - between)
    told: Any = {"customer": str(found.customer)}
    pages = [await ask.stripe.v1.invoices.list_async(told) for _ in range(2)]
    assert [page.data[0].status for page in pages] == ["open", "void"]
