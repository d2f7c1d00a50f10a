"""Works on this application's sagas: `python worker.py`, or `python worker.py --embedded` with all stand-ins."""

import asyncio
import os
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from activities.catalogue import CATALOGUE
from activities.operations import ALERTS, NOTICES
from embedded import AlreadyRunningError, Description, Stack, StandInError, running
from embedded.found import use, use_running
from rescind import RescindPlugin
from rescind.cli import ExitCode, Server, Stopped, connect, place, profile, run, serve
from rescind.ledger import install
from rescind.plans import ExecutePlan
from rescind.recovery import Sweeping
from workflows.book_trip import BookTrip
from workflows.fulfil_order import FulfilOrder
from workflows.provision_environment import ProvisionEnvironment

WORKFLOWS = (ProvisionEnvironment, FulfilOrder, BookTrip, ExecutePlan)
LEDGER_LOGIN = "rescind_ledger_worker"
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def work(
    *,
    embedded: Annotated[
        bool, typer.Option("--embedded", help="Bring up the stand-ins too, and use nothing else.")
    ] = False,
    task_queue: Annotated[str, typer.Option(help="The task queue to poll.")] = "rescind",
    directory: Annotated[
        Path, typer.Option(envvar="RESCIND_DIRECTORY", help="The stand-ins' folder.")
    ] = Path(".rescind"),
    ui_port: Annotated[int, typer.Option(help="With --embedded: the Web UI's port; 0 takes any.")] = 8233,
) -> None:
    """Work on sagas until SIGTERM (exit code 0) or Ctrl-C (130); running steps are finished first.

    Without --embedded it uses the server that the environment or the Temporal profile names; where none is
    named, stand-ins that run already in the folder; else localhost:7233.
    """
    console = Console()
    with ExitStack() as stack:
        try:
            found = _bring_up(stack, directory, ui_port) if embedded else _find(directory)
        except StandInError as error:
            raise Stopped(str(error), ExitCode.UNREACHABLE) from None
        for note in found.notes if found else ():
            console.print(Text(note), soft_wrap=True)
        code = asyncio.run(_work(console, task_queue, found))
    raise typer.Exit(code)


def _find(directory: Path) -> Description | None:
    return use_running(directory, named=profile().address)


def _bring_up(stack: ExitStack, directory: Path, ui_port: int) -> Description:
    """Start the stand-ins for as long as this process lives, or use those that run already."""
    try:
        found = stack.enter_context(Stack(directory, ui_port=ui_port)).description
    except AlreadyRunningError:
        already = running(directory)
        if already is None:
            raise
        found = already
    use(found)
    install(os.environ["RESCIND_LEDGER_ADMIN_DSN"], workers=[LEDGER_LOGIN])
    return found


def _sweeping() -> Sweeping | None:
    """The sweeper looks every minute, or every RESCIND_SWEEP_EVERY seconds; with 0 that is left to other workers."""
    seconds = os.environ.get("RESCIND_SWEEP_EVERY") or "60"
    try:
        return Sweeping(every=timedelta(seconds=float(seconds))) if float(seconds) else None
    except ValueError:
        raise Stopped(
            f"RESCIND_SWEEP_EVERY is {seconds!r}; it takes seconds, at least 1, or 0 where no sweeper is wanted. The "
            "worker was not started.",
            ExitCode.BAD_INPUT,
        ) from None


async def _work(console: Console, task_queue: str, found: Description | None) -> ExitCode:
    dsn = os.environ.get("RESCIND_LEDGER_DSN")
    if not dsn:
        raise Stopped(
            "RESCIND_LEDGER_DSN is not set, so this worker has no ledger and was not started. Set it to the connection "
            "string of the ledger's worker login, or try `python worker.py --embedded`, which brings its own.",
            ExitCode.UNREACHABLE,
        )
    plugin = RescindPlugin(CATALOGUE, ledger=dsn, sweeping=_sweeping(), alerts=ALERTS)
    client = await connect(plugins=[plugin])
    where = place(profile()) + (f", the stand-ins in {found.directory}" if found else "")

    def ready() -> None:
        console.print(Text(f"Temporal: {where}"), soft_wrap=True)
        if found:
            console.print(Text(f"Web UI:   {found.web_ui}"), soft_wrap=True)
        console.print(
            Text(f"Worker:   process {os.getpid()} polls the task queue {task_queue!r}"), soft_wrap=True
        )

    server = Server(client, where)
    return await serve(
        server, WORKFLOWS, activities=NOTICES, task_queue=task_queue, console=console, ready=ready
    )


if __name__ == "__main__":
    run(app)
