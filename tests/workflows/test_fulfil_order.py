"""The order agent: CRM, invoice and mail, all of them or none, and operations know why."""

import asyncio

import pytest
from temporalio.client import WorkflowFailureError
from temporalio.exceptions import ApplicationError

from rescind import Grade, Outcome
from tests.activities.sandbox_world import new_address
from tests.workflows.conftest import Business, report_of, states
from workflows.fulfil_order import CustomerOrder, Fulfilled, FulfilOrder


async def new_order(business: Business, status: str = "pending") -> CustomerOrder:
    sandbox = business.sandbox
    return CustomerOrder(
        order=await sandbox.new_order(status),
        customer=await sandbox.new_customer(),
        email=new_address(),
        amount=4200,
        description="A book",
    )


async def test_fulfilled(business: Business) -> None:
    """The order is confirmed, has one open invoice, and its customer one mail that names it; nobody is told."""
    order = await new_order(business)
    done = Fulfilled.model_validate(await (await business.start(FulfilOrder.run, order)).result())
    assert (await business.sandbox.order(order.order))["status"] == "confirmed"
    (invoice,) = await business.sandbox.invoices(order.customer)
    assert (invoice.id, invoice.status) == (done.invoice, "open")
    (mail,) = await business.sandbox.mails(order.email)
    assert mail["message_id"] == done.message_id
    assert str(invoice.number) in mail["text"]
    assert await business.notices(order.order) == ([], [])


@pytest.mark.parametrize(
    ("operation", "fault", "words"),
    [("mail.rcpt", "unavailable", "451"), ("mail.rcpt", "refuse", "550"), ("mail.rcpt", "throttled", "421")],
)
async def test_the_mail_server_says_no_for_ever(
    business: Business, operation: str, fault: str, words: str
) -> None:
    """Invoice voided, CRM as it was before and not a constant, its own words with the caller, operations told once."""
    order = await new_order(business, "on_hold")
    before = await business.sandbox.order(order.order)
    await business.sandbox.misbehave(operation, fault, calls=None, contains=order.email)
    failure = await business.failure(FulfilOrder.run, order)
    assert failure.type == "SagaUndone"
    assert words in failure.message
    assert await business.sandbox.order(order.order) == before
    assert [each.status for each in await business.sandbox.invoices(order.customer)] == ["void"]
    assert await business.sandbox.mails(order.email) == []
    await business.sandbox.behave()


async def test_operations_are_told(business: Business) -> None:
    """Once by chat and once by mail: the case, the original error, each step's outcome."""
    order = await new_order(business)
    await business.sandbox.misbehave("stripe.create_invoice", "refuse")
    failure = await business.failure(FulfilOrder.run, order)
    assert failure.type == "SagaUndone"
    chat, mails = await business.notices(order.order)
    for told in (chat, mails):
        (text,) = told
        assert f"Order {order.order}" in text
        assert "create_invoice#1 failed" in text
        assert "set_status#1" in text
        assert "undone, restored: exact" in text


async def test_operations_can_not_be_told(business: Business) -> None:
    """The outcome is the same, and the workflow ends."""
    order = await new_order(business)
    await business.sandbox.misbehave("stripe.create_invoice", "refuse")
    await business.sandbox.misbehave("chat.post", "error_after", calls=None)
    await business.sandbox.misbehave("mail.from", "refuse", calls=None)
    failure = await business.failure(FulfilOrder.run, order)
    assert failure.type == "SagaUndone"
    await business.sandbox.behave()
    chat, mails = await business.notices(order.order)
    assert (len(chat), mails) == (1, [])  # posted once, though it was answered 503


async def test_a_part_of_the_invoice(business: Business) -> None:
    """A draft that could not be finished is not taken for an invoice: it is deleted, and the status goes back."""
    order = await new_order(business)
    await business.sandbox.misbehave("stripe.finalize_invoice", "refuse", calls=None)
    failure = await business.failure(FulfilOrder.run, order)
    report = report_of(failure)
    assert states(report) == {"set_status#1": "undone", "create_invoice#1": "undone"}
    assert report.steps[1].restoration is not None
    assert report.steps[1].restoration.grade is Grade.EXACT
    assert await business.sandbox.invoices(order.customer) == []
    assert (await business.sandbox.order(order.order))["status"] == "pending"


async def test_the_order_was_shipped_meanwhile(business: Business) -> None:
    """Conflict: their status stays, the rest is undone, and a person is told what holds."""
    order, sandbox = await new_order(business), business.sandbox
    await sandbox.misbehave("mail.rcpt", "unavailable", calls=2, contains=order.email)
    await sandbox.misbehave("mail.rcpt", "refuse", contains=order.email)
    handle = await business.start(FulfilOrder.run, order)
    async with asyncio.timeout(30):
        while not await sandbox.invoices(order.customer):  # noqa: ASYNC110  (Stripe tells nobody)
            await asyncio.sleep(0.1)
    await sandbox.change_order(order.order, "shipped", "by hand")
    with pytest.raises(WorkflowFailureError) as failed:
        await handle.result()
    assert isinstance(failed.value.cause, ApplicationError)
    assert failed.value.cause.type == "UndoIncomplete"
    assert (await sandbox.order(order.order))["status"] == "shipped"
    assert [each.status for each in await sandbox.invoices(order.customer)] == ["void"]
    chat, _ = await business.notices(order.order)
    assert "a person is needed" in chat[0]


async def test_bad_input(business: Business) -> None:
    """It fails at once, with no effect."""
    plain = (await new_order(business)).model_dump() | {"amount": -1}
    await business.failure(FulfilOrder.run, plain)
    assert await business.sandbox.invoices(str(plain["customer"])) == []


async def test_only_the_mail_is_in_doubt(business: Business) -> None:
    """Invoice and status are taken back; the mail is left to a person, who is told which one to look for."""
    order = await new_order(business)
    await business.sandbox.misbehave("mail.end", "drop_after")
    failure = await business.failure(FulfilOrder.run, order)
    report = report_of(failure)
    assert report.outcome is Outcome.INCOMPLETE
    assert states(report) == {
        "set_status#1": "undone",
        "create_invoice#1": "undone",
        "send_email#1": "in_doubt",
    }
    (mail,) = await business.sandbox.mails(order.email)
    (left,) = report.left
    assert mail["message_id"].strip("<>").partition("@")[0] in str(left.error)
    assert order.email in str(left.error)
