"""The dry run of a plan: what each step will do and what undoes it, and what a failure at it would leave."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta

from pydantic import BaseModel, ConfigDict
from pydantic_core import to_json

from rescind._catalogue import AnyTool, activity_names
from rescind.approvals import approvals_for
from rescind.plans._check import Checked
from rescind.plans._entry import GradeOf, ProvenGrade, ToolClass, class_of, is_final, unverified
from rescind.plans._needs import needed
from rescind.plans._plan import Arguments, Retry, Skip, Step

MOST = 30
"""Steps that a preview names where it tells what a failure would undo; the number tells of all."""

_LONGEST = 160
"""Characters of the arguments that are shown."""


class Left(BaseModel):
    """A step that would stand after a failure, wholly or in part, and why."""

    model_config = ConfigDict(frozen=True)

    step: str
    why: str


class StepPreview(BaseModel):
    """What a plan does at one step, and what a failure there would come to.

    Attributes:
        step: Its id.
        stage: The number of its stage, from 1.
        tool: The tool's name.
        tool_class: Its class.
        does: What the tool says of itself.
        arguments: What it is given, shortened.
        needs: The steps that have to be over before it.
        undo: The activity that undoes it; None where nothing does or nothing has to.
        grade: How well that restores, as its certificate says.
        undo_within: How long after the plan is done it can be undone; None is for ever.
        approvals: How many people have to approve it.
        pre_approved: Whether that was done beforehand.
        is_checked: Whether the world is asked just before the call if it can still succeed.
        otherwise: What is tried when it has failed, in words.
        undone: The steps that would be undone if it failed, the first to be undone first; some may not have begun.
        undone_count: How many these are.
        left: What would stand.
    """

    model_config = ConfigDict(frozen=True)

    step: str
    stage: int
    tool: str
    tool_class: ToolClass
    does: str
    arguments: str
    needs: list[str]
    undo: str | None
    grade: ProvenGrade | None
    undo_within: timedelta | None
    approvals: int
    pre_approved: bool
    is_checked: bool
    otherwise: list[str]
    undone: list[str]
    undone_count: int
    left: list[Left]


def preview(
    checked: Checked,
    tools: Iterable[AnyTool],
    *,
    pre_approved: Collection[str] = (),
    grade_of: GradeOf = unverified,
    done: Sequence[Step] = (),
) -> list[StepPreview]:
    """What a plan will do, step by step in the order of its run; nothing is started and nothing outside is asked.

    Args:
        checked: What the check says.
        tools: The catalogue.
        pre_approved: The tools that may run although they can't be undone.
        grade_of: What the tools' certificates prove.
        done: The steps that stand already, of a plan that goes on with this one.

    Raises:
        ValueError: The plan was refused, so that it has no order.
    """
    if checked.plan is None or checked.problems:
        raise ValueError("a plan that was refused has no dry run; look at its problems")
    return _DryRun([*done, *checked.plan.steps], checked.stages, tools, pre_approved, grade_of).steps()


class _DryRun:
    def __init__(
        self,
        steps: Sequence[Step],
        stages: Sequence[Sequence[str]],
        tools: Iterable[AnyTool],
        pre_approved: Collection[str],
        grade_of: GradeOf,
    ) -> None:
        self._stages = stages
        self._tools = {tool.name: tool for tool in tools}
        self._pre_approved, self._grade_of = pre_approved, grade_of
        self._by_id = {step.id: step for step in steps}
        self._needs = {step.id: needed(step) for step in steps}

    def steps(self) -> list[StepPreview]:
        made: list[StepPreview] = []
        planned = {name for stage in self._stages for name in stage}
        begun = [name for name in self._by_id if name not in planned]
        for number, stage in enumerate(self._stages, 1):
            for position, name in enumerate(stage):
                beside = self._beside(name, stage[position + 1 :])
                made.append(self._step(self._by_id[name], number, [*begun, *stage[:position], *beside]))
            begun += stage
        return made

    def _beside(self, name: str, later: Sequence[str]) -> list[str]:
        """Those of the later steps of a stage that do not wait for this one, and so may be done when it fails."""
        behind = {name}
        for each in later:
            if not behind.isdisjoint(self._needs[each]):
                behind.add(each)
        return [each for each in later if each not in behind]

    def _step(self, step: Step, stage: int, begun: Sequence[str]) -> StepPreview:
        tool = self._tools[step.tool]
        undone = [each for each in reversed(begun) if self._is_undone(each)]
        return StepPreview(
            step=step.id,
            stage=stage,
            tool=tool.name,
            tool_class=class_of(tool),
            does=tool.description,
            arguments=_short(step.arguments),
            needs=self._needs[step.id],
            undo=activity_names(tool).get("compensate"),
            grade=self._grade_of(tool.name) if tool.is_reversible else None,
            undo_within=tool.undo_within,
            approvals=approvals_for(tool),
            pre_approved=tool.name in self._pre_approved,
            is_checked=tool.check is not None,
            otherwise=[_in_words(each) for each in step.on_failure],
            undone=undone[:MOST],
            undone_count=len(undone),
            left=[left for each in begun for left in self._left(each)],
        )

    def _is_undone(self, name: str) -> bool:
        return self._tools[self._by_id[name].tool].is_reversible

    def _left(self, name: str) -> Iterable[Left]:
        tool = self._tools[self._by_id[name].tool]
        if is_final(tool):
            yield Left(step=name, why=f"{tool.name} can't be undone; a person has to deal with it")
        elif tool.is_reversible and self._grade_of(tool.name) is ProvenGrade.RESIDUE:
            yield Left(step=name, why=f"the undo of {tool.name} leaves something")


def _in_words(alternative: object) -> str:
    if isinstance(alternative, Skip):
        return "go on without it"
    if isinstance(alternative, Retry):
        return f"try it with {_short(alternative.arguments)}"
    tool, arguments = getattr(alternative, "tool", "?"), getattr(alternative, "arguments", {})
    return f"use {tool} with {_short(arguments)}"


def _short(arguments: Arguments) -> str:
    words = ", ".join(f"{name}={_value(value)}" for name, value in arguments.items())
    return words if len(words) <= _LONGEST else words[: _LONGEST - 1] + "…"


def _value(value: object) -> str:
    if isinstance(value, str):
        return " ".join(value.split())
    return to_json(value).decode()
