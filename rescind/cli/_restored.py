"""The command after the ledger was restored from an older backup: it brings it back in step with Temporal."""

import asyncio
from collections.abc import Awaitable, Callable

import typer
from temporalio.service import RPCError

from rescind.cli._desk import Who, login
from rescind.cli._exit import ExitCode, Stopped
from rescind.cli._ledger import opened
from rescind.cli._server import Server, namespace_id
from rescind.ledger import LedgerBehind
from rescind.recovery import put_in_doubt, remembered

Connect = Callable[[], Awaitable[Server]]


def restored_command(app: typer.Typer, connect: Connect, ledger: Callable[[], str | None]) -> None:
    """Add the command to an application's command line."""

    def restored(*, who: Who = None) -> None:
        """Bring a ledger that was restored from an older backup in step with Temporal, so that effects start again.

        Stop all workers first. Steps that were under way when the newer ledger was lost are in doubt afterwards. Exit
        codes: 0 it is in step; 4 server or ledger not reached, and sagas go on waiting.
        """
        asyncio.run(in_step(connect, ledger(), who or login()))

    app.command()(restored)


async def in_step(connect: Connect, dsn: str | None, who: str) -> None:
    """Do what the command does, and say what was done.

    Raises:
        Stopped: Server or ledger were not reached; sagas go on waiting, and it can be done again.
    """
    server = await connect()
    try:
        async with opened(dsn) as ledger:
            space = await namespace_id(server.client)
            try:
                await ledger.compare(space, await remembered(server.client), is_look=False)
            except LedgerBehind as behind:
                typer.echo(f"{str(behind).partition(':')[0]}.")
            else:
                typer.echo("The ledger is in step with Temporal; nothing was changed.")
                return
            doubtful = await put_in_doubt(server.client, ledger, space)
            for key in doubtful:
                typer.echo(f"{key}: in doubt; it was under way, and the ledger had no record of it")
            await ledger.bring_in_step(space, who)
    except RPCError as error:
        raise Stopped(
            f"The Temporal server at {server.where} did not answer: {error.message}. Sagas go on waiting; give the "
            "command again.",
            ExitCode.UNREACHABLE,
        ) from None
    typer.echo(f"The ledger is in step again, with {len(doubtful)} steps in doubt. Start the workers.")
