"""What each cell asks for, what it finds at its provider, and what the sandbox is told to do to it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from embedded.sandbox.faults import Fault
from rescind._keys import effect_key, provider_key, provider_undo_key
from tests.activities.sandbox_world import Sandbox
from tests.faults.one_call import AWS
from tests.matrix.places import CLUSTER, IMAGE
from tests.matrix.tools.cells import Cell
from tests.matrix.tools.places import ALIAS, OBJECTS, Places
from tests.matrix.tools.subjects import Side, Subject

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

SOURCE, TARGET = "DE89370400440532013000", "DE75512108001245126199"

BEFORE = "pending"
STALE_SECONDS = 0.7
"""How old a stale answer is: older than the write it hides, younger than what the lookup waits for."""


@dataclass(frozen=True)
class Case:
    """A cell with what it was given by the provider: a customer of Stripe's, or an image of EC2's."""

    cell: Cell
    given: str = ""

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
        name, given, order = self.cell.name, self.given, self.order
        bill = {"order": order, "amount": 4200, "currency": "eur", "description": "A book"}
        stay = {"hotel": "Grand", "guest": name, "arrival": "2027-01-10", "nights": 2}
        requests: dict[Subject, dict[str, Any]] = {
            Subject.CRM: {"order": order, "status": "confirmed"},
            Subject.INVOICE: {"customer": given, **bill},
            Subject.EMAIL: {"to": self.address, "subject": f"About {name}", "text": "It is booked."},
            Subject.FLIGHT: {"flight": "LH123", "day": "2027-01-10", "passenger": name},
            Subject.ROOM: stay,
            Subject.BLIND: stay,
            Subject.SMS: {"to": "+491701234567", "text": name},
            Subject.TRANSFER: {"source": SOURCE, "target": TARGET, "amount": 4200, "purpose": name},
            Subject.EVENT: {"webhook": "ops", "event": "order.shipped", "data": {"of": name}},
            Subject.MACHINE: {"name": name, "image": given},
            Subject.OBJECT: {"bucket": OBJECTS, "key": name, "body": "new"},
            Subject.TABLE: {"database": ALIAS, "table": name, "to": f"{name}-new"},
            Subject.COLUMN: {"database": ALIAS, "table": name, "column": "note", "type": "text"},
            Subject.FILE: {"folder": ALIAS, "path": name, "text": "new"},
            Subject.BRANCH: {"remote": name, "branch": f"env/{name}"},
            Subject.NEW_BUCKET: {"bucket": name},
            Subject.SCHEMA: {
                "database": ALIAS,
                "name": name,
                "restores": "exact",
                "up": f'CREATE TABLE "{name}-new" (id int)',
                "down": f'DROP TABLE "{name}-new"',
            },
            Subject.SERVICE: {"cluster": CLUSTER, "service": name, "image": IMAGE},
            Subject.CONTAINER: {"service": name, "image": IMAGE, "network": "none", "stays_up": 0.5},
            Subject.NOTICE: {"webhook": "ops", "text": name},
            Subject.ORDER: {"order": order},
            Subject.BUCKET: {"bucket": name},
            Subject.READ_BRANCH: {"remote": name, "branch": "main"},
        }
        return requests[self.cell.tool]

    def marks(self, side: Side, key: str, result: JsonValue) -> str:
        """The text by which the sandbox knows this cell's requests on this side, in their path or their body."""
        made: Any = result or {}
        match self.cell.tool:
            case Subject.CRM | Subject.ORDER:
                return self.order
            case Subject.EMAIL:
                return "MAIL FROM" if self.cell.trouble(side).at == "from" else self.address
            case Subject.INVOICE:
                return self.given if side is Side.CALL else str(made.get("invoice", "no invoice"))
            case Subject.BLIND:
                return self.cell.name if side is Side.CALL else str(made.get("booking", "no booking"))
            case Subject.FLIGHT | Subject.ROOM:
                return self.cell.name if side is Side.CALL else key
            case Subject.MACHINE:
                if side is Side.CALL:
                    return f"ClientToken={key}"
                does = "Describe" if self.cell.undo.fault is Fault.STALE else "Terminate"
                return (
                    f"Action={does}Instances&Version=2016-11-15&InstanceId.1={made.get('instance', 'none')}"
                )
            case Subject.SERVICE:
                named = f'"{self.cell.name}"'
                return (
                    f'"serviceName": {named}' if side is Side.CALL else f'"service": {named}, "force": true'
                )
            case Subject.CONTAINER:
                return (
                    f'"rescind.service": "{self.cell.name}"'
                    if side is Side.CALL
                    else str(made.get("id", "none"))
                )
            case _:
                return self.cell.name


@dataclass(frozen=True)
class Keys:
    """The keys of a cell's only step, as the providers see them."""

    call: str
    undo: str


def keys_of(tool: Subject, saga: str) -> Keys:
    """The keys of the first step of this saga."""
    key = effect_key(saga, tool.value.rpartition(".")[2], 1)
    return Keys(provider_key(key), provider_undo_key(key))


async def prepared(cells: Sequence[Cell], sandbox: Sandbox, places: Places) -> list[Case]:
    """What the tools find at the providers: customers, orders, buckets, objects and files."""
    s3, image = await asyncio.to_thread(_aws, places.outside["RESCIND_S3_ENDPOINT"])
    folder = Path(json.loads(places.outside["RESCIND_FILE_ROOTS"])[ALIAS])

    async def one(cell: Cell) -> Case:
        match cell.tool:
            case Subject.INVOICE:
                return Case(cell, await sandbox.new_customer())
            case Subject.CRM | Subject.ORDER:
                await sandbox.enter_order(Case(cell).order, BEFORE)
            case Subject.OBJECT:
                await asyncio.to_thread(
                    s3.put_object, Bucket=OBJECTS, Key=cell.name, Body=b"old", ContentType="text/x-old"
                )
            case Subject.BUCKET:
                await asyncio.to_thread(s3.create_bucket, Bucket=cell.name)
            case Subject.FILE:
                await asyncio.to_thread((folder / cell.name).write_text, "old")
            case _:
                pass
        return Case(cell, image)

    limit = asyncio.Semaphore(8)

    async def limited(cell: Cell) -> Case:
        async with limit:
            return await one(cell)

    return list(await asyncio.gather(*map(limited, cells)))


def _aws(endpoint: str) -> tuple[S3Client, str]:
    """S3 with the bucket of the objects, ECS with the cluster, and an image of EC2's."""
    s3, ec2 = AWS.client("s3", endpoint_url=endpoint), AWS.client("ec2", endpoint_url=endpoint)
    s3.create_bucket(Bucket=OBJECTS)
    AWS.client("ecs", endpoint_url=endpoint).create_cluster(clusterName=CLUSTER)
    return s3, ec2.describe_images(Owners=["amazon"])["Images"][0].get("ImageId", "")


def plan(case: Case, side: Side, key: str, result: JsonValue) -> dict[str, Any]:
    """What the sandbox is told for one side of a cell."""
    trouble = case.cell.trouble(side)
    assert trouble.fault
    return {
        "operation": case.cell.operation(side),
        "fault": trouble.fault.value,
        "contains": case.marks(side, key, result),
        "calls": None if trouble.lasting else 1,
        "seconds": STALE_SECONDS if trouble.fault is Fault.STALE else 1,
    }
