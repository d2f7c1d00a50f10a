"""One provider of each kind with its faults before it, and what is in it, read by its own client."""

import subprocess
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import docker
import psycopg

from tests.faults import FaultyProvider
from tests.faults.git import GitFaults
from tests.faults.http_proxy import Dialect, HttpFaults
from tests.faults.one_call import AWS
from tests.faults.postgres import PostgresFaults
from tests.faults.providers import CHAT, DOCKER, ECS, S3
from tests.faults.servers import Webhook, aws, bare_repository, database, docker_engine, webhook

SERVERS: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "git": bare_repository,
    "postgres": database,
    "s3": aws,
    "ecs": aws,
    "docker": docker_engine,
    "chat": webhook,
}


@dataclass(frozen=True)
class World:
    """A provider, the operation that `one_call` asks of it, and how often the effect is there."""

    name: str
    provider: FaultyProvider
    operation: str
    address: str
    effects: Callable[[str], int]


@asynccontextmanager
async def world_of(name: str, server: object) -> AsyncGenerator[World]:
    """The world of one provider; `server` is what its entry in SERVERS gave."""
    match name:
        case "git":
            assert isinstance(server, Path)
            async with GitFaults(server) as git:
                yield World(name, git, "create", git.url, lambda ref: _refs(str(server), ref))
        case "postgres":
            async with PostgresFaults(str(server)) as postgres:
                address = postgres.through(str(server).replace("postgres:@", "app:@"))
                yield World(
                    name, postgres, "add column", address, lambda column: _columns(str(server), column)
                )
        case "chat":
            assert isinstance(server, Webhook)
            async with HttpFaults(server.address, CHAT) as chat:
                yield World(name, chat, "post", chat.url, server.texts.count)
        case _:
            dialect, operation, effects = _HTTP[name]
            async with HttpFaults(str(server), dialect) as http:
                yield World(name, http, operation, http.url, lambda wanted: effects(str(server), wanted))


def _refs(repository: str, name: str) -> int:
    command = ["git", "-C", repository, "for-each-ref", f"refs/heads/{name}"]
    return len(subprocess.run(command, check=True, capture_output=True).stdout.splitlines())


def _columns(address: str, name: str) -> int:
    query = "SELECT count(*) FROM information_schema.columns WHERE table_name = 't' AND column_name = %s"
    with psycopg.connect(address) as connection:
        row = connection.execute(query, [name]).fetchone()
    assert row
    return int(row[0])


def _buckets(address: str, name: str) -> int:
    client = AWS.client("s3", endpoint_url=address)
    try:
        return [bucket.get("Name") for bucket in client.list_buckets()["Buckets"]].count(name)
    finally:
        client.close()


def _task_definitions(address: str, name: str) -> int:
    client = AWS.client("ecs", endpoint_url=address)
    try:
        return len(client.list_task_definitions(familyPrefix=name)["taskDefinitionArns"])
    finally:
        client.close()


def _containers(address: str, name: str) -> int:
    client = docker.DockerClient(base_url=address)
    try:
        return [container.name for container in client.containers.list(all=True)].count(name)
    finally:
        client.close()


_HTTP: dict[str, tuple[Dialect, str, Callable[[str, str], int]]] = {
    "s3": (S3, "create bucket", _buckets),
    "ecs": (ECS, "register", _task_definitions),
    "docker": (DOCKER, "create", _containers),
}
