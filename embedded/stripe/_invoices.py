"""Invoices as Stripe has them: drafts that are filled, finalized, paid, voided or deleted."""
# ruff: noqa: SLF001 - localstripe is extended by its underscore names
# pyright: basic, reportAttributeAccessIssue=false, reportArgumentType=false
# localstripe has no types, and those that pyright guesses are wrong.

from typing import Any

from localstripe.errors import UserError
from localstripe.resources import (
    Customer,
    Invoice,
    InvoiceItem,
    InvoiceLineItem,
    List,
    PaymentIntent,
    store,
)

from embedded.stripe._clock import now

DAY = 86_400


class Bill(Invoice):  # type: ignore[misc] # untyped
    """An invoice that begins as a draft, as Stripe's do."""

    def __init__(self, *, customer: str, metadata: dict[str, str] | None, description: str | None) -> None:
        self._out_of_band = False
        self.number: str | None = None
        super().__init__(customer=customer, metadata=metadata, description=description)
        self.attempted = False
        self.attempt_count = 0

    @property
    def status(self) -> str:
        """One of draft, open, paid and void."""
        if self._out_of_band:
            return "paid"
        if self._draft or self._voided:
            return "void" if self._voided else "draft"
        return str(super().status)

    @property
    def pre_payment_credit_notes_amount(self) -> int:
        """What was taken off before it was paid."""
        return sum(
            note.amount for note in notes(self.id) if note.type == "pre_payment" and not note.voided_at
        )

    @property
    def post_payment_credit_notes_amount(self) -> int:
        """What was given back after it had been paid."""
        return sum(note.amount for note in notes(self.id) if note.type == "post_payment")

    @property
    def amount_due(self) -> int:
        """What is to be paid in all."""
        return int(self.total - self.pre_payment_credit_notes_amount)

    @property
    def amount_remaining(self) -> int:
        """What is still to be paid."""
        return self.amount_due - int(self.amount_paid)


def refuse(message: str, code: str | None = None, param: str | None = None) -> UserError:
    """A parameter or state error in Stripe's form."""
    contents = {name: value for name, value in (("code", code), ("param", param)) if value}
    return UserError(400, message, contents)


def whole(value: object, param: str) -> int:
    """A number that is not negative."""
    try:
        number = int(str(value))
    except ValueError:
        raise refuse(f"Invalid integer: {value}", "parameter_invalid_integer", param) from None
    if number < 0:
        raise refuse("This value must be greater than or equal to 0.", "parameter_invalid_integer", param)
    return number


def no_more(rest: dict[str, Any]) -> None:
    """Refuses parameters that are not known here, as Stripe refuses those that it does not know."""
    if rest:
        name = next(iter(rest))
        raise refuse(f"Received unknown parameter: {name}", "parameter_unknown", name)


def bill(invoice: str) -> Bill:
    """The invoice of this id; localstripe's own, of subscriptions, are refused."""
    found = Invoice._api_retrieve(invoice)
    if not isinstance(found, Bill):
        raise refuse("This stand-in takes no invoices of subscriptions here.")
    return found


def create_invoice(  # noqa: PLR0917 - Stripe's parameters
    customer: str = "",
    description: str | None = None,
    metadata: dict[str, str] | None = None,
    currency: str | None = None,
    collection_method: str = "charge_automatically",
    days_until_due: object = None,
    auto_advance: object = "false",
    pending_invoice_items_behavior: str = "exclude",
    **rest: Any,
) -> Bill:
    """A draft; pending items of the customer are put on it only if that is asked for."""
    no_more(rest)
    if not customer:
        raise refuse("Missing required param: customer.", "parameter_missing", "customer")
    if collection_method not in ("charge_automatically", "send_invoice"):
        raise refuse("Invalid collection_method.", param="collection_method")
    days = None if days_until_due is None else whole(days_until_due, "days_until_due")
    if (days is None) == (collection_method == "send_invoice"):
        raise refuse("days_until_due goes with collection_method=send_invoice.", param="days_until_due")
    pending = [one for one in items(customer) if one.invoice is None]
    left_off = pending if pending_invoice_items_behavior == "exclude" else []
    for one in left_off:
        one.invoice = "in_another"
    try:
        made = Bill(customer=customer, metadata=metadata, description=description)
    finally:
        for one in left_off:
            one.invoice = None
    made.collection_method = collection_method
    made.auto_advance = str(auto_advance).lower() == "true"
    made.due_date = None if days is None else now() + days * DAY
    if currency and not made.lines._list:
        made.currency = currency.lower()
    return made


