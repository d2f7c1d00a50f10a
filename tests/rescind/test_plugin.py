"""The plugin in an application that has its own converter, codec, interceptors, activities and plugins."""

import asyncio
import dataclasses
import gc
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import psycopg
import pytest
import temporalio.client
from psycopg.conninfo import make_conninfo
from temporalio import activity, workflow
from temporalio.api.common.v1 import Payload
from temporalio.api.failure.v1 import Failure
from temporalio.client import Client
from temporalio.contrib.pydantic import PydanticPayloadConverter, pydantic_data_converter
from temporalio.converter import (
    DataConverter,
    DefaultFailureConverter,
    DefaultPayloadConverter,
    PayloadCodec,
    PayloadConverter,
)
from temporalio.plugin import SimplePlugin
from temporalio.worker import (
    ActivityInboundInterceptor,
    ExecuteActivityInput,
    Interceptor,
    UnsandboxedWorkflowRunner,
    Worker,
    WorkflowRunner,
)
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner

from rescind import CannotCompose, RescindPlugin, SagaState
from rescind.ledger import Ledger, LedgerError
from tests.rescind.sagas import Sagas, eventually
from tests.rescind.toy_workflows import WORKFLOWS, MakeThings, Plan
from tests.rescind.toy_world import TOOLS, World


class ReversingCodec(PayloadCodec):
    """Turns the bytes of every payload around, and marks them as turned."""

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """See base class."""
        return [
            Payload(metadata={"encoding": b"binary/reversed"}, data=each.SerializeToString()[::-1])
            for each in payloads
        ]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """See base class."""
        return [Payload.FromString(each.data[::-1]) for each in payloads]


class MarkingFailures(DefaultFailureConverter):
    """Names the application as the source of each failure."""

    def to_failure(
        self, exception: BaseException, payload_converter: PayloadConverter, failure: Failure
    ) -> None:
        """See base class."""
        super().to_failure(exception, payload_converter, failure)
        failure.source = "our application"


class OurPayloads(PydanticPayloadConverter):
    """The application's own subclass of Pydantic's converter."""


class ForeignPayloads(DefaultPayloadConverter):
    """A converter of which nobody knows whether it reads Pydantic models."""


class ForeignRunner(WorkflowRunner):
    """A workflow runner that is not Temporal's."""

    def prepare_workflow(self, defn: Any) -> None:
        """See base class."""

    def create_instance(self, det: Any) -> Any:
        """See base class."""
        raise NotImplementedError


