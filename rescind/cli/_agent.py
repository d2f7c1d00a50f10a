"""The command that has a model propose a plan, shows it, and runs it when a person says yes."""

from __future__ import annotations

import asyncio
import getpass
import json
import os
import sys
import uuid
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from rescind._catalogue import AnyTool
from rescind._visible import visible
from rescind.cli._commands import Connect
from rescind.cli._exit import ExitCode, Stopped
from rescind.cli._plan import as_markdown, picture
from rescind.cli._proposal import NO_MODEL, asked_for, proposal, sound
from rescind.cli._start import Order, start
from rescind.cli._tools import Tools
from rescind.plans import (
    Checked,
    Continuing,
    ExecutePlan,
    GradeOf,
    Plan,
    PlanOrder,
    check,
    preview,
    unverified,
)

if TYPE_CHECKING:
    from rescind.planner import Ask, Proposal


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What the command line asks for beside the plan."""

    yes: bool
    dry_run: bool
    save: Path | None
    continuations: int
    workflow_id: str
    task_queue: str
    command: str


def agent_command(
    app: typer.Typer, connect: Connect, tools: Tools, *, command: str, grade_of: GradeOf = unverified
) -> None:
    """Give an application the command `agent`.

    Args:
        app: The application.
        connect: Connects to Temporal as this application does.
        tools: The application's tools.
        command: The program as a person calls it, for the hints that it prints.
        grade_of: What the tools' certificates prove.
    """

    @app.command(name="agent")
    def agent(
        goal: Annotated[str, typer.Argument(help="What is to be done, in words.")],
        *,
        model: Annotated[str, typer.Option(envvar="RESCIND_MODEL", help="The model, as provider:name.")] = "",
        only: Annotated[
            list[str] | None,
            typer.Option("--tools", help="Tools that the plan may use, with commas between; else all."),
        ] = None,
        pre_approve: Annotated[
            list[str] | None, typer.Option(help="A tool that may run although it can't be undone.")
        ] = None,
        yes: Annotated[
            bool, typer.Option("--yes", help="Run the plan, and what it goes on with, without asking.")
        ] = False,
        dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the plan.")] = False,
        save: Annotated[Path | None, typer.Option(help="Write the plan to this new file, as JSON.")] = None,
        continuations: Annotated[
            int,
            typer.Option(
                min=0,
                max=10,
                help="How often the model may go on after a failed step; it sees results then. With 0 all is undone.",
            ),
        ] = 0,
        patience: Annotated[
            float, typer.Option(min=1, max=3600, help="Seconds that the model may take for an answer.")
        ] = 120.0,
        workflow_id: Annotated[str | None, typer.Option(help="By default a new one.")] = None,
        task_queue: Annotated[str, typer.Option(help="The task queue that the workers poll.")] = "rescind",
    ) -> None:
        """Let a model propose a plan; it is checked, shown, and run when you say yes: all of its steps, or none.

        Exit codes: 0 done, or only shown; 1 undone; 2 bad input, no sound plan, or you said no: nothing was started;
        3 not clean, something needs a person; 4 model, server or worker not reached; 130 Ctrl-C.
        """
        _refuse(model, yes=yes, dry_run=dry_run, save=save)
        catalogue = list(tools())
        asked = asked_for(
            goal,
            model=model,
            catalogue=catalogue,
            only=only or [],
            approved=pre_approve or [],
            patience=patience,
        )
        wanted = _Wanted(
            yes,
            dry_run,
            save,
            continuations,
            workflow_id or f"agent-{uuid.uuid4().hex[:8]}",
            task_queue,
            command,
        )
        queue = None if dry_run else task_queue
        with _interruptible():
            given = asyncio.run(
                proposal(connect, asked, catalogue, workflow_id=wanted.workflow_id, task_queue=queue)
            )
        plan = sound(given)
        allowed = [tool for tool in catalogue if tool.name in asked.tools]
        found = check(plan, allowed, pre_approved=asked.pre_approved)
        _show(found, plan, allowed, asked, grade_of)
        with _interruptible():
            agreed = _agreed(plan, wanted)
        if agreed:
            order = partial(_order, asked, given, found, wanted)
            raise typer.Exit(asyncio.run(_run(connect, order, catalogue, asked, wanted)))


async def _run(
    connect: Connect,
    order: Callable[[Continuing | None], Order],
    catalogue: Sequence[AnyTool],
    asked: Ask,
    wanted: _Wanted,
) -> ExitCode:
    """Run the plan and follow it; for as long as this command does, it asks the model how to go on."""
    server, console = await connect(), Console()
    if not wanted.continuations:
        return await start(server, order(None), console, command=wanted.command)
    from rescind.planner import answering  # noqa: PLC0415  (only who plans has it)

    async with answering(server.client, catalogue) as queue:
        continuing = Continuing(ask=asked, task_queue=queue, times=wanted.continuations, approved=wanted.yes)
        code = await start(server, order(continuing), console, command=wanted.command)
    if code is ExitCode.INTERRUPTED:
        typer.echo(
            "If a step of it fails from now on, nobody asks the model how to go on, and all is undone."
        )
    return code


def _refuse(model: str, *, yes: bool, dry_run: bool, save: Path | None) -> None:
    """Refuse before anything is asked what could not be gone through with."""
    if not model:
        raise Stopped(NO_MODEL, ExitCode.BAD_INPUT)
    if not (yes or dry_run or sys.stdin.isatty()):
        raise Stopped(
            "Nobody can be asked here, since the input is no terminal. Nothing was started. Give --yes to run the "
            "plan without asking, or --dry-run to only see it.",
            ExitCode.BAD_INPUT,
        )
    if save and (save.exists() or not save.parent.is_dir()):
        what = "is there already" if save.exists() else "is in no folder that there is"
        raise Stopped(f"{save} {what}. Nothing was started. Give --save another name.", ExitCode.BAD_INPUT)


@contextmanager
def _interruptible() -> Generator[None]:
    """Ctrl-C before the plan runs, and an end of the input where a yes or no was asked for."""
    try:
        yield
    except (KeyboardInterrupt, typer.Abort):
        raise Stopped("\nInterrupted. Nothing was run.", ExitCode.INTERRUPTED) from None


def _show(found: Checked, plan: Plan, allowed: Sequence[AnyTool], asked: Ask, grade_of: GradeOf) -> None:
    """All of the plan, since the dry run below it shortens long arguments, and nobody agrees to what he can't see."""
    console = Console()
    console.print(Text("The plan that the model proposes, in full:", "bold"))
    console.print(Text(visible(_as_json(plan))), soft_wrap=True)
    console.print(Text("\nWhat it would do:\n", "bold"))
    steps = preview(found, allowed, pre_approved=asked.pre_approved, grade_of=grade_of)
    console.print(picture(plan, steps, found.warnings))


