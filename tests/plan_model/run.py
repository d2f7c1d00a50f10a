"""Runs plans at once on a real worker against the stand-ins, damaged ones among them, and says what came of each."""

import asyncio
import contextlib
import secrets
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from temporalio.client import Client, WorkflowFailureError, WorkflowHandle
from temporalio.service import RPCError
from temporalio.worker import Worker

from activities.catalogue import CATALOGUE
from embedded.environment import only
from embedded.world import World, snapshot
from rescind import RescindPlugin
from rescind.ledger import Ledger, SagaView, install
from rescind.plans import ExecutePlan
from rescind.plans._order import EXECUTE
from rescind.reconciliation import reconciliation_id
from rescind.reconciliation._case import Case
from tests.activities.sandbox_world import Sandbox, sandbox_of
from tests.containers import none_stays
from tests.faults import FaultyProvider
from tests.matrix.run import saga_view
from tests.plan_model.drawn import Drawn
from tests.plan_model.places import Places, constants, places_of
from tests.plan_model.things import Change, changes, made
from tests.plan_model.weather import break_out, proxies

PATIENCE = 400.0
"""Seconds after which a plan counts as hanging."""

SHARED = "containers / "
"""What others on this machine change, too."""

OPEN_WITHIN = 30.0
"""Seconds that a reconciliation may take to look what is open."""

NOT_COMPARED = ("rescind_marks", "faults")
"""The schemas of the tools' own marks, which stay for as long as what they mark, and of the database's faults."""

PRE_APPROVED = [tool.name for tool in CATALOGUE if not (tool.is_reversible or tool.read_only)]


@dataclass(frozen=True)
class Started:
    """A plan and the workflow that runs it."""

    drawn: Drawn
    handle: WorkflowHandle[Any, Any]

    @property
    def saga(self) -> str:
        """Its saga's id, without the namespace's."""
        return f"{self.handle.id}/{self.handle.first_execution_run_id}"


@dataclass(frozen=True)
class Ended:
    """What came of one plan.

    Attributes:
        started: The plan.
        closed: COMPLETED, or the type of the workflow's failure, or `hanging`.
        answer: The workflow's result, or the first of its failure's details.
        view: What the ledger has of it.
        differences: Where the ledger's rows are not as their journal says.
        asked: The steps that its reconciliation asks people about; None where there is none.
        changed: What is different in the world, by token.
        made: How often each token's effect was made.
    """

    started: Started
    closed: str
    answer: Any
    view: SagaView | None
    differences: list[str]
    asked: list[str] | None
    changed: dict[str, list[Change]]
    made: Counter[str]


@dataclass(frozen=True)
class Batch:
    """All of them, what changed in the world without being of any, and how often a call met which fault."""

    ended: list[Ended]
    strays: list[Change]
    met: Counter[str]


async def run_plans(plans: Sequence[Drawn], stack: dict[str, str], folder: Path) -> Batch:
    """Run plans on one worker in stand-ins that nobody else uses meanwhile."""
    install(stack["RESCIND_LEDGER_ADMIN_DSN"], workers=["rescind_ledger_worker"])
    run = secrets.token_hex(3)
    async with sandbox_of(stack) as sandbox:
        known = await constants(sandbox)
        named = [drawn.named(f"p{run}n{number}", known) for number, drawn in enumerate(plans)]
        places = await places_of(named, sandbox, folder)
        before = await asyncio.to_thread(snapshot, places.environment, without_schemas=NOT_COMPARED)
        tries = [each for drawn in named for each in drawn.tries()]
        async with proxies(tries, places) as (environment, providers):
            with only(environment | {"RESCIND_HTTP_SECONDS": "2"}), none_stays(f"p{run}n"):
                return await _run(named, sandbox, places, providers, before)


