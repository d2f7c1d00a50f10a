"""The commands for points of no return: `approvals` shows what waits for people; `approve` and `reject` answer it."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, cast

import typer
from pydantic import JsonValue
from pydantic_core import to_json
from rich.console import Console
from rich.text import Text
from temporalio.client import WorkflowUpdateFailedError, WorkflowUpdateRPCTimeoutOrCancelledError
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from rescind._details import in_people
from rescind._recorded import in_words, inner, is_short, workflow_of
from rescind._visible import visible
from rescind._workflow import deepest
from rescind.approvals import Verdict
from rescind.approvals._words import heard
from rescind.cli._desk import Note, Saga, Who, login
from rescind.cli._exit import ExitCode, Stopped
from rescind.cli._ledger import opened
from rescind.cli._server import Server
from rescind.ledger import OpenGate

Connect = Callable[[], Awaitable[Server]]
Step = Annotated[
    str | None, typer.Option(help="The step as `approvals` names it; needed where several of the saga wait.")
]
Reason = Annotated[str, typer.Option("--note", help="Why it must not be done.")]
_TAKEN_WITHIN = 20.0  # seconds until a worker has taken the word
_MANY = 10_000  # questions looked through for those of one saga


def approval_commands(app: typer.Typer, connect: Connect, ledger: Callable[[], str | None]) -> None:
    """Add the commands to an application's command line.

    Args:
        app: The command line.
        connect: Connects to Temporal as the application does.
        ledger: The ledger's connection string, asked for when it is needed.
    """

    def say(verdict: Verdict, saga: str, step: str | None, who: str | None, note: str | None) -> None:
        word: dict[str, JsonValue] = {"who": who or login(), "note": note}
        asyncio.run(_say(connect, ledger(), verdict, (saga, step), word))

    def approvals(
        *,
        limit: Annotated[int, typer.Option(min=1, help="Print so many at most, oldest first.")] = 50,
        as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
    ) -> None:
        """Print what waits for approval: since when, for what, who has approved it, and until when."""
        asyncio.run(_approvals(ledger(), limit, as_json=as_json))

    def approve(saga: Saga, *, step: Step = None, note: Note = None, who: Who = None) -> None:
        """Let a step that can't be undone be done. Exit code 2: it was not taken, the message says why."""
        say(Verdict.APPROVE, saga, step, who, note)

    def reject(saga: Saga, *, note: Reason, step: Step = None, who: Who = None) -> None:
        """Refuse a step that can't be undone: everything before it is undone, and the saga has failed."""
        say(Verdict.REJECT, saga, step, who, note)

    for command in (approvals, approve, reject):
        app.command()(command)


async def _approvals(dsn: str | None, limit: int, *, as_json: bool) -> None:
    async with opened(dsn) as ledger:
        gates = await ledger.gates(limit=limit)
    if as_json:
        typer.echo(json.dumps([_plain(gate) for gate in gates], indent=2))
        return
    if not gates:
        typer.echo("Nothing waits for approval.")
        return
    console = Console()
    for gate in gates:
        console.print(Text(f"{_workflow(gate)} {_step(gate)}", "bold"), soft_wrap=True)
        console.print(Text("\n".join(f"  {line}" for line in _lines(gate))), soft_wrap=True)


def _lines(gate: OpenGate) -> list[str]:
    since, until = (f"{time.astimezone():%Y-%m-%d %H:%M}" for time in (gate.asked, gate.until))
    by = ", ".join(f"{each.who} ({each.note})" if each.note else each.who for each in gate.given)
    return [
        in_words(_tool(gate), _shown(gate)["request"]),
        *_unsaid(_shown(gate)["request"]),
        f"waits since {since}, until {until}; approved by {by or 'nobody'}, it takes {in_people(gate.people)}",
        f"approve {_workflow(gate)} --step {_step(gate)}, or reject",
    ]


