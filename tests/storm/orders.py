"""Orders that are fulfilled in the storm, how each ended, and what the providers and the ledger have of them."""

import asyncio
import time
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client, WorkflowFailureError, WorkflowHandle
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.service import RPCError, RPCStatusCode

from rescind import RecordState, SagaReport
from rescind.ledger import Ledger, Verified, install
from tests.activities.sandbox_world import Sandbox, sandbox_of
from tests.application import ROOT
from tests.faults.workers import PLACES, Workers
from tests.storm.weather import PLANS, break_out
from workflows.fulfil_order import CustomerOrder, FulfilOrder

BEFORE = "on_hold"
CALM_FROM = 0.6
"""The share of orders at whose end the providers are back."""

BUSY = (RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.RESOURCE_EXHAUSTED, RPCStatusCode.UNAVAILABLE)
STARTING = 50
"""Requests to start a saga that are on their way at a time."""

STORM_SECONDS = 45.0
"""They are back after this long for every fifty orders at the latest."""

RECONCILED_IN = 1200.0
"""Seconds in which reconciliations have finished what is stuck: their second try comes after six minutes."""

_EFFECTS = """
    select e.tool, e.state, s.state, count(*) from effects e join sagas s on s.id = e.saga
    where e.saga like %s group by 1, 2, 3"""


@dataclass(frozen=True)
class Fate:
    """What became of one order.

    Attributes:
        order: The order.
        closed: COMPLETED, or the type of the workflow's failure.
        report: The report in the failure.
        status: Its status in the CRM.
        invoices: The states of its customer's invoices that are not void.
        mails: The Message-IDs of the mails to its customer.
    """

    order: CustomerOrder
    closed: str
    report: SagaReport | None
    status: str
    invoices: tuple[str, ...]
    mails: tuple[str, ...]

    @property
    def left(self) -> list[tuple[str, str]]:
        """What the report leaves to a person; what is stuck is left to a reconciliation, for which the storm waits."""
        steps = self.report.left if self.report else []
        return [(step.tool, step.state.value) for step in steps if step.state is not RecordState.STUCK]

    @property
    def problems(self) -> list[str]:
        """Why it is neither all done nor all undone, nor in doubt where that is allowed."""
        name = self.order.order
        done = (self.status, self.invoices, len(self.mails)) == (self.order.status, ("open",), 1)
        undone = (self.status, self.invoices) == (BEFORE, ())
        match self.closed:
            case "COMPLETED":
                right = done
            case "SagaUndone":
                right = undone and not self.mails and not self.left
            case "UndoIncomplete":
                right = undone and len(self.mails) <= 1 and self.left in ([], [("email.send", "in_doubt")])
            case _:
                right = False
        said = [(step.step, step.state.value, step.error) for step in self.report.left] if self.report else []
        seen = f"status {self.status}, invoices {self.invoices}, {len(self.mails)} mails"
        return [] if right else [f"{name} is {self.closed}; {seen}; the report leaves {said}"]


@dataclass(frozen=True)
class Storm:
    """What became of all orders; the ledger's counts are by tool, state of the effect and state of the saga.

    `verified` compares the rows of their sagas with the journal.
    """

    fates: list[Fate]
    ledger: dict[tuple[str, str, str], int]
    verified: Verified
    calls: int
    hit: int
    killed: int
    seconds: float

    @property
    def ends(self) -> Counter[str]:
        """How many orders ended how."""
        return Counter(fate.closed for fate in self.fates)

    @property
    def doubtful(self) -> int:
        """How many orders are undone but for a mail of which nobody can tell."""
        return sum(bool(fate.left) for fate in self.fates)

    def effects(self, tool: str, state: str) -> int:
        """How many effects of a tool are in this state, by the ledger."""
        return sum(count for (its, now, _), count in self.ledger.items() if (its, now) == (tool, state))

    def summary(self) -> str:
        """The counts and the rates."""
        ends = self.ends
        reconciled = ends["UndoIncomplete"] - self.doubtful
        return (
            f"{len(self.fates)} orders in {self.seconds:.0f} s ({len(self.fates) / self.seconds:.1f} a second): "
            f"{ends['COMPLETED']} done, {ends['SagaUndone']} undone, {reconciled} undone by their reconciliation, "
            f"{self.doubtful} with only their mail in doubt; {self.hit} of {self.calls} calls misbehaved "
            f"({self.hit / max(1, self.calls):.0%}), {self.killed} workers killed"
        )


async def storm(number: int, stack: dict[str, str], folder: Path) -> Storm:
    """Fulfil so many orders at once, in running stand-ins, which nobody else uses meanwhile."""
    install(stack["RESCIND_LEDGER_ADMIN_DSN"], workers=["rescind_ledger_worker"])
    client = await Client.connect(stack["TEMPORAL_ADDRESS"], data_converter=pydantic_data_converter)
    run = f"storm-{uuid.uuid4().hex[:8]}"
    command: list[str | Path] = [ROOT / "worker.py", "--task-queue", run]
    workers = Workers(command, stack | {"RESCIND_HTTP_SECONDS": "1.5"}, folder)
    async with sandbox_of(stack) as sandbox:
        orders = await _entered(number, run, sandbox)
        seen = max((each["number"] for each in await sandbox.get("/admin/calls")), default=0)
        async with workers.at_work():
            began = time.monotonic()
            await break_out(sandbox)
            ends = _all_at_once(client, orders, run)
            calls = await _through_the_storm(ends, workers, sandbox, seen)
            closed = await asyncio.gather(*ends)
            seconds = time.monotonic() - began
            await _reconciled(stack, run)
        fates = await _fates(orders, closed, sandbox)
    hit = sum(each["fault"] is not None for each in calls)
    verified = await _verified(client, stack, run)
    return Storm(fates, _ledger(stack, run), verified, len(calls), hit, workers.killed, seconds)


