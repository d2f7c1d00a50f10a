"""Every tool of the catalogue in the world that it is checked in."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from activities.catalogue import CATALOGUE
from rescind.testing import World
from tests.activities.sandbox_world import Sandbox, sandbox_of
from tests.certificates import business, cloud, places
from tests.faults.one_call import AWS

CONTAINER = "container.deploy"
ENGINE = "RESCIND_DOCKER_SOCKET"


@dataclass(frozen=True)
class Case:
    """One tool in one case.

    Attributes:
        tool: The tool's name.
        request: The request, or what makes it.
        world: The world.
        case: The case in words, where the tool has several.
    """

    tool: str
    request: Any
    world: World
    case: str = ""


@dataclass(frozen=True)
class Outside:
    """What is outside: where the stand-ins are, and the clients by which the worlds are looked at."""

    environment: Mapping[str, str]
    sandbox: Sandbox
    repository: Path
    dsns: Mapping[str, str]
    ledger: str


def cases(outside: Outside) -> list[Case]:
    """All cases but the one that needs a Docker engine."""
    return [*_business(outside.sandbox), *_cloud(outside.environment), *_places(outside)]


def _business(sandbox: Sandbox) -> Iterator[Case]:
    orders, invoices, messages = (
        business.Orders(sandbox),
        business.Invoices(sandbox),
        business.Messages(sandbox),
    )
    yield Case("crm.set_status", orders.request, orders)
    looked_at = business.Orders(sandbox)
    yield Case("crm.find", looked_at.find, looked_at)
    texts = business.Sent(sandbox, "/sms/messages", "every text message")
    transfers = business.Sent(sandbox, "/payments/transfers", "every transfer of the bank")
    events = business.Sent(sandbox, "/webhooks/events", "every event that was posted")
    yield Case("sms.send", texts.text, texts)
    yield Case("payments.transfer", transfers.transfer, transfers)
    yield Case("webhook.post", events.event, events)
    yield Case("billing.create_invoice", invoices.request, invoices)
    yield Case("chat.notify", messages.request, messages)
    for on_undo in ("correct", "leave"):
        mails = business.Mails(sandbox, on_undo)
        yield Case("email.send", mails.request, mails, on_undo)
    for rate in ("flexible", "standard"):
        flights = business.ChangeableBookings(sandbox, "flights", rate)
        yield Case("flights.book", flights.flight, flights, f"{rate} rate")
        rooms = business.ChangeableBookings(sandbox, "hotels", rate)
        yield Case("hotels.book", rooms.room, rooms, f"{rate} rate")
    blind = business.Bookings(sandbox, "blind", "standard", seen=False)
    yield Case("hotels.book_blind", blind.room, blind)


def _cloud(environment: Mapping[str, str]) -> Iterator[Case]:
    s3 = AWS.client("s3", endpoint_url=environment["RESCIND_S3_ENDPOINT"])
    ecs = AWS.client("ecs", endpoint_url=environment["RESCIND_ECS_ENDPOINT"])
    ec2 = AWS.client("ec2", endpoint_url=environment["RESCIND_EC2_ENDPOINT"])
    buckets, services, machines = cloud.Buckets(s3), cloud.Services(ecs), cloud.Machines(ec2)
    yield Case("vm.launch", machines.request, machines)
    yield Case("s3.create_bucket", buckets.request, buckets)
    yield Case("ecs.deploy", services.request, services, "over another revision")
    kept = cloud.Objects(s3)
    yield Case("s3.find_bucket", kept.find, kept)
    for versions, case in ((False, "over another object"), (True, "in a versioned bucket")):
        objects = cloud.Objects(s3, versions=versions)
        yield Case("s3.put_object", objects.put, objects, case)


def _places(outside: Outside) -> Iterator[Case]:
    template = Path(json.loads(outside.environment["RESCIND_GIT_REMOTES"])["app"])
    repository = places.Repository(outside.repository, template, outside.environment)
    yield Case("git.create_branch", repository.request, repository)
    looked_at = places.Repository(
        outside.repository.with_name(f"{places.LOOKED_AT}.git"), template, outside.environment
    )
    yield Case("git.find_branch", looked_at.find, looked_at)
    over = places.Folder(outside.repository.with_name("over"), "notes/kept.txt")
    yield Case("files.write", over.request, over, "over another file")
    made = places.NewFile(outside.repository.with_name("made"), "notes/new.txt")
    yield Case("files.write", made.request, made, "a new file")
    databases: dict[str, Callable[[str], tuple[Any, World]]] = {
        "postgres.rename_table": places.renamed,
        "postgres.add_column": places.widened,
        "postgres.migrate": places.migrated,
    }
    for tool, make in databases.items():
        request, world = make(outside.dsns[tool])
        yield Case(tool, request, world)


@contextmanager
def engine_case(environment: Mapping[str, str]) -> Generator[Case | None]:
    """The case that needs a Docker engine; None where there is none."""
    socket = environment.get(ENGINE)
    if not socket:
        yield None
        return
    client = docker.DockerClient(base_url=f"unix://{socket}", timeout=30)
    world = places.Containers(client)
    try:
        yield Case(CONTAINER, world.request, world, "over another revision")
    finally:
        world.remove_all()
        client.close()


@asynccontextmanager
async def outside_of(environment: Mapping[str, str], folder: Path) -> AsyncGenerator[Outside]:
    """Places of the checks' own in running stand-ins; their databases are gone after the block."""
    with ExitStack() as databases:
        names = [tool.name for tool in CATALOGUE if tool.name.startswith("postgres.")]
        dsns = {name: databases.enter_context(_database(environment, name, "app")) for name in names}
        ledger = databases.enter_context(_database(environment, "laws", None))
        async with sandbox_of(dict(environment)) as sandbox:
            yield Outside(environment, sandbox, folder / "certified.git", dsns, ledger)


def settings_of(outside: Outside) -> dict[str, str]:
    """The settings of a worker that reaches all of it; each database's alias is the name of its tool."""
    socket = outside.environment.get(ENGINE)
    return {
        **{
            name: value
            for name, value in outside.environment.items()
            if name.startswith(("RESCIND_", "AWS_"))
        },
        "RESCIND_GIT_REMOTES": json.dumps(
            {
                places.ALIAS: str(outside.repository),
                places.LOOKED_AT: str(outside.repository.with_name(f"{places.LOOKED_AT}.git")),
            }
        ),
        "RESCIND_FILE_ROOTS": json.dumps(
            {name: str(outside.repository.with_name(name)) for name in ("over", "made")}
        ),
        "RESCIND_DATABASES": json.dumps(dict(outside.dsns)),
        **({"RESCIND_DOCKER_HOST": f"unix://{socket}"} if socket else {}),
    }


@contextmanager
def _database(environment: Mapping[str, str], name: str, owner: str | None) -> Generator[str]:
    """A fresh database; its owner's connection string, or the administrator's."""
    admin = environment["RESCIND_LEDGER_ADMIN_DSN"]
    named = sql.Identifier(f"certified {name}")
    with psycopg.connect(make_conninfo(admin, dbname="postgres"), autocommit=True) as connection:
        owned = sql.SQL(" OWNER {}").format(sql.Identifier(owner)) if owner else sql.SQL("")
        connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(named) + owned)
        dsn = json.loads(environment["RESCIND_DATABASES"])["app"] if owner else admin
        try:
            yield make_conninfo(dsn, dbname=f"certified {name}")
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(named))
