"""Which of Stripe's routes are ours; to be put into localstripe's table before its server is imported."""

from collections.abc import Callable
from typing import Any

from embedded.stripe._credit_notes import (
    create_credit_note,
    list_credit_notes,
    retrieve_credit_note,
    void_credit_note,
)
from embedded.stripe._invoices import create_invoice, create_item, delete, finalize, list_invoices, pay, void

OURS: list[tuple[str, str, Callable[..., Any]]] = [
    ("POST", "/v1/invoices", create_invoice),
    ("GET", "/v1/invoices", list_invoices),
    ("DELETE", "/v1/invoices/{id}", delete),
    ("POST", "/v1/invoices/{id}/finalize", finalize),
    ("POST", "/v1/invoices/{id}/pay", pay),
    ("POST", "/v1/invoices/{id}/void", void),
    ("POST", "/v1/invoiceitems", create_item),
    ("POST", "/v1/credit_notes", create_credit_note),
    ("GET", "/v1/credit_notes", list_credit_notes),
    ("GET", "/v1/credit_notes/{id}", retrieve_credit_note),
    ("POST", "/v1/credit_notes/{id}/void", void_credit_note),
]


def with_ours(theirs: list[tuple[str, str, Any]]) -> list[tuple[str, str, Any]]:
    """Ours, which are looked at first, and of theirs those that are not replaced."""
    taken = {(method, url) for method, url, _ in OURS}
    return [*OURS, *(one for one in theirs if one[:2] not in taken)]
