"""Credit notes, which localstripe lacks."""
# ruff: noqa: SLF001 - localstripe is extended by its underscore names
# pyright: basic, reportAttributeAccessIssue=false, reportArgumentType=false
# localstripe has no types, and those that pyright guesses are wrong.

from typing import Any

from localstripe.resources import Customer, Refund, StripeObject, store

from embedded.stripe._clock import now
from embedded.stripe._invoices import Bill, bill, listed, no_more, notes, refuse, whole


class CreditNote(StripeObject):  # type: ignore[misc] # untyped
    """Takes something off an open invoice, or gives something of a paid one back."""

    object = "credit_note"
    _id_prefix = "cn_"

    def __init__(self, invoice: Bill, amount: int, shares: dict[str, int], told: dict[str, Any]) -> None:
        super().__init__()
        paid = invoice.status == "paid"
        self.invoice, self.customer, self.currency = invoice.id, invoice.customer, invoice.currency
        self.amount = self.total = self.subtotal = amount
        self.number = f"{invoice.number}-CN-{len(notes(invoice.id)):02}"
        self.type = "post_payment" if paid else "pre_payment"
        self.status = "issued"
        self.voided_at: int | None = None
        self.out_of_band_amount = shares["out_of_band_amount"]
        self.refunds: list[dict[str, Any]] = []
        self.reason, self.memo = told.get("reason"), told.get("memo")
        self.metadata = told.get("metadata") or {}
        if shares["refund_amount"]:
            refund = Refund(payment_intent=invoice.payment_intent, amount=shares["refund_amount"])
            self.refunds = [{"refund": refund.id, "amount_refunded": shares["refund_amount"]}]


def create_credit_note(invoice: str = "", amount: object = None, **told: Any) -> CreditNote:
    """Takes `amount` off an open invoice; of a paid one the shares say how it is given back."""
    found = bill(invoice)
    if found.status not in ("open", "paid"):
        raise refuse(f"A credit note is for an open or paid invoice; this one is {found.status}.")
    asked = {
        name: whole(told.pop(name, 0), name)
        for name in ("refund_amount", "credit_amount", "out_of_band_amount")
    }
    known = {name: told.pop(name, None) for name in ("reason", "memo", "metadata")}
    no_more(told)
    total = sum(asked.values()) if amount is None else whole(amount, "amount")
    credited = sum(note.amount for note in notes(invoice) if not note.voided_at)
    if not 0 < total <= found.total - credited:
        raise refuse(
            f"The sum of credit notes must be within 1 and {found.total - credited}.", param="amount"
        )
    if sum(asked.values()) != (total if found.status == "paid" else 0):
        raise refuse("refund, credit and out_of_band amounts must add up to what is given back.")
    if asked["refund_amount"] and not found.payment_intent:
        raise refuse("This invoice has no payment that could be refunded.", param="refund_amount")
    if asked["credit_amount"]:
        Customer._api_retrieve(found.customer).account_balance += asked["credit_amount"]
    return CreditNote(found, total, asked, known)


def retrieve_credit_note(id: str, **rest: Any) -> Any:  # noqa: A002
    """One credit note."""
    no_more(rest)
    return CreditNote._api_retrieve(id)


def list_credit_notes(invoice: str | None = None, customer: str | None = None, **told: Any) -> Any:
    """The credit notes of an invoice or customer, newest first."""
    every = [one for key, one in store.items() if key.startswith("credit_note:")]
    found = [one for one in every if invoice in (None, one.invoice) and customer in (None, one.customer)]
    return listed("/v1/credit_notes", found, told)


def void_credit_note(id: str, **rest: Any) -> Any:  # noqa: A002
    """A note on an invoice that is still open can be taken back."""
    no_more(rest)
    note = CreditNote._api_retrieve(id)
    if note.type != "pre_payment" or note.voided_at:
        raise refuse("You can only void issued credit notes of open invoices.")
    note.status, note.voided_at = "void", now()
    return note
