"""The comparison of the matrix of single tools is shown to be able to fail: one thing left by hand at each provider."""

from __future__ import annotations

import asyncio
import smtplib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from email.message import EmailMessage
from typing import TYPE_CHECKING

import pytest

from embedded.sandbox.faults import Fault
from embedded.world import snapshot
from tests.activities.sandbox_world import Sandbox, sandbox_of
from tests.faults.one_call import AWS
from tests.matrix.places import IMAGE
from tests.matrix.tools.bench import run_cells
from tests.matrix.tools.cells import NOTHING, Cell, Trouble
from tests.matrix.tools.places import OBJECTS
from tests.matrix.tools.providers import Case
from tests.matrix.tools.subjects import Subject
from tests.matrix.tools.verdict import judge_all

if TYPE_CHECKING:
    from mypy_boto3_ec2.type_defs import TagSpecificationTypeDef

pytestmark = [
    pytest.mark.timeout(300),
    # The SDK says so of an activity that has timed out and reported in the same moment.
    pytest.mark.filterwarnings("ignore:Cannot find activity to cancel:UserWarning"),
]


async def _status(sandbox: Sandbox, case: Case) -> None:
    await sandbox.change_order(case.order, "on_hold")


async def _draft(sandbox: Sandbox, case: Case) -> None:
    await sandbox.at_stripe(sandbox.stripe.v1.invoices.create, {"customer": case.given})


async def _mail(sandbox: Sandbox, case: Case) -> None:
    mail = EmailMessage()
    mail["Message-ID"], mail["From"], mail["To"] = (
        "<planted-by-hand@example.com>",
        "left@example.com",
        case.address,
    )
    mail["Subject"] = "left"
    host, _, port = sandbox.environment["RESCIND_SMTP"].rpartition(":")
    with smtplib.SMTP(host, int(port)) as server:
        server.send_message(mail)


async def _seat(sandbox: Sandbox, case: Case) -> None:
    await sandbox.post("/flights/bookings", {"flight": "LH123", "passenger": case.cell.name})


async def _room(sandbox: Sandbox, case: Case) -> None:
    await sandbox.post("/hotels/bookings", {"hotel": "Grand", "guest": case.cell.name})


async def _blind_room(sandbox: Sandbox, case: Case) -> None:
    await sandbox.post("/hotels/blind/bookings", {"hotel": "Grand", "guest": case.cell.name})


async def _text(sandbox: Sandbox, case: Case) -> None:
    await sandbox.post("/sms/messages", {"to": "+491701234567", "text": case.cell.name})


async def _transfer(sandbox: Sandbox, case: Case) -> None:
    await sandbox.post("/payments/transfers", {**case.request(), "currency": "eur"})


async def _event(sandbox: Sandbox, case: Case) -> None:
    await sandbox.post("/webhooks/ops", {"id": "by hand", "data": {"of": case.cell.name}})


async def _machine(sandbox: Sandbox, case: Case) -> None:
    ec2 = AWS.client("ec2", endpoint_url=sandbox.environment["RESCIND_EC2_ENDPOINT"])
    tags: TagSpecificationTypeDef = {
        "ResourceType": "instance",
        "Tags": [{"Key": "Name", "Value": case.cell.name}],
    }
    ec2.run_instances(ImageId=case.given, MinCount=1, MaxCount=1, TagSpecifications=[tags])


async def _object(sandbox: Sandbox, case: Case) -> None:
    s3 = AWS.client("s3", endpoint_url=sandbox.environment["RESCIND_S3_ENDPOINT"])
    s3.put_object(Bucket=OBJECTS, Key=case.cell.name, Body=b"left")


async def _bucket(sandbox: Sandbox, case: Case) -> None:
    s3 = AWS.client("s3", endpoint_url=sandbox.environment["RESCIND_S3_ENDPOINT"])
    s3.create_bucket(Bucket=case.cell.name)


async def _revision(sandbox: Sandbox, case: Case) -> None:
    ecs = AWS.client("ecs", endpoint_url=sandbox.environment["RESCIND_ECS_ENDPOINT"])
    container = {"name": "web", "image": IMAGE, "memory": 16}
    ecs.register_task_definition(family=case.cell.name, containerDefinitions=[container])  # type: ignore[list-item]


async def _notice(sandbox: Sandbox, case: Case) -> None:
    await sandbox.post("/hook/ops", {"text": case.cell.name})


LEFT: dict[Subject, Callable[[Sandbox, Case], Awaitable[None]]] = {
    Subject.CRM: _status,
    Subject.INVOICE: _draft,
    Subject.EMAIL: _mail,
    Subject.FLIGHT: _seat,
    Subject.ROOM: _room,
    Subject.BLIND: _blind_room,
    Subject.SMS: _text,
    Subject.TRANSFER: _transfer,
    Subject.EVENT: _event,
    Subject.MACHINE: _machine,
    Subject.OBJECT: _object,
    Subject.NEW_BUCKET: _bucket,
    Subject.SERVICE: _revision,
    Subject.NOTICE: _notice,
}
"""The database, the folder, the repositories and the engine are gone with the run; their lines are told by the cell's
name, as an object's is."""


async def test_one_leftover_is_seen(stack_environment: dict[str, str]) -> None:
    """A saga that was clean is judged a false clean once one thing of it stands, whatever the thing is."""
    cells = [
        Cell(tool, Trouble(Fault.REFUSE, "rcpt" if tool is Subject.EMAIL else ""), NOTHING, run="left")
        for tool in LEFT
    ]
    batch = await run_cells(cells, stack_environment)
    clean = judge_all(batch)
    cases = {ended.case.cell.tool: ended.case for ended in batch.ended}
    async with sandbox_of(stack_environment) as sandbox:
        for tool, leave in LEFT.items():
            await leave(sandbox, cases[tool])
        mails = await sandbox.get("/mails")
    now = await asyncio.to_thread(snapshot, stack_environment)
    gone = {part: getattr(batch.after, part) for part in ("databases", "files", "git", "containers")}
    after = now.model_copy(update=gone)
    spoilt = judge_all(replace(batch, after=after, history=replace(batch.history, mails=mails)))
    assert (clean.problems, clean.false_clean) == ([], 0)
    assert [verdict.end for verdict in clean.verdicts] == ["not done"] * len(LEFT)
    assert spoilt.false_clean == len(LEFT)
    assert all(verdict.problems for verdict in spoilt.verdicts)


async def test_a_second_effect_is_seen(stack_environment: dict[str, str]) -> None:
    """A room that was booked twice is a double effect, also when both were cancelled."""
    cell = Cell(Subject.BLIND, NOTHING, NOTHING, run="twice")
    batch = await run_cells([cell], stack_environment)
    (ended,) = batch.ended
    booked = batch.history.bookings[Subject.BLIND]
    again = [each for each in booked if each["guest"] == ended.case.cell.name]
    twice = replace(batch.history, bookings=batch.history.bookings | {Subject.BLIND: booked + again})
    assert len(again) == 1
    assert judge_all(batch).doubles == 0
    assert judge_all(replace(batch, history=twice)).doubles == 1
