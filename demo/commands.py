"""What `make demo` and `make up` run."""

import signal
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from embedded import AlreadyRunningError, Description, Stack, StandInError, environment, running
from embedded.processes import Leashed
from rescind.cli import ExitCode, Stopped
from rescind.ledger import install

LEDGER_LOGIN = "rescind_ledger_worker"
QUICK_DEATH = 5.0  # seconds; a worker that ends sooner again and again can't work at all
QUICK_DEATHS = 3
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
Folder = Annotated[
    Path, typer.Option(envvar="RESCIND_DIRECTORY", help="Where the stand-ins keep their data.")
]
DIRECTORY = Path(".rescind")


@app.callback(invoke_without_command=True)
def demo(context: typer.Context, *, directory: Folder = DIRECTORY) -> None:
    """Run three agents in real systems, to success and to failures at their steps, and compare the world."""
    if context.invoked_subcommand is not None:
        return
    with _refusals():
        code = _demo(Console(), directory)
    raise typer.Exit(code)


@app.command()
def up(
    *,
    directory: Folder = DIRECTORY,
    ui_port: Annotated[int, typer.Option(help="The Web UI's port; 0 takes any free one.")] = 8233,
) -> None:
    """Keep the stand-ins and a worker running until Ctrl-C, on the data of the demo."""
    signal.signal(signal.SIGTERM, _interrupt)
    console = Console()
    with _refusals():
        try:
            _keep_up(console, directory, ui_port)
        except KeyboardInterrupt:
            console.print("All is stopped; the data is kept.")


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


@contextmanager
def _refusals() -> Generator[None]:
    try:
        yield
    except StandInError as error:
        raise Stopped(str(error), ExitCode.UNREACHABLE) from None


def _demo(console: Console, directory: Path) -> int:
    # The providers' clients take long to import, and `up` needs none of them.
    from demo.case import Place  # noqa: PLC0415
    from demo.cases import cases, with_revoked_webhook  # noqa: PLC0415
    from demo.story import summary, tell  # noqa: PLC0415
    from demo.workers import start_worker, stop_worker  # noqa: PLC0415

    began = time.monotonic()
    with _stand_ins(directory) as stack:
        place = Place(stack, environment(stack))
        install(place.environment["RESCIND_LEDGER_ADMIN_DSN"], workers=[LEDGER_LOGIN])
        worker = start_worker(stack, with_revoked_webhook(place.environment))
        try:
            _introduce(console, stack, worker)
            told = tell(place, cases(stack.containers.name), console)
        finally:
            stop_worker(worker)
    console.print()
    console.print(summary(told))
    right = all(one.right for one in told)
    _close(console, right=right, seconds=time.monotonic() - began)
    return ExitCode.DONE if right else ExitCode.NOT_CLEAN


@contextmanager
def _stand_ins(directory: Path) -> Generator[Description]:
    """The stand-ins of the folder: those that run already, or new ones on any free port."""
    try:
        with Stack(directory, ui_port=0) as started:
            yield started.description
    except AlreadyRunningError:
        found = running(directory)
        if found is None:
            raise
        yield found


def _introduce(console: Console, stack: Description, worker: Leashed) -> None:
    console.print(_places(stack, worker))
    for note in stack.notes:
        console.print(Text(note), soft_wrap=True)


def _places(stack: Description, worker: Leashed) -> Table:
    table = Table(title=f"What runs, with its data in {stack.directory}", title_justify="left")
    for heading in ("what", "where", "pid"):
        table.add_column(heading, overflow="fold")
    for name, service in stack.services.items():
        table.add_row(name, service.address, str(service.process.pid))
    table.add_row("git", str(stack.directory / "git" / "app.git"), "")
    table.add_row("containers", f"{stack.containers.name}: {stack.containers.why}", "")
    table.add_row("worker", f"its log is {worker.service.log}", str(worker.service.process.pid))
    table.add_row("Temporal's Web UI", stack.web_ui, "", style="bold")
    return table


def _close(console: Console, *, right: bool, seconds: float) -> None:
    if right:
        words, style = "Every failure left the world exactly as it was", "green"
    else:
        words, style = "NOT as it should be: the table says where", "bold red"
    console.print(Text(f"\n{words} ({seconds:.0f} s).", style))
    console.print("\nTo look at the same runs in Temporal's Web UI:")
    console.print("    make up       and open the address that it prints")
    console.print("    make world    to see what the successful run has left in the systems", highlight=False)


def _keep_up(console: Console, directory: Path, ui_port: int) -> None:
    from demo.workers import start_worker, stop_worker  # noqa: PLC0415

    with Stack(directory, ui_port=ui_port) as started:
        stack = started.description
        settings = environment(stack)
        install(settings["RESCIND_LEDGER_ADMIN_DSN"], workers=[LEDGER_LOGIN])
        worker = start_worker(stack, settings)
        try:
            _introduce(console, stack, worker)
            console.print("Ctrl-C finishes the running steps, stops all, and keeps the data.")
            deaths = 0
            while True:
                began = time.monotonic()
                code = _until_ended(stack, worker)
                deaths = deaths + 1 if time.monotonic() - began < QUICK_DEATH else 0
                if deaths >= QUICK_DEATHS:
                    raise StandInError(f"The worker ends again and again. See {worker.service.log}.")
                old = worker.service.process.pid
                worker = start_worker(stack, settings)
                console.print(
                    f"The worker {old} has ended (exit code {code}); process {worker.service.process.pid} goes on."
                )
        finally:
            stop_worker(worker)


def _until_ended(stack: Description, worker: Leashed) -> int:
    """The worker's exit code, once it has ended; raises `StandInError` when a server has."""
    while (code := worker.leash.poll()) is None:
        if dead := stack.dead():
            raise StandInError(
                f"Ended by itself: {', '.join(dead)}. All is stopped. See {stack.directory}/log."
            )
        time.sleep(0.5)
    return code
