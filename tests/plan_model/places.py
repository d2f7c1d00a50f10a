"""Where the plans of a run act: a place of its own for each try, with what has to be there before."""

import asyncio
import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from tests.activities.sandbox_world import Sandbox
from tests.faults.one_call import AWS
from tests.plan_model.drawn import Drawn, Try
from tests.plan_model.requests import CLUSTER, CUSTOMER, DATABASE, IMAGE

FULL = (("hotels", "Full"), ("blind", "Full"), ("flights", "RC404"))
"""What is sold out."""


@dataclass(frozen=True)
class Places:
    """The places of one run.

    Attributes:
        environment: That of somebody who looks at all of them, past all faults.
        owner: The database's connection string for the superuser.
        repositories: Bare repositories by alias.
    """

    environment: dict[str, str]
    owner: str
    repositories: dict[str, Path]


async def constants(sandbox: Sandbox) -> dict[str, str]:
    """What the plans name that only the providers know: a customer, and an image of machines."""
    ec2 = AWS.client("ec2", endpoint_url=sandbox.environment["RESCIND_EC2_ENDPOINT"])
    image = ec2.describe_images(Owners=["amazon"])["Images"][0].get("ImageId", "")
    return {CUSTOMER: await sandbox.new_customer(), IMAGE: image}


async def places_of(plans: list[Drawn], sandbox: Sandbox, folder: Path) -> Places:
    """Make all places."""
    tries = [each for plan in plans for each in plan.tries()]
    stack = sandbox.environment
    owner, database = _database(stack, f"plans_{folder.name}".replace("-", "_"))
    with psycopg.connect(database, autocommit=True) as connection:
        for table in _tables(tries):
            connection.execute(sql.SQL("CREATE TABLE {} (id int)").format(sql.Identifier(table)))
    repositories = _repositories(tries, Path(json.loads(stack["RESCIND_GIT_REMOTES"])["app"]), folder)
    (folder / "files").mkdir()
    for each in tries:
        if each.tool == "files.write" and each.there:
            (folder / "files" / f"{each.token}.txt").write_text("old\n")
    _cloud(tries, stack)
    for system, name in FULL:
        await sandbox.sold_out(system, name)
    orders = [each for each in tries if each.tool in ("crm.set_status", "crm.find")]
    await asyncio.gather(*(sandbox.enter_order(each.token, "pending") for each in orders))
    aliases = {
        "RESCIND_GIT_REMOTES": json.dumps({name: str(place) for name, place in repositories.items()}),
        "RESCIND_DATABASES": json.dumps({DATABASE: database}),
        "RESCIND_FILE_ROOTS": json.dumps({"plans": str(folder / "files")}),
    }
    return Places(stack | aliases, owner, repositories)


def _database(stack: Mapping[str, str], name: str) -> tuple[str, str]:
    """A fresh database: the superuser's connection string, and the application's."""
    admin = make_conninfo(stack["RESCIND_LEDGER_ADMIN_DSN"], dbname="postgres")
    with psycopg.connect(admin, autocommit=True) as connection:
        create = sql.SQL("CREATE DATABASE {} OWNER app TEMPLATE template0")
        connection.execute(create.format(sql.Identifier(name)))
    application = json.loads(stack["RESCIND_DATABASES"])["app"]
    return make_conninfo(admin, dbname=name), make_conninfo(application, dbname=name)


def _tables(tries: list[Try]) -> Iterator[str]:
    for each in tries:
        if each.tool == "postgres.rename_table":
            yield f"old {each.token}"
        if each.tool == "postgres.add_column":
            yield f"of {each.token}"


def _repositories(tries: list[Try], template: Path, folder: Path) -> dict[str, Path]:
    names = [each.token for each in tries if each.tool.startswith("git.")]
    found = {name: folder / "git" / f"{name}.git" for name in names}
    for place in found.values():
        shutil.copytree(template, place)
    return found


def _cloud(tries: list[Try], stack: Mapping[str, str]) -> None:
    """Buckets, one object in each where one is overwritten, and services of which another revision runs."""
    s3 = AWS.client("s3", endpoint_url=stack["RESCIND_S3_ENDPOINT"])
    ecs = AWS.client("ecs", endpoint_url=stack["RESCIND_ECS_ENDPOINT"])
    ecs.create_cluster(clusterName=CLUSTER)
    for each in tries:
        if each.tool.startswith("s3."):
            s3.create_bucket(Bucket=f"in-{each.token}")
            if each.tool == "s3.put_object" and each.there:
                s3.put_object(Bucket=f"in-{each.token}", Key=each.token, Body=b"old")
        if each.tool == "ecs.deploy" and each.there:
            made = ecs.register_task_definition(
                family=each.token,
                containerDefinitions=[{"name": "main", "image": "shop:1", "memory": 64}],
            )
            ecs.create_service(
                cluster=CLUSTER,
                serviceName=each.token,
                taskDefinition=made["taskDefinition"].get("taskDefinitionArn", ""),
                desiredCount=1,
                launchType="EC2",
            )
