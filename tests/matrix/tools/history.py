"""All that the providers ever had of the cells, cancelled, void and terminated things included."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import Any

from tests.activities.sandbox_world import Sandbox
from tests.faults.one_call import AWS
from tests.matrix.tools.places import Places
from tests.matrix.tools.providers import Case, Keys
from tests.matrix.tools.subjects import Side, Subject


@dataclass(frozen=True)
class History:
    """Everything that the providers ever had: bookings by tool, and how often each other cell's call has acted."""

    bookings: dict[Subject, list[dict[str, Any]]]
    invoices: list[Any]
    mails: list[dict[str, Any]]
    orders: list[dict[str, Any]]
    acted: Counter[str]

    def effects(self, case: Case, keys: Keys) -> int:
        """How often the cell's call has taken effect; a mail that came twice with one Message-ID is one mail."""
        name = case.cell.name
        match case.cell.tool:
            case Subject.CRM:
                (order,) = [each for each in self.orders if each["id"] == case.order]
                # One write of each two is the undo, and a third one would be a double.
                return int(order["version"]) // 2
            case Subject.OBJECT:
                return (self.acted[name] + 1) // 2  # the same
            case Subject.INVOICE:
                return sum(each.customer == case.given for each in self.invoices)
            case Subject.EMAIL:
                return len(
                    {each["message_id"] for each in self.mails_of(case) if keys.call in each["message_id"]}
                )
            case Subject.FLIGHT | Subject.ROOM | Subject.BLIND as tool:
                whose = "passenger" if tool is Subject.FLIGHT else "guest"
                return sum(each[whose] == name for each in self.bookings[tool])
            case Subject.FILE:
                return self.acted[keys.call]
            case Subject.NEW_BUCKET | Subject.CONTAINER:
                return (
                    0  # its name is its key, so that there can't be two; what is half made may be made again
                )
            case _:
                return self.acted[name]

    def mails_of(self, case: Case) -> list[dict[str, Any]]:
        """The mails to the cell's address."""
        return [each for each in self.mails if case.address in each["recipients"]]


async def history(sandbox: Sandbox, places: Places) -> History:
    """Ask the providers for all they have."""
    listed = await sandbox.at_stripe(sandbox.stripe.v1.invoices.list, {"limit": 100})
    return History(
        bookings={
            Subject.FLIGHT: await sandbox.get("/flights/bookings"),
            Subject.ROOM: await sandbox.get("/hotels/bookings"),
            Subject.BLIND: await sandbox.get("/admin/blind/bookings"),
        },
        invoices=await asyncio.to_thread(lambda: list(listed.auto_paging_iter())),
        mails=await sandbox.get("/mails"),
        orders=await sandbox.get("/crm/orders"),
        acted=await _acted(sandbox, places),
    )


async def _acted(sandbox: Sandbox, places: Places) -> Counter[str]:
    """Calls that have acted, by the cell's name; replacements of files by the call's key."""
    texts, transfers = await sandbox.get("/sms/messages"), await sandbox.get("/payments/transfers")
    events, puts = await sandbox.get("/webhooks/events"), await sandbox.calls("aws.put")
    calls = [seen for seen in places.seen() if seen.acted]
    return Counter(
        [
            *(each["text"] for each in texts),
            *(each["purpose"] for each in transfers),
            *(str(each["body"]["data"].get("of")) for each in events),
            *(each["body"]["text"] for each in await sandbox.get("/messages")),
            *await asyncio.to_thread(_launched, places.outside["RESCIND_EC2_ENDPOINT"]),
            *(
                name
                for name, git in places.remotes.items()
                for seen in git.calls()
                if (seen.acted, seen.operation) == (True, "create")
            ),
            *(each["call"].rpartition("/")[2] for each in puts if each["acted"]),
            *(seen.operation.removeprefix(f"{Side.CALL.value} of ") for seen in calls),
        ]
    )


def _launched(endpoint: str) -> list[str]:
    """The name of every machine that was ever launched; EC2 lists those that have ended for an hour."""
    pages = AWS.client("ec2", endpoint_url=endpoint).get_paginator("describe_instances").paginate()
    every = [one for page in pages for each in page["Reservations"] for one in each.get("Instances", [])]
    return [tag.get("Value", "") for one in every for tag in one.get("Tags", []) if tag.get("Key") == "Name"]
