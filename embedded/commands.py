"""What `python -m embedded` can do."""

import os
import signal
import time
from pathlib import Path
from types import FrameType
from typing import Annotated

import psutil
import typer
from rich.console import Console
from rich.table import Table

from embedded.environment import addresses, environment
from embedded.errors import StandInError
from embedded.ports import LOOPBACK
from embedded.processes import end_all
from embedded.stack import Stack
from embedded.state import Description, recorded, running

app = typer.Typer(
    add_completion=False, no_args_is_help=True, help="Local stand-ins for every outside system."
)
Folder = Annotated[
    Path, typer.Option(envvar="RESCIND_DIRECTORY", help="Where the data and addresses are kept.")
]
DIRECTORY = Path(".rescind")
Database = Annotated[
    str, typer.Option(envvar="RESCIND_SANDBOX_DSN", show_envvar=True, help="The PostgreSQL that keeps all.")
]


@app.command()
def up(
    directory: Folder = DIRECTORY,
    ui_port: Annotated[
        int | None,
        typer.Option(help="Port of the Web UI; 0 takes any free one. [default: 8233 if it is free]"),
    ] = None,
) -> None:
    """Starts all stand-ins and keeps them until Ctrl-C or SIGTERM."""
    console = Console()

    def stop(_number: int, _frame: FrameType | None) -> None:
        for one in (signal.SIGTERM, signal.SIGINT):
            signal.signal(one, signal.SIG_IGN)  # a second one must not cut the stop short
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    try:
        with Stack(directory, ui_port=ui_port) as stack:
            show(console, stack.description)
            watch(stack.description)
    except KeyboardInterrupt:
        console.print("All stand-ins are stopped; their data is kept.")
    except StandInError as error:
        console.print(f"[red]{error}[/red]", soft_wrap=True)
        raise typer.Exit(1) from None


def watch(stack: Description) -> None:
    """Returns never; raises `StandInError` when one of the servers has ended by itself."""
    while True:
        time.sleep(1)
        if dead := stack.dead():
            logs = ", ".join(dict.fromkeys(str(stack.services[name].log) for name in dead))
            raise StandInError(f"Ended by itself: {', '.join(dead)}. All stand-ins are stopped. See {logs}.")


def show(console: Console, stack: Description) -> None:
    """Prints where everything is, with process ids."""
    table = Table(title=f"Stand-ins in {stack.directory}")
    for heading in ("what", "where", "pid"):
        table.add_column(heading, overflow="fold")
    for name, service in stack.services.items():
        table.add_row(name, service.address, str(service.process.pid))
    table.add_row("Temporal's Web UI", stack.web_ui, "")
    table.add_row("containers", f"{stack.containers.name}: {stack.containers.why}", "")
    table.add_row("git", str(stack.directory / "git" / "app.git"), "")
    console.print(table)
    for note in stack.notes:
        console.print(note, soft_wrap=True)
    console.print("Ctrl-C stops them and keeps their data.")


@app.command()
def down(directory: Folder = DIRECTORY) -> None:
    """Stops the stand-ins of this folder, whoever started them."""
    found = recorded(Path(os.path.realpath(directory)))
    owner = found.owner.process() if found else None
    if found is None or owner is None:
        left = end_all(found.services.values()) if found else []
        typer.echo(
            f"Ended what a killed run had left: {', '.join(left)}." if left else "No stand-ins run here."
        )
        return
    owner.terminate()
    try:
        owner.wait(60)
    except psutil.TimeoutExpired:
        typer.echo(f"Process {owner.pid} holds the stand-ins and did not end within a minute.", err=True)
        raise typer.Exit(1) from None
    typer.echo(f"Stopped the stand-ins of process {owner.pid}; their data is kept.")


@app.command()
def world(directory: Folder = DIRECTORY) -> None:
    """Prints the branches, buckets, tables, containers and messages of running stand-ins."""
    from embedded.world import listing, snapshot  # noqa: PLC0415 - the providers' clients take a second to import

    found = running(directory)
    if found is None:
        typer.echo("No stand-ins run here. Start them with `make up`.", err=True)
        raise typer.Exit(1)
    Console().print(listing(snapshot(environment(found))))


@app.command()
def address(directory: Folder = DIRECTORY) -> None:
    """Prints the addresses of running stand-ins as `export` lines for a shell."""
    found = running(directory)
    if found is None:
        typer.echo("No stand-ins run here. Start them with `make up`.", err=True)
        raise typer.Exit(1)
    for name, value in addresses(found).items():
        typer.echo(f"export {name}='{value}'")


@app.command()
def sandbox(
    database: Database,
    host: str = LOOPBACK,
    port: int = 8080,
    mail_port: Annotated[int | None, typer.Option(help="Serve `mail` too, in the same process.")] = None,
    stripe_port: Annotated[int | None, typer.Option(help="Serve `stripe` too.")] = None,
) -> None:
    """Serves the CRM, flights, hotels, chat and the faults of all stand-ins until it is ended."""
    _serve(database, host, sandbox=port, mail=mail_port, stripe=stripe_port)


@app.command()
def mail(database: Database, host: str = LOOPBACK, port: int = 8025) -> None:
    """Receives mails by SMTP, and keeps them, until it is ended."""
    _serve(database, host, mail=port)


@app.command()
def stripe(database: Database, host: str = LOOPBACK, port: int = 8420) -> None:
    """Serves what Stripe's client asks, in test mode, until it is ended."""
    _serve(database, host, stripe=port)


def _serve(database: str, host: str, **wanted: int | None) -> None:
    import asyncio  # noqa: PLC0415 - the other commands need neither

    from embedded.providers import serve  # noqa: PLC0415 - FastAPI takes a second to import

    asyncio.run(serve(database, host, {name: port for name, port in wanted.items() if port is not None}))


@app.command()
def aws(
    data: Annotated[Path, typer.Option(help="File for the changes.")],
    host: str = LOOPBACK,
    port: int = 5000,
) -> None:
    """Serves S3 and ECS until it is ended."""
    from embedded.aws import serve  # noqa: PLC0415 - moto takes a second to import

    serve(host, port, data)