def _unsaid(request: JsonValue) -> list[str]:
    """What the step's words leave out of its request, whole: nobody approves what he can't see."""
    fields = request if isinstance(request, dict) else {"request": request}
    return [
        line
        for name, value in fields.items()
        if not is_short(value) or "\n" in str(value)
        for line in _whole(name, value if isinstance(value, str) else to_json(value).decode())
    ]


def _whole(name: str, text: str) -> list[str]:
    lines = visible(text).splitlines()
    return [f"{name}: {lines[0]}"] if len(lines) == 1 else [f"{name}:", *(f"    {line}" for line in lines)]


def _plain(gate: OpenGate) -> JsonValue:
    return {
        "saga": inner(gate.saga),
        **_shown(gate),
        "digest": gate.digest,
        "people": gate.people,
        "approved_by": [
            {"who": each.who, "note": each.note, "at": each.at.isoformat()} for each in gate.given
        ],
        "since": gate.asked.isoformat(),
        "until": gate.until.isoformat(),
    }


async def _say(
    connect: Connect,
    dsn: str | None,
    verdict: Verdict,
    saga: tuple[str, str | None],
    said: dict[str, JsonValue],
) -> None:
    async with opened(dsn) as ledger:
        gate = _one(await ledger.gates(limit=_MANY), *saga)
    word: dict[str, JsonValue] = {"step": _step(gate), "digest": gate.digest, **said}
    try:
        heard(verdict, word)
    except ApplicationError as error:
        raise Stopped(f"{error}.", ExitCode.BAD_INPUT) from None
    server = await connect()
    console = Console()
    console.print(Text(in_words(_tool(gate), _shown(gate)["request"]), "dim"), soft_wrap=True)
    console.print(Text(await _answered(server, verdict, gate, word)), soft_wrap=True)


def _one(gates: list[OpenGate], saga: str, step: str | None) -> OpenGate:
    """The one question that is meant."""
    of_saga = [
        each
        for each in gates
        if saga in (each.saga, inner(each.saga), workflow_of(each.saga), _workflow(each))
    ]
    meant = [each for each in of_saga if step in (None, _step(each))]
    if len(meant) == 1:
        return meant[0]
    names = ", ".join(_step(each) for each in of_saga) or "nothing"
    why = (
        "Several steps wait; name one with --step"
        if meant
        else f"Nothing like this of {saga} waits for approval"
    )
    raise Stopped(f"{why}. Nothing was sent. Waiting: {names}.", ExitCode.BAD_INPUT)


async def _answered(server: Server, verdict: Verdict, gate: OpenGate, word: dict[str, JsonValue]) -> str:
    handle = server.client.get_workflow_handle(_workflow(gate))
    try:
        async with asyncio.timeout(_TAKEN_WITHIN):
            return str(await handle.execute_update(verdict.value, word, result_type=str))
    except WorkflowUpdateFailedError as error:
        raise Stopped(f"{deepest(error.cause)}.", ExitCode.BAD_INPUT) from None
    except (TimeoutError, WorkflowUpdateRPCTimeoutOrCancelledError):
        raise Stopped(
            f"No worker of {handle.id} answered within {_TAKEN_WITHIN:.0f} seconds, so the word may be taken or not: "
            "look with `approvals`.",
            ExitCode.UNREACHABLE,
        ) from None
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            raise Stopped(
                f"{handle.id} does not run any more. Nothing was changed.", ExitCode.BAD_INPUT
            ) from None
        raise Stopped(
            f"The Temporal server at {server.where} did not answer: {error.message}. Whether the word was taken is not "
            "known: look with `approvals`.",
            ExitCode.UNREACHABLE,
        ) from None


def _shown(gate: OpenGate) -> dict[str, Any]:
    return cast("dict[str, Any]", gate.shown)


def _step(gate: OpenGate) -> str:
    return str(_shown(gate)["step"])


def _tool(gate: OpenGate) -> str:
    return str(_shown(gate)["tool"])


def _workflow(gate: OpenGate) -> str:
    return str(_shown(gate)["workflow"])
