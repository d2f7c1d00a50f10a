"""What the business systems hold, read over their own interfaces: orders, bookings, invoices and mails."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from embedded.errors import StandInError
from embedded.http import ask

STANDING = "booked"


class Order(BaseModel):
    """One order of the CRM; its version and the name of its last change are left out, since no undo gives them back."""

    model_config = ConfigDict(frozen=True)
    status: str
    customer: str
    email: str
    total: int
    currency: str


class Booking(BaseModel):
    """One booking that stands; a cancelled one is no part of the world."""

    model_config = ConfigDict(frozen=True)
    what: str
    who: str
    price: int


class Invoice(BaseModel):
    """One invoice that is not void; a deleted draft is gone."""

    model_config = ConfigDict(frozen=True)
    status: str
    customer: str
    total: int
    amount_remaining: int
    credited: int
    metadata: dict[str, str]


class Mail(BaseModel):
    """One mail that was received."""

    model_config = ConfigDict(frozen=True)
    message_id: str
    sender: str
    recipients: list[str]
    subject: str
    text: str


class Sent(BaseModel):
    """What can't be taken back: a text message, a transfer, or an event of a webhook, in words."""

    model_config = ConfigDict(frozen=True)
    kind: str
    to: str
    what: str


def orders(environment: Mapping[str, str]) -> dict[str, Order]:
    """Every order by id."""
    return {one["id"]: Order.model_validate(one) for one in listed(environment, "RESCIND_CRM_URL", "/orders")}


def bookings(environment: Mapping[str, str]) -> dict[str, Booking]:
    """Every booking that stands, as `supplier/reference`."""
    found: dict[str, Booking] = {}
    for supplier, (variable, path) in {
        "flights": ("RESCIND_FLIGHTS_URL", "/bookings"),
        "hotels": ("RESCIND_HOTELS_URL", "/bookings"),
        "blind": ("RESCIND_SANDBOX_ADMIN_URL", "/blind/bookings"),
    }.items():
        for one in listed(environment, variable, path):
            if one["status"] == STANDING:
                found[f"{supplier}/{one['reference']}"] = booking(one)
    return found


def booking(one: Mapping[str, Any]) -> Booking:
    """A flight's or a room's booking in the same words."""
    flight = one.get("flight")
    what = (
        f"{flight}, {one['seats']} seats"
        if flight
        else f"{one['hotel']}, {one['rooms']} rooms, {one['nights']} nights"
    )
    return Booking(what=what, who=one.get("passenger") or one["guest"], price=one["price"])


def mails(environment: Mapping[str, str]) -> list[Mail]:
    """Every mail, oldest first."""
    return [Mail.model_validate(one) for one in listed(environment, "RESCIND_SANDBOX_ADMIN_URL", "/mails")]


def sent(environment: Mapping[str, str]) -> list[Sent]:
    """Every text message, transfer and event."""
    texts = listed(environment, "RESCIND_SMS_URL", "/messages")
    transfers = listed(environment, "RESCIND_PAYMENTS_URL", "/transfers")
    hook = next(iter(json.loads(environment.get("RESCIND_WEBHOOKS") or "{}").values()), "")
    events = listed({"hook": hook.rpartition("/")[0]}, "hook", "/events")
    return [
        *(Sent(kind="text message", to=one["to"], what=one["text"]) for one in texts),
        *(
            Sent(
                kind="transfer", to=one["target"], what=f"{one['amount']} {one['currency']}: {one['purpose']}"
            )
            for one in transfers
        ),
        *(Sent(kind="event", to=one["hook"], what=json.dumps(one["body"])) for one in events),
    ]


def invoices(environment: Mapping[str, str]) -> dict[str, Invoice]:
    """Every invoice by id, but for void ones."""
    import stripe  # noqa: PLC0415 - takes a second to import, and this package is imported by many

    base, key = environment.get("RESCIND_STRIPE_API_BASE"), environment.get("RESCIND_STRIPE_API_KEY")
    if not base or not key:
        return {}
    client = stripe.StripeClient(key, base_addresses={"api": base}, max_network_retries=2)
    every = client.v1.invoices.list({"limit": 100}).auto_paging_iter()
    return {str(one.id): invoice(one.to_dict()) for one in every if one.status != "void"}


def invoice(one: Mapping[str, Any]) -> Invoice:
    """Of Stripe's many fields those that a saga changes."""
    credited = one["pre_payment_credit_notes_amount"] + one["post_payment_credit_notes_amount"]
    return Invoice.model_validate({**one, "credited": credited})


def listed(environment: Mapping[str, str], variable: str, path: str) -> list[dict[str, Any]]:
    """What a provider lists; empty if the environment does not name it."""
    base = environment.get(variable)
    if not base:
        return []
    found = ask(base + path)
    if found is None:
        raise StandInError(f"{base}{path} does not list what it has. Is {variable} the stand-in?")
    return list(found)
