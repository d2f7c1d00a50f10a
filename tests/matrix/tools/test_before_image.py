"""The before-image survives a lost reply: the step's own work is not taken for what was there (scenario 42)."""

import uuid
from typing import Any

import pytest
from pydantic import BaseModel, JsonValue
from temporalio import activity
from temporalio.client import Client, WorkflowFailureError
from temporalio.worker import Worker

from activities.crm import SET_STATUS, SetStatus
from activities.s3_object import PUT_OBJECT, PutObject
from embedded.environment import only
from rescind import RecordState, RescindPlugin
from rescind.ledger import EffectView, Ledger, install
from tests.activities.sandbox_world import sandbox_of
from tests.faults import Fault
from tests.faults.http_proxy import HttpFaults
from tests.faults.one_call import AWS
from tests.faults.providers import S3
from tests.matrix.run import saga_view
from tests.matrix.tools.saga import OneStep, TakeAndGiveBack

pytestmark = pytest.mark.timeout(200)
TOOLS: list[Any] = [SET_STATUS, PUT_OBJECT]


@activity.defn(name="before_the_call")
async def nothing_before_the_call(_: JsonValue) -> None:
    """The fault is planned already."""


@activity.defn(name="before_the_undo")
async def nothing_before_the_undo(_: JsonValue) -> None:
    """The undo meets no fault."""


async def given_back(tool: str, request: BaseModel, stack: dict[str, str]) -> EffectView:
    """Take one step and give it back; what is on record of it."""
    install(stack["RESCIND_LEDGER_ADMIN_DSN"], workers=["rescind_ledger_worker"])
    plugin = RescindPlugin(TOOLS, ledger=stack["RESCIND_LEDGER_DSN"], sweeping=None)
    name = f"before-{uuid.uuid4()}"
    with only(stack):
        client = await Client.connect(stack["TEMPORAL_ADDRESS"], plugins=[plugin])
        told = [nothing_before_the_call, nothing_before_the_undo]
        async with Worker(client, task_queue=name, workflows=[TakeAndGiveBack], activities=told):
            step = OneStep(tool=tool, request=request.model_dump(mode="json"))
            handle = await client.start_workflow(TakeAndGiveBack.run, step, id=name, task_queue=name)
            with pytest.raises(WorkflowFailureError) as failed:
                await handle.result()
        assert getattr(failed.value.cause, "type", "") == "SagaUndone"
        async with Ledger(stack["RESCIND_LEDGER_DSN"], connections=1) as ledger:
            view = await saga_view(ledger, client, f"{handle.id}/{handle.first_execution_run_id}")
    assert view
    (effect,) = view.effects
    return effect


async def test_a_status_whose_change_got_no_answer(stack_environment: dict[str, str]) -> None:
    """The status goes back to what it was before the first attempt, and the order is as if nothing had been."""
    order = f"before-{uuid.uuid4().hex[:8]}"
    async with sandbox_of(stack_environment) as sandbox:
        await sandbox.enter_order(order, "on_hold")
        before = await sandbox.order(order)
        await sandbox.misbehave("crm.change", "drop_after", contains=order)
        effect = await given_back(
            "crm.set_status", SetStatus(order=order, status="confirmed"), stack_environment
        )
        assert await sandbox.order(order) == before
    assert (effect.state, effect.attempt) == (RecordState.UNDONE, 2)
    assert isinstance(effect.before, dict)
    assert effect.before["status"] == "on_hold"


async def test_an_object_whose_put_got_no_answer(stack_environment: dict[str, str]) -> None:
    """The content that was overwritten comes back, not the step's own."""
    s3 = AWS.client("s3", endpoint_url=stack_environment["RESCIND_S3_ENDPOINT"])
    bucket = f"before-{uuid.uuid4().hex[:8]}"
    s3.create_bucket(Bucket=bucket)
    s3.put_object(Bucket=bucket, Key="settings", Body=b"the old ones", ContentType="text/x-old")
    async with HttpFaults(stack_environment["RESCIND_S3_ENDPOINT"], S3) as faults:
        await faults.plan("put object", [Fault.DROP_AFTER])
        asked = PutObject(bucket=bucket, key="settings", body="the new ones")
        effect = await given_back(
            "s3.put_object", asked, stack_environment | {"RESCIND_S3_ENDPOINT": faults.url}
        )
        written = [call.acted for call in faults.calls() if call.operation == "put object"]
    found = s3.get_object(Bucket=bucket, Key="settings")
    assert (found["Body"].read(), found["ContentType"]) == (b"the old ones", "text/x-old")
    assert written == [True, True]
    assert (effect.state, effect.attempt) == (RecordState.UNDONE, 2)