class Counting(temporalio.client.Interceptor, Interceptor):
    """Counts the activities by their names."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:  # noqa: A002  (Temporal's own parameter name)
        """See base class."""
        seen = self.seen

        class _Counted(ActivityInboundInterceptor):
            async def execute_activity(self, input: ExecuteActivityInput) -> Any:  # noqa: A002  (Temporal's own parameter name)
                seen.append(activity.info().activity_type)
                return await super().execute_activity(input)

        return _Counted(next)


@activity.defn
async def greet(name: str) -> str:
    """An activity that the application had before."""
    return f"hello {name}"


@workflow.defn
class Greet:
    """A workflow that the application had before."""

    @workflow.run
    async def run(self, plan: Plan) -> str:
        """Greet whoever the world is."""
        greeting: str = await workflow.execute_activity(
            "greet", plan.world, start_to_close_timeout=timedelta(seconds=5), result_type=str
        )
        return greeting


async def connected(stack_environment: dict[str, str], *plugins: Any, **options: Any) -> Client:
    """A client of the dev server with these plugins."""
    return await Client.connect(stack_environment["TEMPORAL_ADDRESS"], plugins=plugins, **options)


async def test_everything_that_an_application_has_already(
    stack_environment: dict[str, str], ledger_dsn: str, ledger: Ledger, task_queue: str, world: World
) -> None:
    """Codec, failure converter, interceptors, activities, workflows and other plugins go on working, with sagas."""
    counting, other = Counting(), Counting()
    converter = DataConverter(payload_codec=ReversingCodec(), failure_converter_class=MarkingFailures)
    client = await connected(
        stack_environment,
        SimplePlugin("their.Plugin", interceptors=[other], activities=[greet]),
        RescindPlugin(TOOLS, ledger=ledger_dsn, sweeping=None),
        data_converter=converter,
        interceptors=[counting],
    )
    sagas = Sagas(client, ledger, task_queue)
    world.plan["make b"] = ["refuse"]
    async with Worker(client, task_queue=task_queue, workflows=[*WORKFLOWS, Greet]):
        greeted = await sagas.start(Greet.run, Plan(world="world", things=[]))
        assert await greeted.result() == "hello world"
        made = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a"]))
        assert await made.result() == ["a"]
        undone = await sagas.start(MakeThings.run, Plan(world=world.name, things=["c", "b"]))
        failure = await sagas.failure(undone)
    assert (failure.type, failure.failure and failure.failure.source) == ("SagaUndone", "our application")
    assert list(world.things) == ["a"]
    assert counting.seen == other.seen
    assert {"greet", "make_thing", "unmake_thing", "rescind.seal"} <= set(counting.seen)
    history = await made.fetch_history()
    payload = history.events[0].workflow_execution_started_event_attributes.input.payloads[0]
    assert payload.metadata["encoding"] == b"binary/reversed"


async def test_a_subclass_of_pydantics_payload_converter(
    stack_environment: dict[str, str], ledger_dsn: str
) -> None:
    """It is kept, since it reads Pydantic models."""
    own = DataConverter(payload_converter_class=OurPayloads)
    client = await connected(
        stack_environment, RescindPlugin(ledger=ledger_dsn, sweeping=None), data_converter=own
    )
    assert client.data_converter.payload_converter_class is OurPayloads
    client = await connected(
        stack_environment,
        RescindPlugin(ledger=ledger_dsn, sweeping=None),
        data_converter=pydantic_data_converter,
    )
    assert client.data_converter is pydantic_data_converter


async def test_a_foreign_payload_converter(stack_environment: dict[str, str], ledger_dsn: str) -> None:
    """It is refused when the client is made, in words that say what to write."""
    foreign = dataclasses.replace(DataConverter.default, payload_converter_class=ForeignPayloads)
    with pytest.raises(CannotCompose) as refused:
        await connected(
            stack_environment, RescindPlugin(ledger=ledger_dsn, sweeping=None), data_converter=foreign
        )
    assert str(refused.value) == (
        "the client's payload converter is ForeignPayloads; Rescind's requests, results and reports are Pydantic "
        "models, and whether that class reads them can't be told. Make it a subclass of "
        "temporalio.contrib.pydantic.PydanticPayloadConverter"
    )


async def test_a_foreign_workflow_runner(client: Client, task_queue: str) -> None:
    """It is refused when the worker is made."""
    with pytest.raises(CannotCompose) as refused:
        Worker(client, task_queue=task_queue, workflows=WORKFLOWS, workflow_runner=ForeignRunner())
    assert str(refused.value) == (
        "the worker's workflow runner is a ForeignRunner; Rescind passes its modules through Temporal's "
        "SandboxedWorkflowRunner. Use that one, or UnsandboxedWorkflowRunner"
    )


@pytest.mark.parametrize("runner", [UnsandboxedWorkflowRunner(), SandboxedWorkflowRunner()])
async def test_the_two_runners_of_temporal(
    client: Client, ledger: Ledger, task_queue: str, world: World, runner: WorkflowRunner
) -> None:
    """Sagas run in both."""
    sagas = Sagas(client, ledger, task_queue)
    async with Worker(client, task_queue=task_queue, workflows=[MakeThings], workflow_runner=runner):
        handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a"]))
        assert await handle.result() == ["a"]


async def test_two_workers_of_one_client_in_one_process(
    client: Client, ledger: Ledger, task_queue: str, world: World
) -> None:
    """They share the ledger's connections; the one that stays works on after the other has stopped."""
    sagas, other = Sagas(client, ledger, task_queue), Sagas(client, ledger, f"{task_queue}-2")
    async with Worker(client, task_queue=task_queue, workflows=[MakeThings]):
        async with Worker(client, task_queue=f"{task_queue}-2", workflows=[MakeThings]):
            first = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a"]))
            second = await other.start(MakeThings.run, Plan(world=world.name, things=["b"]))
            assert [await first.result(), await second.result()] == [["a"], ["b"]]
        after = await sagas.start(MakeThings.run, Plan(world=world.name, things=["c"]))
        assert await after.result() == ["c"]
        assert (await sagas.view(after)).state is SagaState.SEALED


