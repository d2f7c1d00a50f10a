"""The command that shows the catalogue, and exports it for models and their hosts."""

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from rescind._catalogue import AnyTool
from rescind._tool import Risk
from rescind.cli._exit import ExitCode, Stopped
from rescind.plans import (
    CatalogueEntry,
    GradeOf,
    ToolClass,
    anthropic_tools,
    entries,
    mcp_tools,
    openai_tools,
    unverified,
)
from rescind.plans._nearest import nearest

Tools = Callable[[], Iterable[AnyTool]]
"""The application's tools, asked for when they are needed: their providers' clients take long to load."""

_STYLES = {Risk.LOW: "green", Risk.MEDIUM: "yellow", Risk.HIGH: "red", Risk.CRITICAL: "bold red"}


class Form(StrEnum):
    """Whose form of a tool's definition."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    MCP = "mcp"


_FORMS: dict[Form, Callable[[Iterable[CatalogueEntry]], list[dict[str, Any]]]] = {
    Form.OPENAI: openai_tools,
    Form.ANTHROPIC: anthropic_tools,
    Form.MCP: mcp_tools,
}


def tools_command(app: typer.Typer, tools: Tools, *, grade_of: GradeOf = unverified) -> None:
    """Give an application the command `tools`."""

    @app.command(name="tools")
    def show(
        names: Annotated[list[str] | None, typer.Argument(metavar="[TOOL]...", help="Only these.")] = None,
        *,
        as_json: Annotated[bool, typer.Option("--json", help="Print JSON with the schemas.")] = False,
        form: Annotated[
            Form | None, typer.Option("--format", help="Print JSON as this kind of host takes tools.")
        ] = None,
    ) -> None:
        """Show the tools that a plan may use, how each is undone, and who has to approve it."""
        picked = chosen(entries(tools(), grade_of), names or ())
        if form:
            typer.echo(json.dumps(_FORMS[form](picked), indent=2))
        elif as_json:
            plain = [entry.model_dump(mode="json", by_alias=True) for entry in picked]
            typer.echo(json.dumps(plain, indent=2))
        else:
            Console().print(_listed(picked))


def chosen(catalogue: Sequence[CatalogueEntry], names: Sequence[str]) -> list[CatalogueEntry]:
    """The tools of these names, or all where none is named.

    Raises:
        Stopped: There is no such tool; the message has the nearest names.
    """
    known = {entry.name: entry for entry in catalogue}
    for name in names:
        if name not in known:
            raise Stopped(f"There is no tool {name!r}.{nearest(name, known)}", ExitCode.BAD_INPUT)
    return [known[name] for name in names] if names else list(catalogue)


def _listed(catalogue: Sequence[CatalogueEntry]) -> RenderableType:
    """A line of facts for each tool, and below it what it does, so that a narrow terminal has room for it."""
    width = max((len(entry.name) for entry in catalogue), default=0)
    parts: list[RenderableType] = [Text(f"{'tool':<{width}}  class          risk      undo", "bold")]
    for entry in catalogue:
        line = Text(f"{entry.name:<{width}}  {entry.tool_class.value:<13}  ")
        line.append(f"{entry.risk.value:<8}", _STYLES[entry.risk])
        check = " Checked before the call." if entry.is_checked else ""
        does = Text(f"{entry.description}{check}", "dim")
        parts += [line.append(f"  {_undo(entry)}"), Padding(does, (0, 0, 0, 4))]
    return Group(*parts)


def _undo(entry: CatalogueEntry) -> str:
    if entry.tool_class is ToolClass.READ:
        return "not needed"
    if entry.grade is None:
        return f"none; {'two people are' if entry.approvals > 1 else 'a person is'} asked"
    window = f" for {_days(entry.undo_within)}" if entry.undo_within else ""
    return f"{entry.grade.value}{window}"


def _days(window: timedelta) -> str:
    return f"{window.days} days" if window.days > 1 else f"{window.total_seconds() / 3600:g} h"
