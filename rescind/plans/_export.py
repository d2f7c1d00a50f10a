"""The catalogue in the forms in which models and their hosts take tools: OpenAI, Anthropic, MCP."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from pydantic import JsonValue

from rescind.plans._entry import CatalogueEntry, ToolClass
from rescind.plans._strict import NotStrict, plain_arguments, strict_schema

_LONGEST_NAME = 64
"""Characters of a function's name at OpenAI; Anthropic takes no fewer."""


def openai_tools(entries: Iterable[CatalogueEntry]) -> list[dict[str, Any]]:
    """Function tools as Chat Completions and what is compatible with it take them.

    `strict` is true where the arguments have a form in strict mode; a tool with a free map has none.

    Raises:
        ValueError: A tool's name is longer than OpenAI takes.
    """
    return [{"type": "function", "function": _function(entry)} for entry in entries]


def anthropic_tools(entries: Iterable[CatalogueEntry]) -> list[dict[str, Any]]:
    """Tools as Anthropic's Messages API takes them.

    Raises:
        ValueError: A tool's name is longer than Anthropic takes.
    """
    return [
        {
            "name": function_name(entry.name),
            "description": _in_words(entry),
            "input_schema": _without_titles(entry.request),
        }
        for entry in entries
    ]


def mcp_tools(entries: Iterable[CatalogueEntry]) -> list[dict[str, Any]]:
    """Tool definitions as an MCP server lists them (revision 2025-11-25), with annotations that promise nothing extra.

    A tool that writes is called destructive, since no tool declares that it only adds; and never idempotent, since
    each call of it is a step of its own with a key of its own. Its class, risk and grade are below `_meta`.
    """
    return [_mcp(entry) for entry in entries]


def function_name(tool: str) -> str:
    """A tool's name as OpenAI and Anthropic take it, which is without dots.

    Raises:
        ValueError: It is longer than they take.
    """
    if len(tool) > _LONGEST_NAME:
        raise ValueError(
            f"the name {tool!r} has {len(tool)} characters, and a function's name has {_LONGEST_NAME} at most"
        )
    return tool.replace(".", "-")


def called_tool(entries: Iterable[CatalogueEntry], function: str) -> CatalogueEntry | None:
    """The tool that a model means by a function's name; None where it means none."""
    return next((entry for entry in entries if entry.name.replace(".", "-") == function), None)


def called_arguments(entry: CatalogueEntry, arguments: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """The arguments of a function call as a plan has them; they are not checked."""
    return plain_arguments(arguments, entry.request)


def _function(entry: CatalogueEntry) -> dict[str, Any]:
    try:
        parameters, strict = strict_schema(entry.request), True
    except NotStrict:
        parameters, strict = _without_titles(entry.request), False
    return {
        "name": function_name(entry.name),
        "description": _in_words(entry),
        "parameters": parameters,
        "strict": strict,
    }


def _mcp(entry: CatalogueEntry) -> dict[str, Any]:
    reads = entry.tool_class is ToolClass.READ
    facts = entry.model_dump(mode="json", by_alias=True, include={"tool_class", "risk", "grade", "approvals"})
    return {
        "name": entry.name,
        "title": entry.name.rpartition(".")[2].replace("_", " ").capitalize(),
        "description": _in_words(entry),
        "inputSchema": _without_titles(entry.request),
        "outputSchema": _without_titles(entry.result),
        "annotations": {
            "readOnlyHint": reads,
            "destructiveHint": not reads,
            "idempotentHint": reads,
            "openWorldHint": True,
        },
        "_meta": {f"rescind/{name}": value for name, value in facts.items() if value is not None},
    }


def _in_words(entry: CatalogueEntry) -> str:
    if entry.tool_class is ToolClass.READ:
        return f"{entry.description} It only reads."
    if not entry.is_reversible:
        people = "two people have" if entry.approvals > 1 else "a person has"
        return f"{entry.description} It has no undo, so {people} to approve it."
    grade = "" if entry.grade is None or entry.grade == "unverified" else f", grade {entry.grade.value}"
    return f"{entry.description} It is undone if the plan fails{grade}."


def _without_titles(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without Pydantic's titles, which say the names again; a field of the name `title` stays."""

    def of(value: JsonValue, *, names: bool) -> JsonValue:
        if isinstance(value, dict):
            return {
                key: of(each, names=key in ("properties", "$defs"))
                for key, each in value.items()
                if names or key != "title"
            }
        return [of(each, names=False) for each in value] if isinstance(value, list) else value

    return cast("dict[str, Any]", of(schema, names=False))