async def _through_the_storm(
    ends: Sequence["asyncio.Future[Any]"], workers: Workers, sandbox: Sandbox, seen: int
) -> list[dict[str, Any]]:
    """Kill both workers, and more until most orders have ended, then the providers are back; what could be hit."""
    killing = asyncio.ensure_future(workers.kill_for_ever())
    limit = time.monotonic() + STORM_SECONDS * max(1, len(ends) / 50)
    while workers.killed < len(PLACES) or (
        sum(end.done() for end in ends) < CALM_FROM * len(ends) and time.monotonic() < limit
    ):
        if killing.done():
            killing.result()  # a worker that can't be started ends the storm
        await asyncio.sleep(0.2)
    calls = [
        each
        for each in await sandbox.get("/admin/calls")
        if each["number"] > seen and {each["operation"], each["operation"].partition(".")[0]} & PLANS.keys()
    ]
    await sandbox.behave()
    killing.cancel()
    await asyncio.gather(killing, return_exceptions=True)
    return calls


async def _entered(number: int, run: str, sandbox: Sandbox) -> list[CustomerOrder]:
    """Orders in the CRM, each with a customer of its own."""
    limit = asyncio.Semaphore(8)

    async def one(index: int) -> CustomerOrder:
        async with limit:
            name = f"{run}-{index:04}"
            await sandbox.enter_order(name, BEFORE)
            customer = await sandbox.new_customer()
            email = f"{name}@example.com"
            return CustomerOrder(
                order=name, customer=customer, email=email, amount=4200, description="A book"
            )

    return list(await asyncio.gather(*map(one, range(number))))


def _all_at_once(
    client: Client, orders: Sequence[CustomerOrder], queue: str
) -> "list[asyncio.Future[tuple[str, SagaReport | None]]]":
    """Start every order's saga; the ends of all."""
    limit = asyncio.Semaphore(STARTING)

    async def one(order: CustomerOrder) -> tuple[str, SagaReport | None]:
        async with limit:
            handle: WorkflowHandle[Any, Any] = await client.start_workflow(
                FulfilOrder.run, order, id=order.order, task_queue=queue
            )
        return await _closed(handle)

    return [asyncio.ensure_future(one(order)) for order in orders]


async def _closed(handle: WorkflowHandle[Any, Any]) -> tuple[str, SagaReport | None]:
    """How it ended; a server with a thousand who wait gives up some of them, and they ask again."""
    while True:
        try:
            await handle.result()
        except WorkflowFailureError as failure:
            details = getattr(failure.cause, "details", None) or [None]
            report = SagaReport.model_validate(details[0]) if details[0] else None
            return str(getattr(failure.cause, "type", failure.cause)), report
        except RPCError as error:
            if error.status not in BUSY:
                raise
        else:
            return "COMPLETED", None


async def _fates(
    orders: Sequence[CustomerOrder], closed: Sequence[tuple[str, SagaReport | None]], sandbox: Sandbox
) -> list[Fate]:
    listed = await sandbox.at_stripe(sandbox.stripe.v1.invoices.list, {"limit": 100})
    every = await asyncio.to_thread(lambda: list(listed.auto_paging_iter()))
    statuses = {each["id"]: each["status"] for each in await sandbox.get("/crm/orders")}
    invoices: dict[str, list[str]] = {}
    for invoice in every:
        if invoice.status != "void":
            invoices.setdefault(str(invoice.customer), []).append(str(invoice.status))
    mails: dict[str, list[str]] = {}
    for mail in await sandbox.get("/mails"):
        mails.setdefault(mail["recipients"][0], []).append(mail["message_id"])
    return [
        Fate(
            order,
            end,
            report,
            statuses[order.order],
            tuple(invoices.get(order.customer, ())),
            tuple(mails.get(order.email, ())),
        )
        for order, (end, report) in zip(orders, closed, strict=True)
    ]


async def _reconciled(stack: dict[str, str], run: str) -> None:
    """Wait until no undo is stuck any more: a reconciliation tries again by itself, a minute after the unwinding."""
    async with asyncio.timeout(RECONCILED_IN):
        while "stuck" in {state for _, state, _ in await asyncio.to_thread(_ledger, stack, run)}:  # noqa: ASYNC110  (the ledger's, not this loop's)
            await asyncio.sleep(2)


async def _verified(client: Client, stack: dict[str, str], run: str) -> Verified:
    described = await client.workflow_service.describe_namespace(
        DescribeNamespaceRequest(namespace=client.namespace)
    )
    async with Ledger(stack["RESCIND_LEDGER_DSN"], connections=1) as ledger:
        return await ledger.verify(f"{described.namespace_info.id}/{run}-")


def _ledger(stack: dict[str, str], run: str) -> dict[tuple[str, str, str], int]:
    with psycopg.connect(stack["RESCIND_LEDGER_ADMIN_DSN"]) as connection:
        connection.execute("set search_path = rescind")
        rows = connection.execute(_EFFECTS, (f"%/{run}-%",)).fetchall()
    return {(tool, effect, saga): int(count) for tool, effect, saga, count in rows}
