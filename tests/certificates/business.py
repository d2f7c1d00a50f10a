"""The business systems as worlds: each snapshot has everything that was ever there, also what was cancelled."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import httpx
import psycopg
from psycopg.conninfo import make_conninfo

from activities.billing import CreateInvoice
from activities.chat import Notify
from activities.crm import SetStatus
from activities.crm_find import FindOrder
from activities.flights import BookFlight
from activities.hotels import BookRoom
from activities.mail import SendEmail
from activities.payments import TransferMoney
from activities.sms import SendSms
from activities.webhook import PostEvent
from tests.activities.sandbox_world import Sandbox

_numbers = count(1)


class Orders:
    """One order of the CRM with its status and reference; not its version, which counts changes."""

    compares = (
        "the order in the CRM with its status and reference, but for its version, which counts its changes"
    )

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox, self.order = sandbox, ""

    def request(self) -> SetStatus:
        """Confirm the order."""
        return SetStatus(order=self.order, status="confirmed")

    def find(self) -> FindOrder:
        """Read the order."""
        return FindOrder(order=self.order)

    async def reset(self) -> None:
        self.order = await self.sandbox.new_order("pending")

    async def snapshot(self) -> Any:
        return await self.sandbox.order(self.order)

    async def disturb(self) -> None:
        await self.sandbox.change_order(self.order, "on_hold", "by hand")

    async def take_away(self) -> None:
        await self.sandbox.change_order(self.order, "pending")

    async def already(self) -> None:
        await self.sandbox.change_order(self.order, "confirmed", "by hand")


class Bookings:
    """The bookings of one person with one supplier, cancelled ones and their fees too."""

    compares = "every booking of the person, cancelled ones and their fees too; what means the same: those that stand"

    def __init__(self, sandbox: Sandbox, system: str, rate: Any, *, seen: bool = True) -> None:
        self.sandbox, self.system, self.rate = sandbox, system, rate
        self.who = ""
        if not seen:
            self.compares += "; as the supplier's own staff sees them"

    def flight(self) -> BookFlight:
        """Book a flight."""
        return BookFlight(flight="RC100", day="2026-11-30", passenger=self.who, rate=self.rate)

    def room(self) -> BookRoom:
        """Book a room."""
        return BookRoom(hotel="Certified", guest=self.who, arrival="2026-11-30", nights=2, rate=self.rate)

    async def reset(self) -> None:
        self.who = f"Certified Ada {next(_numbers)}"

    async def snapshot(self) -> dict[str, Any]:
        path = "/admin/blind/bookings" if self.system == "blind" else f"/{self.system}/bookings"
        whose = "passenger" if self.system == "flights" else "guest"
        return {each["reference"]: each for each in await self.sandbox.get(path) if each[whose] == self.who}

    def meaning(self, snapshot: dict[str, Any]) -> dict[str, Any]:
        return {name: each for name, each in snapshot.items() if each["status"] == "booked"}


class ChangeableBookings(Bookings):
    """The same, where somebody at the supplier's changes a booking, which the undo can see."""

    async def disturb(self) -> None:
        (reference,) = self.meaning(await self.snapshot())
        change = {"day": "2026-12-24"} if self.system == "flights" else {"nights": 3}
        dsn = make_conninfo(self.sandbox.environment["RESCIND_LEDGER_ADMIN_DSN"], dbname="sandbox")
        async with await psycopg.AsyncConnection.connect(dsn) as connection:
            await connection.execute(
                "update thing set state = state || %s::jsonb where (system, id) = (%s, %s)",
                (json.dumps(change), self.system, reference),
            )

    async def take_away(self) -> None:
        base = self.sandbox.environment[f"RESCIND_{self.system.upper()}_URL"]
        async with httpx.AsyncClient() as client:
            for reference in self.meaning(await self.snapshot()):
                (await client.delete(f"{base}/bookings/{reference}")).raise_for_status()


class Invoices:
    """The customer's invoices at Stripe, void ones too."""

    compares = (
        "every invoice of the customer at Stripe, void ones too; what means the same: those that are not void"
    )

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox, self.customer = sandbox, ""

    def request(self) -> CreateInvoice:
        """Make out an invoice."""
        return CreateInvoice(
            customer=self.customer, order="O-1", amount=4200, currency="eur", description="A book"
        )

    async def reset(self) -> None:
        self.customer = await self.sandbox.new_customer()

    async def snapshot(self) -> dict[str, Any]:
        return {
            str(each.id): (each.status, each.total, each.amount_remaining)
            for each in await self.sandbox.invoices(self.customer)
        }

    def meaning(self, snapshot: dict[str, Any]) -> dict[str, Any]:
        return {name: each for name, each in snapshot.items() if each[0] != "void"}

    async def disturb(self) -> None:
        invoices = self.sandbox.stripe.v1.invoices
        for invoice in self.meaning(await self.snapshot()):
            await self.sandbox.at_stripe(invoices.pay, invoice, {"paid_out_of_band": True})

    async def take_away(self) -> None:
        invoices = self.sandbox.stripe.v1.invoices
        for invoice in self.meaning(await self.snapshot()):
            await self.sandbox.at_stripe(invoices.void_invoice, invoice)


class Mails:
    """The mails to one address by their Message-ID, by which a mail program knows a mail again."""

    compares = "every mail to the address by its Message-ID, with its subject and text"

    def __init__(self, sandbox: Sandbox, on_undo: Any) -> None:
        self.sandbox, self.on_undo = sandbox, on_undo
        self.address = ""

    def request(self) -> SendEmail:
        """Send a mail."""
        return SendEmail(
            to=self.address, subject="Your order", text="It is on its way.", on_undo=self.on_undo
        )

    async def reset(self) -> None:
        self.address = f"certified-{next(_numbers)}@example.com"

    async def snapshot(self) -> dict[str, Any]:
        found = await self.sandbox.mails(self.address)
        return {each["message_id"]: (each["subject"], each["text"]) for each in found}


class Messages:
    """The messages of one chat hook."""

    compares = "every message of the chat"

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        (self.hook,) = json.loads(sandbox.environment["RESCIND_CHAT_WEBHOOKS"])

    def request(self) -> Notify:
        """Post a message."""
        return Notify(webhook=self.hook, text="Certified.")

    async def snapshot(self) -> Any:
        return [each["body"] for each in await self.sandbox.get("/messages") if each["hook"] == self.hook]


class Sent:
    """All that one provider was ever asked for and has done."""

    def __init__(self, sandbox: Sandbox, path: str, compares: str) -> None:
        self.sandbox, self.path, self.compares = sandbox, path, compares

    def text(self) -> SendSms:
        """Send a text message."""
        return SendSms(to="+491700000001", text="Certified.")

    def transfer(self) -> TransferMoney:
        """Transfer money."""
        accounts = {"source": "DE02100500000024290661", "target": "DE02300209000106531065"}
        return TransferMoney(**accounts, amount=4200, purpose="Certified")

    def event(self) -> PostEvent:
        """Post an event."""
        return PostEvent(webhook="ops", event="order.certified", data={"order": "O-1"})

    async def snapshot(self) -> Any:
        return await self.sandbox.get(self.path)
