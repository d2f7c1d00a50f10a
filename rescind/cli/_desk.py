"""The commands for what needs a person: `desk` shows it; `retry`, `resolve`, `waive`, `confirm`, `absent` answer it."""

import asyncio
import getpass
import json
from collections.abc import Awaitable, Callable
from typing import Annotated, TypeAlias

import typer
from pydantic import JsonValue
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rescind._recorded import in_words, inner, workflow_of
from rescind.cli._exit import ExitCode, Stopped
from rescind.cli._ledger import opened
from rescind.cli._say import say
from rescind.cli._server import Server
from rescind.ledger import OpenEffect, OpenSaga
from rescind.reconciliation import Verb
from rescind.reconciliation import _words as words

Connect = Callable[[], Awaitable[Server]]
_SHORT = 300
Saga: TypeAlias = Annotated[
    str, typer.Argument(metavar="SAGA", help="The workflow's id, or the saga's full id.")
]
Step: TypeAlias = Annotated[str, typer.Argument(metavar="STEP", help="The step as `desk` names it.")]
Who: TypeAlias = Annotated[
    str | None, typer.Option(help="Who says it, for the journal; by default your login name.")
]
Note: TypeAlias = Annotated[str | None, typer.Option(help="What was done, or why.")]
Needed: TypeAlias = Annotated[str, typer.Option(help="What was done, or why it may stay.")]


def desk_commands(app: typer.Typer, connect: Connect, ledger: Callable[[], str | None]) -> None:
    """Add the commands to an application's command line.

    Args:
        app: The command line.
        connect: Connects to Temporal as the application does.
        ledger: The ledger's connection string, asked for when it is needed.
    """

    def speak(verb: Verb, saga: str, step: str, who: str | None, **more: JsonValue) -> None:
        word: dict[str, JsonValue] = {"step": step, "who": who or login(), **more}
        raise typer.Exit(asyncio.run(say(connect, ledger(), saga, verb, word)))

    def desk(
        *,
        limit: Annotated[int, typer.Option(min=1, help="Print so many sagas at most, oldest first.")] = 50,
        as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
    ) -> None:
        """Print what needs a person: since when, what is known, and what to do."""
        asyncio.run(_desk(ledger(), limit, as_json=as_json))

    def retry(saga: Saga, step: Step, *, note: Note = None, who: Who = None) -> None:
        """Try to undo a step now; one in doubt is looked up again. Exit code 3: it is still open."""
        speak(Verb.RETRY, saga, step, who, note=note)

    def resolve(saga: Saga, step: Step, *, note: Needed, who: Who = None) -> None:
        """Say that a step was undone by hand. Exit code 3: its lookup disagrees, which is on record."""
        speak(Verb.RESOLVE, saga, step, who, note=note)

    def waive(saga: Saga, step: Step, *, note: Needed, who: Who = None) -> None:
        """Let a step stand; its saga is closed with it, and never called clean."""
        speak(Verb.WAIVE, saga, step, who, note=note)

    def confirm(
        saga: Saga,
        step: Step,
        *,
        result: Annotated[
            str | None, typer.Option(help="The step's result as JSON; by default what its lookup finds.")
        ] = None,
        note: Note = None,
        who: Who = None,
    ) -> None:
        """Say that a step in doubt took effect, with its result; it is undone then."""
        speak(Verb.CONFIRM, saga, step, who, note=note, result=_json(result))

    def absent(saga: Saga, step: Step, *, note: Note = None, who: Who = None) -> None:
        """Say that a step in doubt took no effect."""
        speak(Verb.ABSENT, saga, step, who, note=note)

    for command in (desk, retry, resolve, waive, confirm, absent):
        app.command()(command)


def login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        raise Stopped(
            "Your login name is not known, so nobody can see who says it. Nothing was sent. Give --who.",
            ExitCode.BAD_INPUT,
        ) from None


def _json(text: str | None) -> JsonValue:
    try:
        return None if text is None else json.loads(text)
    except ValueError as error:
        raise Stopped(f"--result is not JSON: {error}. Nothing was sent.", ExitCode.BAD_INPUT) from None


async def _desk(dsn: str | None, limit: int, *, as_json: bool) -> None:
    async with opened(dsn) as ledger:
        sagas = await ledger.desk(limit=limit)
    if as_json:
        typer.echo(json.dumps([_plain(saga) for saga in sagas], indent=2))
        return
    if not sagas:
        typer.echo("Nothing needs a person.")
        return
    console = Console()
    for saga in sagas:
        _print(console, saga)


def _print(console: Console, saga: OpenSaga) -> None:
    where = f" at {saga.failed_at}" if saga.failed_at else ""
    failed = f": failed{where}: {saga.error}" if saga.error else ""
    console.print(Text(f"{workflow_of(saga.id)}{failed}", "bold"), soft_wrap=True)
    table = Table(box=SIMPLE_HEAD, padding=(0, 1), show_edge=False)
    for name in ("step", "state", "since", "what is known", "what to do"):
        table.add_column(name, no_wrap=name in ("step", "state", "since"), overflow="fold")
    for effect in saga.effects:
        known = f"{in_words(effect.tool, effect.request)}; {(effect.error or 'no reason known')[:_SHORT]}"
        since = f"{effect.since.astimezone():%Y-%m-%d %H:%M}"
        table.add_row(
            *(_step(saga, effect), words.in_words(effect.how), since, Text(known), words.to_do(effect.how))
        )
    console.print(table)
    if saga.total > len(saga.effects):
        console.print(f"  and {saga.total - len(saga.effects)} more")
    console.print()


def _plain(saga: OpenSaga) -> JsonValue:
    return {
        "saga": inner(saga.id),
        "failed_at": saga.failed_at,
        "error": saga.error,
        "open": saga.total,
        "steps": [
            {
                "step": _step(saga, effect),
                "tool": effect.tool,
                "state": effect.state.value,
                "how": effect.how.value,
                "since": effect.since.isoformat(),
                "known": effect.error,
                "to_do": words.to_do(effect.how),
            }
            for effect in saga.effects
        ],
    }


def _step(saga: OpenSaga, effect: OpenEffect) -> str:
    return effect.key.removeprefix(f"{inner(saga.id)}/")
