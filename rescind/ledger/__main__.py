"""The operator's command that installs the ledger: `python -m rescind.ledger install`."""

from typing import Annotated

import typer

from rescind.ledger._errors import LedgerError
from rescind.ledger._install import install

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Look after the database of the ledger.")


@app.callback()
def main() -> None:
    """Keep `install` a command of its own, also while it is the only one."""


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


if __name__ == "__main__":
    app()