def _as_json(plan: Plan) -> str:
    return json.dumps(plan.model_dump(mode="json", exclude_defaults=True), indent=2, ensure_ascii=False)


def _agreed(plan: Plan, wanted: _Wanted) -> bool:
    """Whether it is to be run; a no ends the command."""
    if wanted.save:
        wanted.save.write_text(_as_json(plan) + "\n", encoding="utf-8")
        typer.echo(f"Written to {wanted.save}; to run it later: {wanted.command} plan {wanted.save}")
    if wanted.dry_run:
        typer.echo("\nA dry run: nothing was started.")
        return False
    if wanted.yes or typer.confirm("\nRun this plan?"):
        return True
    raise Stopped("You said no. Nothing was run.", ExitCode.BAD_INPUT)


def _order(
    asked: Ask,
    given: Proposal,
    found: Checked,
    wanted: _Wanted,
    continuing: Continuing | None,
) -> Order:
    plan = sound(given)
    who = f"nobody looked at it (--yes, by {_user()})" if wanted.yes else f"{_user()} said yes to it"
    by = f"Proposed by `{asked.model}` in answer {given.answers}; {who}."
    return Order(
        ExecutePlan.run,
        PlanOrder(plan=plan, pre_approved=asked.pre_approved, continuing=continuing),
        wanted.workflow_id,
        wanted.task_queue,
        summary=plan.goal[:200],
        details=f"{by}\n\n{as_markdown(found, plan)}",
    )


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"
