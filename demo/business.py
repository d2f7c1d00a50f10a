"""The demo's runs of the order agent and of the trip agent."""

from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from typing import Any

import httpx
import stripe

from demo.case import Case, Place

MAIL_REFUSED = {"operation": "mail.rcpt", "fault": "refuse"}
HOTEL_REFUSES = {"operation": "hotels.book", "fault": "refuse"}
REPLY_LOST = {"operation": "hotels.book", "fault": "drop_after"}
STAY = ("--flight", "LH123", "--day", "2027-01-10", "--nights", "2")


def business_cases() -> list[Case]:
    """Each agent once to success, once with a failure that undoes all."""
    return [
        Case("order", "an order: status, invoice and mail", (), partial(_an_order, None), agent="order"),
        Case(
            "mail",
            "an order whose mail the mail server refuses",
            (),
            partial(_an_order, MAIL_REFUSED),
            "send_email#1",
            "order",
        ),
        Case("trip", "a trip whose hotel books and never says so", STAY, _a_trip, agent="trip"),
        Case(
            "hotel",
            "a trip whose hotel refuses the guest",
            STAY,
            _a_hotel_that_refuses,
            "book_room#1",
            "trip",
        ),
    ]


@contextmanager
def _an_order(fault: dict[str, str] | None, place: Place, name: str) -> Generator[tuple[str, ...]]:
    """An order that is on hold, its customer at Stripe, and perhaps a fault for its mail."""
    settings, email = place.environment, f"{name}@example.com"
    account = stripe.StripeClient(
        settings["RESCIND_STRIPE_API_KEY"], base_addresses={"api": settings["RESCIND_STRIPE_API_BASE"]}
    )
    customer = account.v1.customers.create({"name": "Ada", "email": email})
    order = {"id": name, "customer": "Ada", "email": email, "total": 4200, "status": "on_hold"}
    _ask(settings["RESCIND_CRM_URL"] + "/orders", order)
    if fault:
        _ask(settings["RESCIND_SANDBOX_ADMIN_URL"] + "/faults", fault | {"contains": email})
    yield ("--order", name, "--customer", customer.id, "--email", email, "--amount", "4200")


@contextmanager
def _a_trip(place: Place, name: str) -> Generator[tuple[str, ...]]:
    """The first answer of the hotel is lost; the second try is answered with the first one's booking."""
    _ask(place.environment["RESCIND_SANDBOX_ADMIN_URL"] + "/faults", REPLY_LOST | {"contains": name})
    yield _trip(name, "Grand")


@contextmanager
def _a_hotel_that_refuses(place: Place, name: str) -> Generator[tuple[str, ...]]:
    """The hotel takes no booking of this guest."""
    _ask(place.environment["RESCIND_SANDBOX_ADMIN_URL"] + "/faults", HOTEL_REFUSES | {"contains": name})
    yield _trip(name, "Grand")


def _trip(name: str, hotel: str) -> tuple[str, ...]:
    return ("--trip", name, "--traveller", name, "--email", f"{name}@example.com", "--hotel", hotel)


def _ask(url: str, body: dict[str, Any]) -> None:
    httpx.post(url, json=body, trust_env=False).raise_for_status()
