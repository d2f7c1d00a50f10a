"""A small application's command line over the toy world: `python -m tests.rescind.cli.toy_program`."""

import asyncio
import json
import os
from typing import Annotated

import typer
from rich.console import Console

from rescind import RescindPlugin
from rescind.cli import (
    Order,
    Server,
    agent_command,
    connect,
    operators,
    place,
    plan_command,
    profile,
    run,
    serve,
    start,
)
from rescind.plans import ExecutePlan
from tests.rescind.toy_workflows import WORKFLOWS, MakeThings, Plan
from tests.rescind.toy_world import TOOLS, WORLDS

COMMAND = "toy"


def ledger() -> str | None:
    return os.environ.get("RESCIND_LEDGER_DSN")


async def server() -> Server:
    return Server(await connect(), place(profile()), "http://127.0.0.1:1", ledger())


app = operators(server, ledger=ledger, command=COMMAND, help="Make things.")


plan_command(app, server, lambda: TOOLS, command=COMMAND)
agent_command(app, server, lambda: TOOLS, command=COMMAND)


@app.command()
def make(
    things: list[str],
    *,
    workflow_id: str = "toy",
    task_queue: str = "toy",
    plan: Annotated[str, typer.Option(help="More of the plan, as JSON.")] = "{}",
) -> None:
    """Make things, one after the other."""
    wanted = Plan(**{"world": "toy", "things": things} | json.loads(plan))
    order = Order(MakeThings.run, wanted, workflow_id, task_queue, "make things", "| |\n|---|")

    async def begin() -> int:
        return await start(await server(), order, Console(), command=COMMAND)

    raise typer.Exit(asyncio.run(begin()))


@app.command()
def work(
    task_queue: str = "toy", world: Annotated[str, typer.Option(help="What goes wrong, as JSON.")] = "{}"
) -> None:
    """Work on what is made; `world` is the plan of the world `toy`."""
    WORLDS["toy"].plan.update(json.loads(world))

    async def work_on() -> int:
        client = await connect(plugins=[RescindPlugin(TOOLS, ledger=ledger() or "", sweeping=None)])
        here = Server(client, place(profile()))
        return await serve(
            here,
            [*WORKFLOWS, ExecutePlan],
            task_queue=task_queue,
            console=Console(),
            ready=lambda: typer.echo("ready"),
        )

    raise typer.Exit(asyncio.run(work_on()))


@app.command()
def break_down() -> None:
    """Have a bug."""
    raise KeyError("a bug")


if __name__ == "__main__":
    run(app)
