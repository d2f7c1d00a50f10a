"""What the catalogue says of a tool: for a person, a program or a planner that chooses tools."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from enum import StrEnum
from typing import Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from rescind._catalogue import AnyTool
from rescind._tool import Risk
from rescind.approvals import approvals_for
from rescind.plans._described import described_schema


class ToolClass(StrEnum):
    """A tool's place in a saga: compensatable steps, then a point of no return, then retriable ones."""

    READ = "read"
    COMPENSATABLE = "compensatable"
    RETRIABLE = "retriable"
    IRREVERSIBLE = "irreversible"


class ProvenGrade(StrEnum):
    """How well a tool's undo restores the world, as its certificate has proven it."""

    EXACT = "exact"
    EQUIVALENT = "equivalent"
    RESIDUE = "residue"
    UNVERIFIED = "unverified"


GradeOf: TypeAlias = Callable[[str], ProvenGrade]
"""Looks up what a tool's certificate proves, by the tool's name."""


def unverified(_: str) -> ProvenGrade:
    """The grade of a tool without a certificate."""
    return ProvenGrade.UNVERIFIED


class CatalogueEntry(BaseModel):
    """One tool of the catalogue.

    Attributes:
        name: The tool's name, by which a plan calls it.
        description: What it does and what its undo does.
        tool_class: `class` in JSON.
        risk: How bad it is when it does the wrong thing.
        is_reversible: Whether it has an undo.
        approvals: How many people have to approve a step of it.
        is_checked: Whether the world is asked just before the call if it can still succeed.
        grade: How well its undo restores; None where there is no undo.
        undo_within: For how long after the commit it can be undone; None is for ever, or never without an undo.
        timeout: How long one attempt may take.
        request: JSON Schema of its arguments.
        result: JSON Schema of its result.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    description: str
    tool_class: ToolClass = Field(serialization_alias="class")
    risk: Risk
    is_reversible: bool
    approvals: int
    is_checked: bool
    grade: ProvenGrade | None
    undo_within: timedelta | None
    timeout: timedelta
    request: dict[str, Any]
    result: dict[str, Any]


def is_final(tool: AnyTool) -> bool:
    """Whether what the tool does can't be taken back."""
    return not (tool.is_reversible or tool.read_only)


def class_of(tool: AnyTool) -> ToolClass:
    """The class of a tool; one that is retried until it succeeds is retriable, undo or not."""
    if tool.read_only:
        return ToolClass.READ
    if tool.retriable:
        return ToolClass.RETRIABLE
    return ToolClass.COMPENSATABLE if tool.is_reversible else ToolClass.IRREVERSIBLE


def entry_of(tool: AnyTool, grade_of: GradeOf = unverified) -> CatalogueEntry:
    """What the catalogue says of a tool."""
    return CatalogueEntry(
        name=tool.name,
        description=tool.description,
        tool_class=class_of(tool),
        risk=tool.risk,
        is_reversible=tool.is_reversible,
        approvals=approvals_for(tool),
        is_checked=tool.check is not None,
        grade=grade_of(tool.name) if tool.is_reversible else None,
        undo_within=tool.undo_within,
        timeout=tool.timeout,
        request=described_schema(tool.request_type, "validation"),
        result=described_schema(tool.result_type, "serialization"),
    )


def entries(tools: Iterable[AnyTool], grade_of: GradeOf = unverified) -> list[CatalogueEntry]:
    """What the catalogue says of all its tools, by name."""
    return sorted((entry_of(tool, grade_of) for tool in tools), key=lambda entry: entry.name)
