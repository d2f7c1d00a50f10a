"""What each cell asks for, and all that the providers ever had of it, cancelled and void things included."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from embedded.sandbox.faults import Fault
from rescind._keys import effect_key, provider_key, provider_undo_key
from tests.activities.sandbox_world import Sandbox
from tests.matrix.business.cells import Business, Cell, Side

BEFORE = "pending"
STALE_SECONDS = 0.7
"""How old a stale answer is: older than the write it hides, younger than what the lookup waits for."""


@dataclass(frozen=True)
class Case:
    """A cell with what it needs at the providers."""

    cell: Cell
    customer: str

    @property
    def address(self) -> str:
        """Where the cell's mails go; the local part of an address has 64 characters at most."""
        return f"{self.cell.name[-64:].lstrip('-')}@example.com"

    @property
    def order(self) -> str:
        """The cell's order in the CRM; its id has 64 characters at most."""
        return self.cell.name[-64:]

    def request(self) -> dict[str, JsonValue]:
        """The request of the step."""
        name = self.cell.name
        match self.cell.tool:
            case Business.CRM:
                return {"order": self.order, "status": "confirmed"}
            case Business.INVOICE:
                return {
                    "customer": self.customer,
                    "order": self.order,
                    "amount": 4200,
                    "currency": "eur",
                    "description": "A book",
                }
            case Business.EMAIL:
                return {"to": self.address, "subject": f"About {name}", "text": "It is booked."}
            case Business.FLIGHT:
                return {"flight": "LH123", "day": "2027-01-10", "passenger": name}
            case Business.ROOM | Business.BLIND:
                return {"hotel": "Grand", "guest": name, "arrival": "2027-01-10", "nights": 2}

    def marks(self, side: Side, key: str, result: JsonValue) -> str:
        """The text by which the sandbox knows this cell's requests on this side, in their path or their body."""
        made: Any = result or {}
        match self.cell.tool:
            case Business.CRM:
                return self.order
            case Business.EMAIL:
                return "MAIL FROM" if self.cell.trouble(side).at == "from" else self.address
            case Business.INVOICE:
                return self.customer if side is Side.CALL else str(made.get("invoice", "no invoice"))
            case Business.BLIND:
                return self.cell.name if side is Side.CALL else str(made.get("booking", "no booking"))
            case Business.FLIGHT | Business.ROOM:
                return self.cell.name if side is Side.CALL else key


@dataclass(frozen=True)
class Keys:
    """The keys of a cell's only step, as the providers see them."""

    call: str
    undo: str


def keys_of(tool: Business, saga: str) -> Keys:
    """The keys of the first step of this saga."""
    key = effect_key(saga, tool.value.rpartition(".")[2], 1)
    return Keys(provider_key(key), provider_undo_key(key))


async def prepared(cells: list[Cell], sandbox: Sandbox) -> list[Case]:
    """Customers and orders, where the tool needs one."""

    async def one(cell: Cell) -> Case:
        customer = await sandbox.new_customer() if cell.tool is Business.INVOICE else ""
        case = Case(cell, customer)
        if cell.tool is Business.CRM:
            await sandbox.enter_order(case.order, BEFORE)
        return case

    limit = asyncio.Semaphore(8)

    async def limited(cell: Cell) -> Case:
        async with limit:
            return await one(cell)

    return list(await asyncio.gather(*map(limited, cells)))


def plan(case: Case, side: Side, key: str, result: JsonValue) -> dict[str, Any] | None:
    """What the sandbox is told for one side of a cell; None where nothing goes wrong."""
    trouble = case.cell.trouble(side)
    if trouble.fault is None:
        return None
    return {
        "operation": case.cell.operation(side),
        "fault": trouble.fault.value,
        "contains": case.marks(side, key, result),
        "calls": None if trouble.lasting else 1,
        "seconds": STALE_SECONDS if trouble.fault is Fault.STALE else 1,
    }


@dataclass(frozen=True)
class History:
    """Everything that the providers ever had, by tool."""

    bookings: dict[Business, list[dict[str, Any]]]
    invoices: list[Any]
    mails: list[dict[str, Any]]
    orders: list[dict[str, Any]]

    def effects(self, case: Case, keys: Keys) -> int:
        """How often the cell's call has taken effect; a mail that came twice with one Message-ID is one mail."""
        match case.cell.tool:
            case Business.CRM:
                (order,) = [each for each in self.orders if each["id"] == case.order]
                return (
                    int(order["version"]) // 2
                )  # one write of each two is the undo, and a third one would be a double
            case Business.INVOICE:
                return sum(each.customer == case.customer for each in self.invoices)
            case Business.EMAIL:
                return len(
                    {each["message_id"] for each in self.mails_of(case) if keys.call in each["message_id"]}
                )
            case tool:
                whose = "passenger" if tool is Business.FLIGHT else "guest"
                return sum(each[whose] == case.cell.name for each in self.bookings[tool])

    def mails_of(self, case: Case) -> list[dict[str, Any]]:
        """The mails to the cell's address."""
        return [each for each in self.mails if case.address in each["recipients"]]


async def history(sandbox: Sandbox) -> History:
    """Ask the providers for all they have."""
    listed = await sandbox.at_stripe(sandbox.stripe.v1.invoices.list, {"limit": 100})
    return History(
        bookings={
            Business.FLIGHT: await sandbox.get("/flights/bookings"),
            Business.ROOM: await sandbox.get("/hotels/bookings"),
            Business.BLIND: await sandbox.get("/admin/blind/bookings"),
        },
        invoices=await asyncio.to_thread(lambda: list(listed.auto_paging_iter())),
        mails=await sandbox.get("/mails"),
        orders=await sandbox.get("/crm/orders"),
    )
