"""The operator's commands for the ledger's database: `python -m rescind.ledger install` and `verify`."""

import asyncio
from typing import Annotated

import typer

from rescind.ledger._client import Ledger
from rescind.ledger._errors import LedgerError
from rescind.ledger._install import install
from rescind.ledger._rebuild import Verified

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Look after the database of the ledger.")


NOT_TO_BE_TRUSTED = 3
"""The exit code of `verify` when a ledger contradicts its journal."""


@app.command(name="install")
def install_command(
    dsn: Annotated[
        str, typer.Option(envvar="RESCIND_LEDGER_ADMIN_DSN", help="Connection string of an administrator.")
    ],
    worker: Annotated[list[str] | None, typer.Option(help="A login role for workers.")] = None,
    reader: Annotated[list[str] | None, typer.Option(help="A login role that may read the views.")] = None,
) -> None:
    """Install the ledger, or bring it up to date; it is safe to run this again."""
    try:
        version = install(dsn, workers=worker or (), readers=reader or ())
    except LedgerError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error
    typer.echo(f"The ledger is installed, version {version}.")


@app.command()
def verify(
    dsn: Annotated[
        str, typer.Option(envvar="RESCIND_LEDGER_DSN", help="Connection string of a worker's role.")
    ],
    saga: Annotated[str, typer.Option(help="Only the sagas whose full id starts like this.")] = "",
) -> None:
    """Follow every chain of hashes, and compare every row with what its journal says; nothing is changed."""
    try:
        found = asyncio.run(_verified(dsn, saga))
    except LedgerError as error:
        typer.echo(f"The ledger was not compared: {error}", err=True)
        raise typer.Exit(1) from error
    counts = f"{found.sagas} sagas, {found.effects} effects, {found.lines} lines of the journal"
    if not found.differences:
        typer.echo(f"{counts}: every chain is whole, and every row is as its journal says.")
        return
    for difference in found.differences:
        typer.echo(str(difference))
    typer.echo(
        f"{counts}: {len(found.differences)} differences. Nothing was changed. Somebody has written to the database by "
        "other ways than the ledger's functions, or it is damaged: stop the workers, and restore it from a backup that "
        "this command finds whole.",
        err=True,
    )
    raise typer.Exit(NOT_TO_BE_TRUSTED)


async def _verified(dsn: str, saga: str) -> Verified:
    async with Ledger(dsn, connections=1) as ledger:
        return await ledger.verify(saga)


if __name__ == "__main__":
    app()
