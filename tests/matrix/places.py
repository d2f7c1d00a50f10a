"""The outside world of the matrix: for each cell a repository, a database and a chat hook of its own."""

import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from tests.faults.one_call import AWS
from tests.matrix.cells import Cell, Step

IMAGE = "rescind-demo:1"
CLUSTER = "matrix"
LEFT_OUT = ("RESCIND_DOCKER_SOCKET", "RESCIND_OPERATIONS_WEBHOOK", "RESCIND_OPERATIONS_ADDRESS")
"""Of the stack's variables: another engine, and those who are told of failed sagas, which is no effect of one."""


@dataclass(frozen=True)
class Places:
    """Where each cell's things are; by the cell's name, which is the alias that a worker is given.

    Attributes:
        stack: The environment of a worker that uses the stand-ins.
        repositories: Bare repositories.
        databases: Connection strings of the application's role.
        owners: Connection strings of the superuser, for the event trigger.
        hooks: Webhook URLs.
        engine: The socket of a Docker engine, or None.
    """

    stack: dict[str, str]
    repositories: dict[str, Path]
    databases: dict[str, str]
    owners: dict[str, str]
    hooks: dict[str, str]
    engine: Path | None

    @property
    def environment(self) -> dict[str, str]:
        """The environment of whoever looks at all of it, past all faults."""
        socket = {"RESCIND_DOCKER_SOCKET": str(self.engine)} if self.engine else {}
        return self.stack | socket | self.aliases()

    def aliases(self, cells: Iterable[Cell] | None = None) -> dict[str, str]:
        """The variables that name the places of these cells, or of all."""
        names = list(self.repositories) if cells is None else [cell.name for cell in cells]
        return {
            "RESCIND_GIT_REMOTES": json.dumps({name: str(self.repositories[name]) for name in names}),
            "RESCIND_DATABASES": json.dumps({name: self.databases[name] for name in names}),
            "RESCIND_CHAT_WEBHOOKS": json.dumps({name: self.hooks[name] for name in names}),
        }


def places_of(cells: Iterable[Cell], stack: Mapping[str, str], folder: Path, engine: Path | None) -> Places:
    """Fresh places for these cells in running stand-ins.

    The databases are left to the end of the stand-ins: each that is dropped waits for all files to be on the disk.
    """
    names = [cell.name for cell in cells]
    plain = {name: value for name, value in stack.items() if name not in LEFT_OUT}
    template = Path(json.loads(stack["RESCIND_GIT_REMOTES"])["app"])
    (hook,) = json.loads(stack["RESCIND_CHAT_WEBHOOKS"]).values()
    repositories = {name: folder / "git" / f"{name}.git" for name in names}
    for place in repositories.values():
        shutil.copytree(template, place)
    AWS.client("ecs", endpoint_url=stack["RESCIND_ECS_ENDPOINT"]).create_cluster(clusterName=CLUSTER)
    databases, owners = _databases(names, stack)
    hooks = {name: f"{hook.rpartition('/')[0]}/{name}" for name in names}
    return Places(plain, repositories, databases, owners, hooks, engine)


def _databases(names: list[str], stack: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    admin = make_conninfo(stack["RESCIND_LEDGER_ADMIN_DSN"], dbname="postgres")
    application = json.loads(stack["RESCIND_DATABASES"])["app"]
    with psycopg.connect(admin, autocommit=True) as connection:
        for name in names:
            create = sql.SQL("CREATE DATABASE {} OWNER app TEMPLATE template0")
            connection.execute(create.format(sql.Identifier(name)))
    return (
        {name: make_conninfo(application, dbname=name) for name in names},
        {name: make_conninfo(admin, dbname=name) for name in names},
    )


def request_of(cell: Cell) -> dict[str, Any]:
    """The input of the workflow: an environment all of whose parts bear the cell's name."""
    name = cell.name
    deployment: dict[str, Any] = {"service": {"cluster": CLUSTER, "service": name, "image": IMAGE}}
    if cell.deployment is Step.CONTAINER:
        deployment = {"container": {"service": name, "image": IMAGE, "network": "none"}}
    return {
        "branch": {"remote": name, "branch": f"env/{name}"},
        "bucket": {"bucket": name},
        "migrate": {
            "database": name,
            "name": f"settings of {name}",
            "up": f'CREATE TABLE "{name}" (name text PRIMARY KEY, value text)',
            "down": f'DROP TABLE "{name}"',
            "restores": "exact",
        },
        **deployment,
        "notification": {"webhook": name, "text": f"{name} is there"},
        "pre_approved": ["chat.notify"],
    }
