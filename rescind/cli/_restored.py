"""The command after the ledger was restored from an older backup: it brings it back in step with Temporal."""

import asyncio
from collections.abc import Awaitable, Callable

import typer
from temporalio.service import RPCError

from rescind._states import RecordState
from rescind.cli._desk import Who, login
from rescind.cli._exit import ExitCode, Stopped
from rescind.cli._ledger import opened
from rescind.cli._server import Server, namespace_id
from rescind.ledger import LedgerBehind
from rescind.recovery import mistrust_what_was_lost, remembered

Connect = Callable[[], Awaitable[Server]]

_FOUND = {
    RecordState.IN_DOUBT: "in doubt; it may have been called, and the ledger has lost what was known of it",
    RecordState.INTENDED: "it may have been called; it is settled like a call whose reply was lost",
}


def restored_command(app: typer.Typer, connect: Connect, ledger: Callable[[], str | None]) -> None:
    """Add the command to an application's command line."""

    def restored(*, who: Who = None) -> None:
        """Bring a ledger that was restored from an older backup in step with Temporal, so that effects start again.

        Stop all workers first. Steps that may have been called in the time that was lost are in doubt afterwards. Exit
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
            mistrusted = await mistrust_what_was_lost(server.client, ledger, space)
            for key, state in mistrusted.items():
                typer.echo(f"{key}: {_FOUND[state]}")
            await ledger.bring_in_step(space, who)
    except RPCError as error:
        raise Stopped(
            f"The Temporal server at {server.where} did not answer: {error.message}. Sagas go on waiting; give the "
            "command again.",
            ExitCode.UNREACHABLE,
        ) from None
    doubtful = list(mistrusted.values()).count(RecordState.IN_DOUBT)
    typer.echo(f"The ledger is in step again, with {doubtful} steps in doubt. Start the workers.")
