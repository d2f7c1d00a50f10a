"""The invoice tool with Stripe's own client against the stand-in: one invoice for a call, undone by what it is."""

from typing import Any

import pytest
import stripe

from activities.billing import (
    CREATE_INVOICE,
    CreateInvoice,
    Invoice,
    InvoiceUnfinished,
    cancel_invoice,
    create_invoice,
    find_invoice,
)
from rescind import Absent, Applied, Call, Grade, Receipt
from rescind.evidence import Conflict, Unproven, weigh
from tests.activities.sandbox_world import Sandbox, call_of

Made = Call[CreateInvoice]


async def for_new_customer(sandbox: Sandbox) -> Made:
    return call_of(
        CreateInvoice(
            customer=await sandbox.new_customer(),
            order="O-1",
            amount=4200,
            currency="eur",
            description="A book",
        )
    )


def receipt(call: Made, result: Invoice) -> Receipt[CreateInvoice, Invoice]:
    return Receipt(call=call, result=result)


async def statuses(sandbox: Sandbox, call: Made) -> list[Any]:
    return [each.status for each in await sandbox.invoices(call.request.customer)]


async def test_made_out_and_voided(sandbox: Sandbox) -> None:
    """One open invoice over the amount, however often it is asked for; the undo voids it, twice as once."""
    call = await for_new_customer(sandbox)
    made = await create_invoice(call)
    assert await create_invoice(call) == made
    (invoice,) = await sandbox.invoices(call.request.customer)
    assert (invoice.status, invoice.total, invoice.id) == ("open", 4200, made.invoice)
    assert await find_invoice(call) == Applied(result=made)
    for _ in range(2):
        assert (await cancel_invoice(receipt(call, made))).grade is Grade.EQUIVALENT
    assert await statuses(sandbox, call) == ["void"]
    assert await find_invoice(call) == Absent()


async def test_pending_items_of_the_customer(sandbox: Sandbox) -> None:
    """They stay off the invoice."""
    call = await for_new_customer(sandbox)
    pending = {"customer": call.request.customer, "amount": 999, "currency": "eur"}
    await sandbox.at_stripe(sandbox.stripe.v1.invoice_items.create, pending)
    await create_invoice(call)
    assert [each.total for each in await sandbox.invoices(call.request.customer)] == [4200]


@pytest.mark.parametrize(
    ("operation", "fault"),
    [
        (f"stripe.{operation}", fault)
        for operation in ("create_invoice", "create_item", "finalize_invoice")
        for fault in ("error_after", "drop_after", "hang_after", "drop_before")
    ],
)
async def test_stopped_in_between(sandbox: Sandbox, operation: str, fault: str) -> None:
    """The attempt is unknown; the lookup tells a part from the whole, and the next attempt completes it."""
    call = await for_new_customer(sandbox)
    await sandbox.misbehave(operation, fault)
    with pytest.raises((stripe.StripeError, InvoiceUnfinished)) as failed:
        await create_invoice(call)
    assert not weigh(failed.value, CREATE_INVOICE.proves).nothing_happened
    found = await find_invoice(call)
    if isinstance(found, Applied):
        assert found.partial == (found.result.status == "draft")
    else:
        assert (operation, fault) == ("stripe.create_invoice", "drop_before")
    assert (await create_invoice(call)).status == "open"
    (invoice,) = await sandbox.invoices(call.request.customer)
    assert (invoice.status, invoice.total) == ("open", 4200)


@pytest.mark.parametrize("operation", ["create_item", "finalize_invoice"])
async def test_a_part_of_it_is_undone(sandbox: Sandbox, operation: str) -> None:
    """The draft is deleted without a trace; asked again, it is gone."""
    call = await for_new_customer(sandbox)
    await sandbox.misbehave(f"stripe.{operation}", "refuse")
    with pytest.raises(Unproven, match="not finished"):
        await create_invoice(call)
    found = await find_invoice(call)
    assert isinstance(found, Applied)
    assert found.partial
    assert (await cancel_invoice(receipt(call, found.result))).grade is Grade.EXACT
    assert await statuses(sandbox, call) == []
    assert (await cancel_invoice(receipt(call, found.result))).grade is Grade.NOTHING