async def test_workers_that_start_at_once(
    stack_environment: dict[str, str], ledger_dsn: str, task_queue: str
) -> None:
    """They open the ledger once, and the last one to stop closes it."""
    named = make_conninfo(ledger_dsn, application_name=task_queue)
    client = await connected(
        stack_environment, RescindPlugin(TOOLS, ledger=named, ledger_connections=2, sweeping=None)
    )
    workers = [
        Worker(client, task_queue=f"{task_queue}-{number}", workflows=[MakeThings]) for number in range(3)
    ]
    running = [asyncio.create_task(worker.run()) for worker in workers]
    await eventually(lambda: all(worker.is_running for worker in workers))
    await asyncio.sleep(0.5)
    assert await connections(ledger_dsn, task_queue) in (
        1,
        2,
    )  # of one ledger; three of them would have three
    await asyncio.gather(*(worker.shutdown() for worker in workers))
    await asyncio.gather(*running)
    await until_connections(0, ledger_dsn, task_queue)


async def until_connections(wanted: int, dsn: str, application: str) -> None:
    """Wait until an application has so many connections."""
    for _ in range(150):
        if await connections(dsn, application) == wanted:
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"{application} has {await connections(dsn, application)} connections, not {wanted}")


async def connections(dsn: str, application: str) -> int:
    """How many connections to the database go by this application's name."""
    async with await psycopg.AsyncConnection.connect(dsn) as connection:
        counted = await connection.execute(
            "select count(*) from pg_stat_activity where application_name = %s", [application]
        )
        row = await counted.fetchone()
    assert row is not None
    return int(row[0])


async def test_a_worker_whose_ledger_is_not_there(
    stack_environment: dict[str, str], task_queue: str, world: World
) -> None:
    """It fails at its start and says so; no activity was started, and the workflow waits for a worker."""
    dsn = "postgresql://nobody:secret@127.0.0.1:1/ledger?connect_timeout=2"
    client = await connected(stack_environment, RescindPlugin(TOOLS, ledger=dsn, sweeping=None))
    handle = await client.start_workflow(
        MakeThings.run, Plan(world=world.name, things=["a"]), id=task_queue, task_queue=task_queue
    )
    worker = Worker(client, task_queue=task_queue, workflows=[MakeThings])
    with pytest.raises(LedgerError) as refused:
        await asyncio.wait_for(worker.run(), 30)
    assert str(refused.value) == (
        "the worker was not started: its ledger does not answer at 127.0.0.1:1, database ledger. No activity was "
        "started, and what is on record is as it was. Look at that server and at the plugin's ledger=..."
    )
    assert [event.event_type async for event in handle.fetch_history_events()] == [1, 5]
    assert world.log == []
    await handle.terminate()


async def test_how_long_running_steps_may_take_to_end(client: Client, task_queue: str) -> None:
    """By default as long as the longest attempt of any tool; an explicit time is kept."""
    worker = Worker(client, task_queue=task_queue, workflows=WORKFLOWS)
    longest = max(tool.undo_start_to_close for tool in TOOLS)
    assert (
        worker.config(active_config=True).get("graceful_shutdown_timeout") == longest == timedelta(seconds=18)
    )
    limit = timedelta(seconds=1)
    own = Worker(client, task_queue=f"{task_queue}-own", workflows=WORKFLOWS, graceful_shutdown_timeout=limit)
    assert own.config(active_config=True).get("graceful_shutdown_timeout") == limit


async def test_a_worker_that_is_told_to_stop_in_mid_step(
    client: Client, ledger: Ledger, task_queue: str, world: World
) -> None:
    """The step finishes and is on record; another worker ends the saga, with one effect."""
    sagas = Sagas(client, ledger, task_queue)
    world.plan["make a"] = ["slow"]
    async with Worker(client, task_queue=task_queue, workflows=[MakeThings]):
        handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a", "b"]))
        await eventually(lambda: "make a" in world.log)
    assert list(world.things) == ["a"]
    gc.collect()  # what the worker had in its cache is thrown away in silence
    async with Worker(client, task_queue=task_queue, workflows=[MakeThings]):
        assert await handle.result() == ["a", "b"]
    assert world.makes["a"] == 1
