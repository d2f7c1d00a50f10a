"""The workflow that fulfils an order in three systems, all of it or nothing."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from temporalio import workflow

from rescind import Saga

with workflow.unsafe.imports_passed_through():
    from activities.billing import CREATE_INVOICE, CreateInvoice
    from activities.crm import SET_STATUS, SetStatus
    from activities.mail import SEND_EMAIL, SendEmail
    from activities.operations import NOTICES


class CustomerOrder(BaseModel):
    """An order as the customer gave it.

    Attributes:
        order: Its id in the CRM.
        customer: The customer's id at Stripe.
        email: Where the confirmation goes.
        amount: What it costs, in the currency's smallest unit.
        currency: Stripe's code, such as `eur`.
        description: What is bought, as the invoice and the mail say it.
        status: The CRM's status of an order that is confirmed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    order: Annotated[str, Field(pattern=r"^[\w.-]{1,64}$")]
    customer: Annotated[str, Field(pattern=r"^cus_[A-Za-z0-9]+$")]
    email: Annotated[str, Field(pattern=r"^[^\s@<>,;\"]+@[^\s@<>,;\"]+$", max_length=254)]
    amount: Annotated[int, Field(gt=0, le=99_999_999)]
    currency: Annotated[str, Field(pattern=r"^[a-z]{3}$")] = "eur"
    description: Annotated[str, Field(min_length=1, max_length=500)]
    status: Annotated[str, Field(min_length=1, max_length=64)] = "confirmed"


class Fulfilled(BaseModel):
    """An order that is confirmed, invoiced, and known to the customer to be so."""

    order: str
    invoice: str
    message_id: str


# A ValidationError ends the workflow: bad input from anywhere is then FAILED at once, with no effect.
@workflow.defn(failure_exception_types=[ValidationError])
class FulfilOrder:
    """CRM status, invoice, confirmation by mail; a failure at any of them undoes all before it."""

    @workflow.run
    async def run(self, order: CustomerOrder) -> Fulfilled:
        """Fulfil the order, or tell operations why not.

        Raises:
            SagaUndone: A step failed, and every step before it was undone.
            UndoIncomplete: A step failed, and something stands or may stand; the report says what.
        """
        async with Saga(reference=f"Order {order.order}", tell=NOTICES) as saga:
            await saga.step(SET_STATUS, SetStatus(order=order.order, status=order.status))
            invoice = await saga.step(CREATE_INVOICE, _invoice(order))
            text = _confirmation(order, invoice.number or invoice.invoice)
            mail = await saga.step(SEND_EMAIL, text, name="send_email")
            await saga.commit()
        return Fulfilled(order=order.order, invoice=invoice.invoice, message_id=mail.message_id)


def _invoice(order: CustomerOrder) -> CreateInvoice:
    return CreateInvoice(
        customer=order.customer,
        order=order.order,
        amount=order.amount,
        currency=order.currency,
        description=order.description,
    )


def _confirmation(order: CustomerOrder, invoice: str) -> SendEmail:
    cost = f"{order.amount / 100:.2f} {order.currency.upper()}"
    return SendEmail(
        to=order.email,
        subject=f"Your order {order.order} is confirmed",
        text=f"We have confirmed your order {order.order}: {order.description}.\n\nThe invoice {invoice} over {cost} "
        "is on its way.",
        correction=f"Your order {order.order} is not confirmed after all, and the invoice {invoice} does not hold. "
        "You owe us nothing for it.",
    )