async def test_refused_at_once(sandbox: Sandbox) -> None:
    """An unknown customer is a refusal in Stripe's words, and there is nothing to find."""
    request = CreateInvoice(customer="cus_none", order="O-1", amount=1, currency="eur", description="x")
    with pytest.raises(stripe.InvalidRequestError, match=r"cus_none|No such|[Nn]ot [Ff]ound") as failed:
        await create_invoice(call_of(request))
    evidence = weigh(failed.value, CREATE_INVOICE.proves)
    assert (evidence.nothing_happened, evidence.try_again) == (True, False)
    assert await find_invoice(call_of(request)) == Absent()


async def pay_by_card(sandbox: Sandbox, customer: str, invoice: str) -> None:
    client = sandbox.stripe.v1
    card = {"number": "4242424242424242", "exp_month": 12, "exp_year": 2040, "cvc": "123"}
    method = await sandbox.at_stripe(client.payment_methods.create, {"type": "card", "card": card})
    await sandbox.at_stripe(client.payment_methods.attach, method.id, {"customer": customer})
    default = {"invoice_settings": {"default_payment_method": method.id}}
    await sandbox.at_stripe(client.customers.update, customer, default)
    await sandbox.at_stripe(client.invoices.pay, invoice)


async def test_paid_since(sandbox: Sandbox) -> None:
    """A credit note refunds all of it, once; the invoice and the note are what is left."""
    call = await for_new_customer(sandbox)
    made = await create_invoice(call)
    await pay_by_card(sandbox, call.request.customer, made.invoice)
    for _ in range(2):
        undone = await cancel_invoice(receipt(call, made))
        assert undone.grade is Grade.RESIDUE
        assert "credit note" in (undone.detail or "")
    notes = await sandbox.at_stripe(sandbox.stripe.v1.credit_notes.list, {"invoice": made.invoice})
    assert [note.amount for note in notes.data] == [4200]


async def test_paid_outside_stripe(sandbox: Sandbox) -> None:
    """Stripe can't refund what it was not paid: a conflict, in its own words, for a person."""
    call = await for_new_customer(sandbox)
    made = await create_invoice(call)
    paid = {"paid_out_of_band": True}
    await sandbox.at_stripe(sandbox.stripe.v1.invoices.pay, made.invoice, paid)
    with pytest.raises(Conflict, match="Refund it by hand"):
        await cancel_invoice(receipt(call, made))
    assert await statuses(sandbox, call) == ["paid"]


async def test_not_ours(sandbox: Sandbox) -> None:
    """An invoice without our key is a conflict and stays."""
    call = await for_new_customer(sandbox)
    made = await create_invoice(call)
    other = call.model_copy(update={"key": "rsc-other"})
    with pytest.raises(Conflict, match="not as this step made it"):
        await cancel_invoice(receipt(other, made))
    assert await statuses(sandbox, call) == ["open"]


async def test_an_old_read_during_the_undo(sandbox: Sandbox) -> None:
    """A read that does not find the invoice is not believed."""
    call = await for_new_customer(sandbox)
    made = await create_invoice(call)
    await sandbox.misbehave("stripe.get_invoice", "stale", seconds=600)
    with pytest.raises(stripe.InvalidRequestError):
        await cancel_invoice(receipt(call, made))
    assert await statuses(sandbox, call) == ["open"]
    assert (await cancel_invoice(receipt(call, made))).grade is Grade.EQUIVALENT


@pytest.mark.parametrize(
    ("fault", "nothing", "again"),
    [("refuse", True, False), ("throttled", True, True), ("unavailable", False, True)],
)
async def test_what_the_status_proves(sandbox: Sandbox, fault: str, *, nothing: bool, again: bool) -> None:
    """4xx is a refusal, 429 nothing yet, 503 nothing known."""
    call = await for_new_customer(sandbox)
    await sandbox.misbehave("stripe.create_invoice", fault)
    with pytest.raises(stripe.StripeError) as failed:
        await create_invoice(call)
    evidence = weigh(failed.value, CREATE_INVOICE.proves)
    assert (evidence.nothing_happened, evidence.try_again) == (nothing, again)


async def test_nobody_listens(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing happened."""
    call = await for_new_customer(sandbox)
    monkeypatch.setenv("RESCIND_STRIPE_API_BASE", "http://127.0.0.1:1")
    with pytest.raises(stripe.APIConnectionError) as failed:
        await create_invoice(call)
    assert weigh(failed.value, CREATE_INVOICE.proves).nothing_happened
