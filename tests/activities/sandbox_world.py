"""The sandbox as the tests of the tools see it: told to misbehave, and looked at from outside."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx
import pytest
import stripe

from rescind import Call
from rescind._calls import Req

Made = TypeVar("Made")


class Sandbox:
    """The providers from outside: what they hold, and how they are told to misbehave."""

    def __init__(self, environment: dict[str, str], client: httpx.AsyncClient) -> None:
        self.environment, self._client = environment, client
        self.stripe = stripe.StripeClient(
            environment["RESCIND_STRIPE_API_KEY"],
            base_addresses={"api": environment["RESCIND_STRIPE_API_BASE"]},
        )

    async def at_stripe(self, call: Callable[..., Made], *given: Any) -> Made:
        """A call of Stripe's own client, in its usual form."""
        return await asyncio.to_thread(call, *given)

    async def misbehave(self, operation: str, fault: str, **plan: Any) -> int:
        """The next call of this operation meets this fault; the plan's number."""
        body = {"operation": operation, "fault": fault, **plan}
        answer = await self._client.post("/admin/faults", json=body)
        answer.raise_for_status()
        return int(answer.json()["number"])

    async def behave(self, number: int | None = None) -> None:
        """This plan is gone, or no plan is left."""
        path = "/admin/faults" if number is None else f"/admin/faults/{number}"
        (await self._client.delete(path)).raise_for_status()

    async def calls(self, operation: str, *, key: str | None = None) -> list[dict[str, Any]]:
        """The calls of one operation that came, oldest first."""
        found: list[dict[str, Any]] = await self.get(
            "/admin/calls", operation=operation, **({"key": key} if key else {})
        )
        return found

    async def get(self, path: str, **params: str) -> Any:
        """What the sandbox answers to a read."""
        answer = await self._client.get(path, params=params)
        answer.raise_for_status()
        return answer.json()

    async def post(self, path: str, body: dict[str, Any]) -> None:
        """Somebody else asks a provider for something."""
        key = {"Idempotency-Key": str(uuid.uuid4())}
        (await self._client.post(path, json=body, headers=key)).raise_for_status()

    async def new_order(self, status: str = "pending") -> str:
        """Enter an order, and answer with its id."""
        name = f"O-{uuid.uuid4()}"
        await self.enter_order(name, status)
        return name

    async def enter_order(self, name: str, status: str) -> None:
        """Enter an order with this id."""
        order = {"id": name, "customer": "Ada", "email": "ada@example.com", "total": 4200, "status": status}
        (await self._client.post("/crm/orders", json=order)).raise_for_status()

    async def order(self, name: str) -> dict[str, Any]:
        """An order without its version, which nobody depends on."""
        found: dict[str, Any] = await self.get(f"/crm/orders/{name}")
        return {field: value for field, value in found.items() if field != "version"}

    async def change_order(self, name: str, status: str, reference: str | None = None) -> None:
        """Somebody else changes an order's status."""
        change = {"status": status, "reference": reference}
        (await self._client.patch(f"/crm/orders/{name}", json=change)).raise_for_status()

    async def standing(self, system: str, guest: str) -> list[dict[str, Any]]:
        """The bookings of flights, hotels or blind that stand for this person."""
        path = "/admin/blind/bookings" if system == "blind" else f"/{system}/bookings"
        whose = "passenger" if system == "flights" else "guest"
        return [each for each in await self.get(path) if each[whose] == guest and each["status"] == "booked"]

    async def sold_out(self, system: str, name: str) -> None:
        """Nothing is left of a flight or hotel."""
        (await self._client.put(f"/admin/stock/{system}/{name}", json={"left": 0})).raise_for_status()

    async def mails(self, to: str) -> list[dict[str, Any]]:
        """The mails to an address, oldest first."""
        return [each for each in await self.get("/mails") if to in each["recipients"]]

    async def new_customer(self) -> str:
        """A customer at Stripe."""
        told = {"email": "ada@example.com", "name": "Ada"}
        return (await self.at_stripe(self.stripe.v1.customers.create, told)).id

    async def invoices(self, customer: str) -> list[stripe.Invoice]:
        """The customer's invoices, newest first."""
        return list((await self.at_stripe(self.stripe.v1.invoices.list, {"customer": customer})).data)


def call_of(request: Req) -> Call[Req]:
    """A call with keys of its own."""
    key = f"rsc-{uuid.uuid4().hex}"
    return Call[Req](request=request, key=key, undo_key=f"{key}-u")


def new_address() -> str:
    """A mail address that no other test uses."""
    return f"{uuid.uuid4().hex}@example.com"


@asynccontextmanager
async def sandbox_of(stack_environment: dict[str, str]) -> AsyncGenerator[Sandbox]:
    """The sandbox of these stand-ins, without a plan before and after."""
    base = "{0.scheme}://{0.netloc}".format(urlsplit(stack_environment["RESCIND_CRM_URL"]))
    async with httpx.AsyncClient(base_url=base, trust_env=False, timeout=30) as client:
        made = Sandbox(stack_environment, client)
        await made.behave()
        yield made
        await made.behave()


@pytest.fixture
async def sandbox(
    stack_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Sandbox]:
    """The sandbox of the stand-ins, and a worker's environment that points at it and has little patience."""
    for name, value in stack_environment.items():
        if name.startswith("RESCIND_"):
            monkeypatch.setenv(name, value)
    monkeypatch.setenv("RESCIND_HTTP_SECONDS", "1.5")
    async with sandbox_of(stack_environment) as made:
        yield made