def invoices(customer: str | None) -> list[Any]:
    """Every invoice of a customer, or of all, oldest first."""
    every = [one for key, one in store.items() if key.startswith("invoice:")]
    return [one for one in every if customer in (None, one.customer)]


def notes(invoice: str) -> list[Any]:
    """The credit notes of an invoice, oldest first."""
    return [one for key, one in store.items() if key.startswith("credit_note:") and one.invoice == invoice]


def items(customer: str) -> list[Any]:
    """Every invoice item of a customer."""
    return [one for key, one in store.items() if key.startswith("invoiceitem:") and one.customer == customer]


def create_item(invoice: str | None = None, **told: Any) -> Any:
    """An item that waits for the customer's next invoice, or stands on a draft at once."""
    target = bill(invoice) if invoice else None
    if target and target.status != "draft":
        raise refuse(
            "The invoice is no longer a draft, so it can't be changed.", "invoice_not_editable", "invoice"
        )
    if target and target.customer != told.get("customer"):
        raise refuse("The invoice belongs to another customer.", param="invoice")
    if target and target.lines._list and target.currency != told.get("currency"):
        raise refuse("The invoice is in another currency.", param="currency")
    made = InvoiceItem(invoice=invoice, **told)
    if target:
        target.lines._list.append(InvoiceLineItem(made))
        target.currency = made.currency
    return made


def finalize(id: str, auto_advance: object = None, **rest: Any) -> Bill:  # noqa: A002 - Stripe's name
    """A draft becomes open, or paid where there is nothing to pay."""
    no_more(rest)
    found = bill(id)
    if found.status != "draft":
        raise refuse("This invoice is already finalized, you can't re-finalize a non-draft invoice.")
    found._finalize()
    count = sum(1 for one in invoices(found.customer) if getattr(one, "number", None))
    found.number = f"{found.customer[-8:].upper()}-{count + 1:04}"
    if auto_advance is not None:
        found.auto_advance = str(auto_advance).lower() == "true"
    return found


def pay(id: str, paid_out_of_band: object = "false", **rest: Any) -> Bill:  # noqa: A002
    """Charges the customer's default method, or takes Stripe's word that it was paid elsewhere."""
    no_more(rest)
    found = bill(id)
    elsewhere = str(paid_out_of_band).lower() == "true"
    method = Customer._api_retrieve(found.customer)._get_default_payment_method_or_source()
    if not elsewhere and found.total > 0 and method is None:
        raise refuse("This customer has no default payment method.")
    if found.status == "draft":
        finalize(id)
    if found.status != "open":
        raise refuse(f"Invoice is already {found.status}.", "invoice_not_open")
    if elsewhere:
        found._out_of_band = True
        found.status_transitions["paid_at"] = now()
    else:
        found.attempted, found.attempt_count = True, found.attempt_count + 1
        Invoice._api_pay_invoice(id)
    return found


def void(id: str, **rest: Any) -> Bill:  # noqa: A002
    """An open invoice is void for good; its number stays taken."""
    no_more(rest)
    found = bill(id)
    if found.status != "open":
        raise refuse(f"You can only void open invoices; this one is {found.status}.", "invoice_not_open")
    if found.payment_intent:
        PaymentIntent._api_cancel(found.payment_intent)
    found._voided = True
    found.status_transitions["voided_at"] = now()
    return found


def delete(id: str, **rest: Any) -> Any:  # noqa: A002
    """A draft goes, with the items that stood on it; anything else stays."""
    no_more(rest)
    found = Invoice._api_retrieve(id)
    if found.status != "draft":
        raise refuse("You can only delete draft invoices.", "invoice_not_editable")
    for one in items(found.customer):
        if one.invoice == id:
            del store[f"invoiceitem:{one.id}"]
    return Invoice._api_delete(id)


def listed(url: str, found: list[Any], told: dict[str, Any]) -> Any:
    """A page of a list, newest first."""
    page = List(url, limit=told.pop("limit", None), starting_after=told.pop("starting_after", None))
    no_more(told)
    page._list = found[::-1]  # they are kept in the order of their creation
    return page


def list_invoices(customer: str | None = None, status: str | None = None, **told: Any) -> Any:
    """The invoices of a customer, or all, newest first; each write before it is seen."""
    if customer:
        Customer._api_retrieve(customer)
    found = [one for one in invoices(customer) if status in (None, one.status)]
    return listed("/v1/invoices", found, told)
