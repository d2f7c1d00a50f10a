"""The commands that any application with sagas needs: show, watch, list, undo, and those for what needs a person."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text
from temporalio.client import WorkflowHandle
from temporalio.service import RPCError

from rescind._recorded import inner, report_of, workflow_of
from rescind.cli._approvals import approval_commands
from rescind.cli._desk import desk_commands
from rescind.cli._exit import ExitCode, Stopped
from rescind.cli._follow import follow
from rescind.cli._ledger import find, needs_person, opened
from rescind.cli._restored import restored_command
from rescind.cli._server import RPC_LIMIT, Server, namespace_id
from rescind.cli._start import watch_again
from rescind.cli._tables import ending, sagas_table
from rescind.cli._undo import undo_command
from rescind.ledger import SagaView

Connect = Callable[[], Awaitable[Server]]
Named = Annotated[str, typer.Argument(metavar="SAGA", help="The workflow's id, or the saga's full id.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def operators(connect: Connect, *, ledger: Callable[[], str | None], command: str, help: str) -> typer.Typer:  # noqa: A002  (typer's own word)
    """An application's command line, with the commands that every application needs.

    Args:
        connect: Connects to Temporal as this application does; raises `Stopped` when nobody answers.
        ledger: The ledger's connection string, asked for when it is needed.
        command: The program as a person calls it, for the hints that it prints.
        help: What the program is.
    """
    app = typer.Typer(add_completion=False, no_args_is_help=True, help=help, pretty_exceptions_enable=False)

    def show(saga: Named, *, as_json: AsJson = False) -> None:
        """Print what a saga did and what is left of it, as the ledger has it."""
        _show(asyncio.run(_find(connect, ledger(), saga)), as_json=as_json)

    def watch(saga: Named) -> None:
        """Show a saga's steps until it ends; the exit code says how it ended."""
        raise typer.Exit(asyncio.run(_watch(connect, saga, command)))

    def list_sagas(
        *,
        limit: Annotated[int, typer.Option(min=1, help="Print so many at most, newest first.")] = 20,
        as_json: AsJson = False,
    ) -> None:
        """List the newest sagas, as the ledger has them."""
        asyncio.run(_list(ledger(), limit, as_json=as_json))

    app.command()(show)
    app.command()(watch)
    app.command(name="list")(list_sagas)
    desk_commands(app, connect, ledger)
    approval_commands(app, connect, ledger)
    undo_command(app, connect, ledger, command)
    restored_command(app, connect, ledger)
    return app


async def _find(connect: Connect, dsn: str | None, saga: str) -> SagaView:
    async with opened(dsn) as ledger:
        view = await find(ledger, saga, await _namespace(connect))
    if view is None:
        raise Stopped(f"The ledger has no saga {saga!r}.", ExitCode.BAD_INPUT)
    return view


async def _namespace(connect: Connect) -> str | None:
    """The namespace's id, or None while Temporal is away: the ledger can be read without it."""
    try:
        return await _namespace_of(await connect())
    except Stopped:
        return None


async def _namespace_of(server: Server) -> str | None:
    try:
        return await namespace_id(server.client)
    except RPCError:
        return None


def _show(view: SagaView, *, as_json: bool) -> None:
    report = report_of(view)
    if as_json:
        typer.echo(report.model_dump_json(indent=2))
        return
    console = Console()
    console.print(Text(f"{workflow_of(view.id)}: {view.state.value} in the ledger"), soft_wrap=True)
    console.print(ending(report))


async def _watch(connect: Connect, saga: str, command: str) -> ExitCode:
    server = await connect()
    return await follow(
        server, await _handle(server, saga), Console(), watch_again(command, saga), command=command
    )


async def _handle(server: Server, saga: str) -> WorkflowHandle[Any, Any]:
    """The workflow of this id, or of a saga's full id, which ends with the first run's."""
    handle = server.client.get_workflow_handle(saga)
    try:
        await handle.describe(rpc_timeout=RPC_LIMIT)
    except RPCError:
        workflow_id, _, run = saga.rpartition("/")
        space = await _namespace_of(server)
        if workflow_id:
            return server.client.get_workflow_handle(workflow_id.removeprefix(f"{space}/"), run_id=run)
    return handle


async def _list(dsn: str | None, limit: int, *, as_json: bool) -> None:
    async with opened(dsn) as ledger:
        sagas = await ledger.sagas("", limit)
    if as_json:
        plain = [
            {
                "saga": inner(each.id),
                "state": each.state.value,
                "standing": each.standing,
                "left_standing": each.left_standing,
            }
            for each in sagas
        ]
        typer.echo(json.dumps(plain, indent=2))
        return
    if not sagas:
        typer.echo("The ledger has no saga.")
        return
    needs = [each.id for each in sagas if needs_person(each)]
    Console().print(sagas_table([(workflow_of(each.id), each) for each in sagas], needs=needs))