async def _run(
    named: Sequence[Drawn],
    sandbox: Sandbox,
    places: Places,
    providers: Sequence[FaultyProvider],
    before: World,
) -> Batch:
    stack = sandbox.environment
    plugin = RescindPlugin(CATALOGUE, ledger=stack["RESCIND_LEDGER_DSN"], sweeping=None)
    client = await Client.connect(stack["TEMPORAL_ADDRESS"], plugins=[plugin])
    queue = f"plans-{secrets.token_hex(4)}"
    started = [await _start(client, queue, drawn) for drawn in named]
    for each in started:
        await break_out(sandbox, each.drawn.steps, each.saga)
    async with (
        Worker(client, task_queue=queue, workflows=[ExecutePlan], max_cached_workflows=0),
        Ledger(stack["RESCIND_LEDGER_DSN"], connections=2) as ledger,
    ):
        closed = await asyncio.gather(*(_closed(each.handle) for each in started))
        met = await _quiet(sandbox, providers)
        after = await asyncio.to_thread(snapshot, places.environment, without_schemas=NOT_COMPARED)
        ever = await asyncio.to_thread(made, places.environment)
        changed = changes(before, after)
        ended = [
            await _ended(each, how, answer, ledger, client, changed, ever)
            for each, (how, answer) in zip(started, closed, strict=True)
        ]
        await _leave(client, started)
    strays = [each for each in changed.get("", []) if not each.place.startswith(SHARED)]
    return Batch(ended, strays, met)


async def _start(client: Client, queue: str, drawn: Drawn) -> Started:
    order = {"plan": drawn.instead or drawn.plan(), "pre_approved": PRE_APPROVED}
    name = next(drawn.tries()).token.partition("s")[0]
    handle = await client.start_workflow(EXECUTE, order, id=name, task_queue=queue)
    return Started(drawn, handle)


async def _closed(handle: WorkflowHandle[Any, Any]) -> tuple[str, Any]:
    try:
        async with asyncio.timeout(PATIENCE):
            return "COMPLETED", await handle.result()
    except TimeoutError:
        return "hanging", None
    except WorkflowFailureError as failure:
        details = getattr(failure.cause, "details", None) or [None]
        return str(getattr(failure.cause, "type", None)), details[0]


async def _quiet(sandbox: Sandbox, providers: Sequence[FaultyProvider]) -> Counter[str]:
    """No call is under way any more, and none goes wrong from now on; how often calls have met which fault."""
    met: Counter[str] = Counter()
    for each in await sandbox.get("/admin/faults"):
        met[each["fault"]] += each["used"]
    await sandbox.behave()
    async with asyncio.timeout(30):
        while any(each["under_way"] for each in await sandbox.get("/admin/calls")):  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.2)
    for provider in providers:
        met.update(seen.fault.value.replace(" ", "_") for seen in provider.calls() if seen.fault)
        await provider.clear()
    return met


async def _ended(
    started: Started,
    closed: str,
    answer: Any,
    ledger: Ledger,
    client: Client,
    changed: dict[str, list[Change]],
    ever: Counter[str],
) -> Ended:
    view = await saga_view(ledger, client, started.saga)
    found = await ledger.verify(view.id) if view else None
    tokens = {each.token for each in started.drawn.tries()}
    return Ended(
        started,
        closed,
        answer,
        view,
        [each.what for each in found.differences] if found else [],
        await _asked(client, started.saga) if closed == "UndoIncomplete" else None,
        {token: changed[token] for token in tokens & changed.keys()},
        Counter({token: ever[token] for token in tokens & ever.keys()}),
    )


async def _asked(client: Client, saga: str) -> list[str] | None:
    """The steps that a reconciliation asks people about; None where there is none, or it has not looked in time."""
    desk: WorkflowHandle[Any, Any] = client.get_workflow_handle(reconciliation_id(saga))
    with contextlib.suppress(TimeoutError, RPCError):
        async with asyncio.timeout(OPEN_WITHIN):
            while True:
                case: Case | None = await desk.query("rescind_open", result_type=Case)
                if case is not None:
                    return [each.step for each in case.steps]
                await asyncio.sleep(0.2)
    return None


async def _leave(client: Client, started: Sequence[Started]) -> None:
    """The reconciliations of this run are nobody's any more."""
    for each in started:
        with contextlib.suppress(RPCError):
            await client.get_workflow_handle(reconciliation_id(each.saga)).terminate()
