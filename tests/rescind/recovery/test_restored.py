"""The ledger is restored from an older backup: it is noticed, and brought back in step before effects start again."""

import asyncio
import uuid
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import psycopg
import pytest
from temporalio.client import Client
from temporalio.worker import Worker

from rescind import RescindPlugin, SagaReport, SagaState
from rescind.cli import Server
from rescind.cli._restored import in_step
from rescind.ledger import Ledger, LedgerBehind, install
from rescind.reconciliation import Alert
from rescind.recovery import Sweeping, remembered
from tests.rescind.ledger.postgres import Server as Postgres
from tests.rescind.namespaces import new_namespace
from tests.rescind.reconciliation.receiver import Receiver, Webhook, receiver
from tests.rescind.sagas import Handle, Sagas, eventually, until
from tests.rescind.toy_workflows import WORKFLOWS, MakeThings, Plan
from tests.rescind.toy_world import TOOLS, Behaviour, World

# The SDK warns where a local activity has ended right before it is cancelled; as an error that would end the worker.
pytestmark = pytest.mark.filterwarnings("ignore:Cannot find activity to cancel:UserWarning")


@dataclass
class Ledgers:
    """A ledger in a server of its own, which can be put back to what it was."""

    server: Postgres
    dsn: str

    def back_up(self) -> None:
        """Keep a copy; nobody is connected."""
        self._run('create database "backup" template "ledger"')

    def restore(self) -> None:
        """The copy takes the ledger's place."""
        self.server.drop_database("ledger")
        self._run('alter database "backup" rename to "ledger"')

    def _run(self, statement: str) -> None:
        with psycopg.connect(self.server.dsn(), autocommit=True) as connection:
            connection.execute(statement.encode())


@pytest.fixture
def ledgers() -> Iterator[Ledgers]:
    """One such ledger."""
    with Postgres() as server:
        install(server.create_database("ledger"), workers=["worker"])
        yield Ledgers(server, server.dsn("ledger", "worker"))


@pytest.fixture
def posts() -> Iterator[Receiver]:
    """The receiving end of a webhook that is told what the sweeper asks."""
    with receiver() as receiving:
        yield receiving


@pytest.fixture
async def own(stack_environment: dict[str, str], ledgers: Ledgers, posts: Receiver) -> Client:
    """A client in a namespace of its own, whose sweeper looks every second."""
    address = stack_environment["TEMPORAL_ADDRESS"]
    sweeping, alerts = Sweeping(every=timedelta(seconds=1)), [Webhook(posts.url)]
    plugin = RescindPlugin(TOOLS, ledger=ledgers.dsn, sweeping=sweeping, alerts=alerts)
    return await Client.connect(address, namespace=await new_namespace(address, "restored"), plugins=[plugin])


async def looked(client: Client, times: int) -> None:
    """Wait until Temporal remembers so many looks more."""
    before = await remembered(client) or 0

    async def has() -> bool:
        return (await remembered(client) or 0) >= before + times

    await until(has)


async def looked_alone(client: Client, times: int) -> None:
    """The same, while nobody works on the queue of the test's sagas."""
    async with Worker(client, task_queue=f"nobody-{uuid.uuid4()}", workflows=WORKFLOWS):
        await looked(client, times)


def asked(posts: Receiver) -> list[Alert]:
    """What the sweeper has asked."""
    return [alert for alert in posts.alerts if alert.saga is None]


