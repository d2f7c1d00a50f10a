"""The command that checks a plan, shows what it would do, and runs it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from pydantic import JsonValue
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from rescind._visible import visible
from rescind.cli._commands import Connect
from rescind.cli._exit import ExitCode, Stopped
from rescind.cli._input import read_plain
from rescind.cli._start import Order, start
from rescind.cli._tools import Tools
from rescind.plans import (
    Checked,
    ExecutePlan,
    GradeOf,
    Plan,
    PlanOrder,
    Problem,
    StepPreview,
    check,
    preview,
    unverified,
)
from rescind.plans._in_words import lines

_SHOWN = 50
"""Problems that are printed for a person; --json has them all."""


def plan_command(
    app: typer.Typer, connect: Connect, tools: Tools, *, command: str, grade_of: GradeOf = unverified
) -> None:
    """Give an application the command `plan`.

    Args:
        app: The application.
        connect: Connects to Temporal as this application does.
        tools: The application's tools.
        command: The program as a person calls it, for the hints that it prints.
        grade_of: What the tools' certificates prove.
    """

    @app.command(name="plan")
    def run_plan(
        file: Annotated[Path, typer.Argument(help="The plan, as JSON or YAML.")],
        *,
        dry_run: Annotated[
            bool, typer.Option("--dry-run", help="Only print what it would do, and undo.")
        ] = False,
        as_json: Annotated[
            bool, typer.Option("--json", help="Print the dry run, or what is wrong, as JSON.")
        ] = False,
        pre_approve: Annotated[
            list[str] | None,
            typer.Option(help="A tool that may run without asking anybody although it can't be undone."),
        ] = None,
        workflow_id: Annotated[str | None, typer.Option(help="By default the file's name.")] = None,
        task_queue: Annotated[str, typer.Option(help="The task queue that the workers poll.")] = "rescind",
    ) -> None:
        """Run a plan: all of its steps, or none. It is checked first; exit code 2 says that nothing was started.

        Exit codes: 0 done; 1 undone; 2 the plan or the usage is wrong; 3 not clean, something needs a person;
        4 server or worker not reached; 130 Ctrl-C, and the plan goes on.
        """
        approved, catalogue = pre_approve or [], list(tools())
        found = check(read_plain(file), catalogue)
        plan = _sound(found, file, as_json=as_json)
        if dry_run:
            steps = preview(found, catalogue, pre_approved=approved, grade_of=grade_of)
            _print(plan, steps, found.warnings, as_json=as_json)
            return
        order = Order(
            ExecutePlan.run,
            PlanOrder(plan=plan, pre_approved=approved),
            workflow_id or f"plan-{file.stem}",
            task_queue,
            summary=(plan.goal or f"The plan {file.name}")[:200],
            details=as_markdown(found, plan),
        )
        raise typer.Exit(asyncio.run(run(connect, order, found.warnings, command)))


async def run(connect: Connect, order: Order, warnings: Sequence[Problem], command: str) -> ExitCode:
    """Print the warnings, run the plan and follow it to its end."""
    console = Console()
    for warning in warnings[:_SHOWN]:
        console.print(Text(f"Note: {warning}", "yellow"), soft_wrap=True)
    return await start(await connect(), order, console, command=command)


def _sound(found: Checked, file: Path, *, as_json: bool) -> Plan:
    """The plan, or the end with everything that is wrong with it."""
    if found.plan is not None and not found.problems:
        return found.plan
    if as_json:
        typer.echo(json.dumps(_plain(found.problems), indent=2))
    shown = "\n".join(f"  - {each}" for each in found.problems[:_SHOWN])
    more = len(found.problems) - _SHOWN
    rest = f"\n  … and {more} more; --json prints them all" if more > 0 else ""
    raise Stopped(f"{file} is refused:\n{shown}{rest}\nNothing was started.", ExitCode.BAD_INPUT)


def _print(plan: Plan, steps: Sequence[StepPreview], warnings: Sequence[Problem], *, as_json: bool) -> None:
    if as_json:
        plain: JsonValue = [step.model_dump(mode="json") for step in steps]
        typer.echo(json.dumps({"goal": plan.goal, "steps": plain, "warnings": _plain(warnings)}, indent=2))
        return
    Console().print(Group(picture(plan, steps, warnings), Text("\nA dry run: nothing was started.")))


def picture(plan: Plan, steps: Sequence[StepPreview], warnings: Sequence[Problem]) -> RenderableType:
    """What a plan would do, stage by stage."""
    parts: list[RenderableType] = [Text(visible(plan.goal), "bold")] if plan.goal else []
    stage = 0
    for step in steps:
        if step.stage != stage:
            stage = step.stage
            parts.append(Text(f"\nStage {stage}", "bold"))
        parts += [_headline(step), Padding(Text("\n".join(lines(step)), "dim"), (0, 0, 0, 4))]
    parts += [Text(f"\nNote: {warning}", "yellow") for warning in warnings]
    return Group(*parts)


def _headline(step: StepPreview) -> Text:
    text = Text(f"  {step.step}: {step.tool} ")
    return text.append(visible(step.arguments), "dim")


def _plain(problems: Sequence[Problem]) -> list[JsonValue]:
    return [problem.model_dump(mode="json") for problem in problems]


def as_markdown(found: Checked, plan: Plan) -> str:
    """The plan for the Web UI: the first steps in the order of their run."""
    tools = {step.id: step.tool for step in plan.steps}
    rows = [
        f"| {stage} | {name} | `{tools[name]}` |"
        for stage, names in enumerate(found.stages, 1)
        for name in names
    ]
    shown = rows[:_SHOWN]
    more = [f"\n{len(rows)} steps in all."] if len(rows) > _SHOWN else []
    return "\n".join(["| stage | step | tool |", "|---|---|---|", *shown, *more])
