"""Plans over the toy world, run on the real server."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from pydantic import Field
from temporalio import activity
from temporalio.client import Client, WorkflowHandle
from temporalio.worker import Worker

from rescind import Call, Request, RescindPlugin, SagaReport, Tool
from rescind.evidence import Refused
from rescind.plans import ExecutePlan, Plan, PlanDone, PlanOrder
from tests.rescind.conftest import NewWorker
from tests.rescind.plans.yard import TOOLS as YARD
from tests.rescind.sagas import Sagas
from tests.rescind.toy_world import TOOLS, WORLDS, Thing, World

TOLD = "toy.tell_world"


class FindNamed(Request):
    """Find a thing by a short name."""

    world: str
    name: Annotated[str, Field(max_length=8)]


@activity.defn
async def find_named(call: Call[FindNamed]) -> Thing:
    """Only look."""
    world = WORLDS[call.request.world]
    if world.next(f"look {call.request.name}") == "refuse":
        raise Refused("nobody may look")
    return Thing(name=call.request.name, changed=False)


FIND_NAMED = Tool(
    name="toy.find_named", description="Find a thing by a short name.", forward=find_named, read_only=True
)


@pytest.fixture(scope="session")
async def client(stack_environment: dict[str, str], ledger_dsn: str) -> Client:
    """A client of the dev server with the plugin, the toy tools, one that is choosy about names, and the yard."""
    plugin = RescindPlugin([*TOOLS, FIND_NAMED, *YARD], ledger=ledger_dsn, sweeping=None)
    return await Client.connect(stack_environment["TEMPORAL_ADDRESS"], plugins=[plugin])


@dataclass
class Plans:
    """Starts plans in one world, and looks at how they ended."""

    sagas: Sagas
    world: World

    def make(self, name: str, *needs: str, **more: Any) -> dict[str, Any]:
        """A step that makes a thing of its own name."""
        return {
            "id": name,
            "tool": "toy.make_thing",
            "arguments": {"world": self.world.name, "name": name},
            "needs": list(needs),
        } | more

    def named(self, name: str, thing: Any, *needs: str, **more: Any) -> dict[str, Any]:
        """A step that makes a thing of another name."""
        return self.make(name, *needs, arguments={"world": self.world.name, "name": thing}, **more)

    async def start(self, *steps: dict[str, Any], **more: Any) -> WorkflowHandle[Any, PlanDone]:
        """Start a plan; telling the world is approved."""
        plan = Plan.model_validate({"steps": list(steps), **more})
        return await self.begin(PlanOrder(plan=plan, pre_approved=[TOLD]))

    async def begin(self, order: PlanOrder) -> WorkflowHandle[Any, PlanDone]:
        """Start a plan as it is."""
        return await self.sagas.client.start_workflow(
            ExecutePlan.run, order, id=f"plan-{uuid.uuid4()}", task_queue=self.sagas.task_queue
        )

    async def done(self, *steps: dict[str, Any], **more: Any) -> PlanDone:
        """Run a plan to its success."""
        return await (await self.start(*steps, **more)).result()

    async def report(self, *steps: dict[str, Any], **more: Any) -> SagaReport:
        """Run a plan that fails, and answer with its report."""
        return await self.sagas.report(await self.start(*steps, **more))


@pytest.fixture
def plans(sagas: Sagas, world: World) -> Plans:
    """Plans in a world of this test's own."""
    return Plans(sagas, world)


@pytest.fixture
async def plan_worker(new_worker: NewWorker) -> AsyncIterator[Worker]:
    """A worker of plans, without a workflow cache, so that each task replays from the start."""
    async with new_worker(workflows=[ExecutePlan]) as running:
        yield running
