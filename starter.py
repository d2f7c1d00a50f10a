"""This application's command line: provision an environment, fulfil an order, book a trip, and look after sagas."""

import asyncio
import os
from collections.abc import Iterable
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from pydantic import BaseModel, JsonValue
from rich.console import Console

from embedded import Description
from embedded.found import use_running
from rescind import Tool
from rescind.cli import (
    ExitCode,
    Order,
    Server,
    agent_command,
    checked,
    connect,
    operators,
    place,
    plan_command,
    profile,
    read_input,
    run,
    start,
    tools_command,
)
from rescind.plans import certified
from starter_business import FILE, ID, QUEUE, business


class Provider(StrEnum):
    """Where a program runs."""

    DOCKER = "docker"
    ECS = "ecs"


COMMAND = "python starter.py"
DIRECTORY = Path(os.environ.get("RESCIND_DIRECTORY", ".rescind"))
GATED = "chat.notify"
CERTIFICATES = Path(__file__).parent / "docs" / "certificates"


@cache
def stand_ins() -> Description | None:
    """The stand-ins, where the environment names no server and they run; nothing else is reached then."""
    return use_running(DIRECTORY, named=profile().address)


async def server() -> Server:
    """The server that the environment names, else the running stand-ins, else localhost:7233."""
    found = stand_ins()
    client = await connect()
    where = place(profile()) + (f", the stand-ins in {found.directory}" if found else "")
    typer.echo(f"Temporal: {where}", err=True)
    return Server(client, where, found.web_ui if found else None, os.environ.get("RESCIND_LEDGER_DSN"))


def ledger() -> str | None:
    """The ledger's connection string."""
    stand_ins()
    return os.environ.get("RESCIND_LEDGER_DSN")


app = operators(
    server,
    ledger=ledger,
    command=COMMAND,
    help="Provision environments, fulfil orders, book trips, and watch over their sagas.",
)


@app.command()
def provision(
    *,
    name: Annotated[
        str | None, typer.Option(help="The environment's name; the other options have defaults made of it.")
    ] = None,
    file: FILE = None,
    remote: Annotated[str, typer.Option(help="The git remote, as the worker calls it.")] = "app",
    branch: Annotated[str | None, typer.Option(help="The branch to create.")] = None,
    from_ref: Annotated[str, typer.Option("--from", help="Where the branch starts.")] = "main",
    bucket: Annotated[str | None, typer.Option(help="The bucket to create.")] = None,
    database: Annotated[str, typer.Option(help="The database, as the worker calls it.")] = "app",
    up: Annotated[str | None, typer.Option(help="SQL that changes the schema.")] = None,
    down: Annotated[str | None, typer.Option(help="SQL that takes the change back.")] = None,
    on: Annotated[Provider | None, typer.Option(help="Where the program runs.")] = None,
    image: Annotated[str, typer.Option(help="The program's image.")] = "rescind-demo:1",
    network: Annotated[str, typer.Option(help="The Docker network of the program.")] = "bridge",
    cluster: Annotated[str, typer.Option(help="The ECS cluster of the program.")] = "default",
    webhook: Annotated[str, typer.Option(help="The chat webhook, as the worker calls it.")] = "ops",
    text: Annotated[str | None, typer.Option(help="What the chat is told.")] = None,
    pre_approve: Annotated[
        list[str] | None,
        typer.Option(
            help=f"A tool that may run without asking anybody although it can't be undone: {GATED}."
        ),
    ] = None,
    workflow_id: ID = None,
    task_queue: QUEUE = "rescind",
) -> None:
    """Provision an environment: branch, bucket, schema, deployment, notification; all of it or nothing.

    Exit codes: 0 done; 1 undone; 2 bad input, nothing was started; 3 not clean, something needs a person;
    4 server or worker not reached; 70 a bug of this command; 130 Ctrl-C, and the saga goes on.
    """
    from workflows.provision_environment import (  # noqa: PLC0415  (the providers' clients take long)
        Environment,
        ProvisionEnvironment,
    )

    if file is not None:
        environment = read_input(file, Environment)
    elif name is not None:
        plain: dict[str, JsonValue] = {
            "branch": {"remote": remote, "branch": branch or f"env/{name}", "from_ref": from_ref},
            "bucket": {"bucket": bucket or f"env-{name}"},
            "migrate": _migration(name, database, up, down),
            "notification": {"webhook": webhook, "text": text or f"The environment {name} is there."},
            "pre_approved": list[JsonValue](pre_approve or ()),
        }
        environment = checked(
            plain | _deployment(on, name, image, network, cluster), Environment, source="The command line"
        )
    else:
        raise typer.BadParameter("give --name, or the whole input with --file")
    named = name or (file.stem if file else "")
    words = f"Provision {environment.branch.branch}: all five steps, or none"
    _begin(ProvisionEnvironment.run, environment, words, workflow_id or f"provision-{named}", task_queue)


def _migration(name: str, database: str, up: str | None, down: str | None) -> JsonValue:
    """The schema change of an environment: what was given, else a table of its settings."""
    table = f'"{name}_settings"'
    return {
        "database": database,
        "name": f"settings of {name}",
        "up": up or f"CREATE TABLE {table} (name text PRIMARY KEY, value text)",
        "down": down or f"DROP TABLE {table}",
        "restores": "equivalent" if up else "exact",
    }


def _deployment(
    on: Provider | None, name: str, image: str, network: str, cluster: str
) -> dict[str, JsonValue]:
    """The deployment where it was asked for, else where the stand-ins have an engine, else on ECS."""
    found = stand_ins()
    where = on or (Provider(found.containers.name) if found else Provider.ECS)
    if where is Provider.DOCKER:
        return {"container": {"service": name, "image": image, "network": network}}
    return {"service": {"service": name, "image": image, "cluster": cluster}}


def _begin(workflow: Any, wanted: BaseModel, words: str, workflow_id: str, task_queue: str) -> NoReturn:
    """Start a saga, follow it, and end with its exit code."""
    order = Order(workflow, wanted, workflow_id, task_queue, summary=words, details=_as_markdown(wanted))

    async def follow() -> ExitCode:
        return await start(await server(), order, Console(), command=COMMAND)

    raise typer.Exit(asyncio.run(follow()))


def _as_markdown(wanted: BaseModel) -> str:
    """What was asked for, for the Web UI."""
    steps = wanted.model_dump(mode="json", exclude_none=True, exclude={"pre_approved"})
    rows = [
        f"| {number} | {name} | `{_short(step)}` |" for number, (name, step) in enumerate(steps.items(), 1)
    ]
    return "\n".join(["What was asked for:", "", "| | what | with |", "|---|---|---|", *rows])


def _short(value: JsonValue) -> str:
    if isinstance(value, dict):
        value = ", ".join(f"{field}={each}" for field, each in value.items())
    words = " ".join(str(value).replace("|", "/").replace("`", "'").split())
    return words if len(words) <= 160 else words[:159] + "…"


def _tools() -> Iterable[Tool[Any, Any]]:
    """What a plan may use."""
    from activities.catalogue import CATALOGUE  # noqa: PLC0415  (the providers' clients take long)

    return CATALOGUE


business(app, _begin)
tools_command(app, _tools, grade_of=certified(CERTIFICATES))
plan_command(app, server, _tools, command=COMMAND, grade_of=certified(CERTIFICATES))
agent_command(app, server, _tools, command=COMMAND, grade_of=certified(CERTIFICATES))

if __name__ == "__main__":
    run(app)