@pytest.mark.timeout(240)
async def test_older_backup(
    own: Client, ledgers: Ledgers, world: World, task_queue: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """No worker starts on it; in step again, what was under way is in doubt and not done twice, the rest is undone."""

    def worker() -> Worker:
        return Worker(own, task_queue=task_queue, workflows=WORKFLOWS, max_cached_workflows=0)

    async def connected() -> Server:
        return Server(own, "here")

    plan = Plan(world=world.name, things=["a", "b", "c"], wait=1)
    async with worker(), Ledger(ledgers.dsn, connections=1) as ledger:
        sagas = Sagas(own, ledger, task_queue)
        handle = await sagas.start(MakeThings.run, plan)
        await eventually(lambda: "a" in world.things)
        await looked(own, 1)
    ledgers.back_up()
    world.plan["make b"] = ["hang"]
    async with worker():
        await handle.signal(MakeThings.go)
        await eventually(lambda: "b" in world.things)  # its report is lost with the newer ledger
    await looked_alone(own, 2)
    ledgers.restore()

    with pytest.raises(LedgerBehind, match="Temporal remembers"):
        await Worker(own, task_queue=f"{task_queue}-refused", workflows=WORKFLOWS).run()
    assert world.makes == {"a": 1, "b": 1}

    await in_step(connected, ledgers.dsn, "anna")
    said = capsys.readouterr().out
    assert "make_thing#2: in doubt; it may have been called" in said
    assert "in step again, with 1 steps in doubt" in said
    async with worker(), Ledger(ledgers.dsn, connections=1) as ledger:
        sagas = Sagas(own, ledger, task_queue)
        report = await sagas.report(handle)
        assert {step.step: step.state.value for step in report.steps} == {
            "make_thing#1": "undone",
            "make_thing#2": "in_doubt",
        }
        assert await sagas.states(handle) == ["undone", "in_doubt"]
        assert (await ledger.verify()).differences == []
        await looked(own, 1)
    assert world.makes == {"a": 1, "b": 1}
    assert list(world.things) == ["b"]
    await in_step(connected, ledgers.dsn, "anna")
    assert "is in step with Temporal; nothing was changed" in capsys.readouterr().out


@dataclass
class Lost:
    """A saga of a and b of which the restored ledger knows b as refused for now, while b was made since."""

    client: Client
    ledgers: Ledgers
    world: World
    task_queue: str
    handle: Handle

    @asynccontextmanager
    async def working(self) -> AsyncGenerator[Sagas]:
        """A worker, and the ledger."""
        worker = Worker(self.client, task_queue=self.task_queue, workflows=WORKFLOWS, max_cached_workflows=0)
        async with worker, Ledger(self.ledgers.dsn, connections=1) as ledger:
            yield Sagas(self.client, ledger, self.task_queue)

    async def in_step(self) -> None:
        """Give the command."""

        async def connected() -> Server:
            return Server(self.client, "here")

        await in_step(connected, self.ledgers.dsn, "anna")


async def lost(
    client: Client, ledgers: Ledgers, world: World, task_queue: str, *, b: Behaviour, terminated: bool = False
) -> Lost:
    """Back up while b is refused for now, let it be made as it is told, and restore."""
    await looked_alone(client, 1)
    handle: Handle = await client.start_workflow(
        MakeThings.run,
        Plan(world=world.name, things=["a", "b"], wait=2),
        id=f"lost-{task_queue}",
        task_queue=task_queue,
    )
    lost = Lost(client, ledgers, world, task_queue, handle)
    world.plan["make b"] = ["later"]
    async with lost.working():
        await eventually(lambda: "make b" in world.log)
    ledgers.back_up()
    world.plan["make b"] = [b]
    async with lost.working() as sagas:
        await eventually(lambda: "b" in world.things, within=30)
        if b == "ok":
            await until(lambda: _is_done(sagas, handle))
        if terminated:
            await handle.terminate()
    await looked_alone(client, 2)
    ledgers.restore()
    return lost


async def _is_done(sagas: Sagas, handle: Handle) -> bool:
    return await sagas.states(handle) == ["applied", "applied"]


@pytest.mark.timeout(240)
async def test_lost_attempt_of_a_step_that_was_refused_for_now(
    own: Client, ledgers: Ledgers, world: World, task_queue: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is not made again unseen: its lookup is asked as if its reply was lost, and the saga goes on."""
    saga = await lost(own, ledgers, world, task_queue, b="hang")
    await saga.in_step()
    assert "make_thing#2: it may have been called; it is settled like" in capsys.readouterr().out
    async with saga.working() as sagas:
        await saga.handle.signal(MakeThings.go)
        assert await saga.handle.result() == ["a", "b"]
        assert (await sagas.ledger.verify()).differences == []
    assert world.makes == {"a": 1, "b": 1}


@pytest.mark.timeout(240)
@pytest.mark.parametrize("terminated", [False, True])
async def test_step_that_was_done_after_it_was_refused_for_now(
    own: Client, ledgers: Ledgers, world: World, task_queue: str, terminated: bool
) -> None:
    """The ledger knows no end of it, so the saga is not sealed; what it did is found and undone, not called absent."""
    saga = await lost(own, ledgers, world, task_queue, b="ok", terminated=terminated)
    await saga.in_step()
    async with saga.working() as sagas:
        if not terminated:
            await saga.handle.signal(MakeThings.go)
            assert (await sagas.failure(saga.handle)).type == "SagaUndone"

        async def is_closed() -> bool:
            return (await sagas.view(saga.handle)).state is SagaState.CLOSED

        await until(is_closed)
        assert await sagas.states(saga.handle) == ["undone", "undone"]
    assert world.makes == {"a": 1, "b": 1}
    assert world.things == {}


@pytest.mark.timeout(240)
async def test_restored_under_a_running_worker(
    own: Client, ledgers: Ledgers, world: World, task_queue: str, posts: Receiver
) -> None:
    """The sweeper notices and tells people; nothing is called until it is in step again; what waited is in doubt."""

    async def connected() -> Server:
        return Server(own, "here")

    worker = Worker(own, task_queue=task_queue, workflows=WORKFLOWS, max_cached_workflows=0)
    async with worker:
        await looked(own, 1)
    ledgers.back_up()
    worker = Worker(own, task_queue=task_queue, workflows=WORKFLOWS, max_cached_workflows=0)
    async with worker:
        await looked(own, 3)
        ledgers.restore()
        async with Ledger(ledgers.dsn, connections=1) as ledger:
            sagas = Sagas(own, ledger, task_queue)

            async def is_noticed() -> bool:
                space = (await sagas.saga_id(await sagas.start(MakeThings.run, later))).partition("/")[0]
                try:
                    await ledger.compare(space, None, is_look=False)
                except LedgerBehind:
                    return True
                await asyncio.sleep(0.5)
                return False

            later = Plan(world=world.name, things=[])
            await until(is_noticed)
            handle = await sagas.start(MakeThings.run, Plan(world=world.name, things=["a"]))
            await asyncio.sleep(2)
            assert world.log == []
            await eventually(lambda: bool(asked(posts)))
            assert "restored from an older backup" in asked(posts)[0].text
            assert "to do: stop the workers; restore a newer one" in asked(posts)[0].text
            await in_step(connected, ledgers.dsn, "anna")
            cause = await sagas.failure(handle)
            report = SagaReport.model_validate(cause.details[0])
            assert [step.state.value for step in report.steps] == ["in_doubt"]
            assert "the ledger was restored from an older backup" in cause.message
            assert (
                "make_thing#1 was not begun: nobody can tell whether it took effect already" in cause.message
            )
            assert "used before" not in cause.message
            again = await sagas.start(MakeThings.run, Plan(world=world.name, things=["b"]))
            assert await again.result() == ["b"]
    assert world.makes == {"b": 1}
    assert [alert.number for alert in asked(posts)] in ([1], [1, 0])  # the second says that it is over
