"""What travels between the workflow that runs a plan, its check, and whoever started it."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, JsonValue

from rescind.plans._plan import Plan
from rescind.plans._problem import Problem

EXECUTE = "rescind.ExecutePlan"
"""The name of the workflow that runs a plan."""

CHECK = "rescind.check_plan"
"""The name of the activity that checks it."""

PLAN_REFUSED = "PlanRefused"
"""The type of the failure of a plan that was refused; its details are the problems."""

TOLD = 100
"""Problems that a refusal carries at most."""


class PlanOrder(BaseModel):
    """Asks for a plan to be run.

    Attributes:
        plan: The plan.
        pre_approved: Names of tools that can't be undone and may run without asking anybody. A plan can't approve
            itself, so this stands beside it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    plan: Plan
    pre_approved: list[str] = []


class Verdict(BaseModel):
    """What the check says to the workflow: the first problems and their number, else the order of the steps."""

    model_config = ConfigDict(frozen=True)

    problems: list[Problem]
    found: int
    stages: list[list[str]]


class Became(StrEnum):
    """What became of a step of a plan that is done."""

    DONE = "done"
    SKIPPED = "skipped"


class StepDone(BaseModel):
    """What became of one step.

    Attributes:
        became: Whether it is done or was skipped.
        tool: The tool that did it at last, or was tried last.
        tries: How many of the step's alternatives were tried, the first included.
        result: The tool's result; None for a skipped step and for results that together are too large to return.
        error: Why the last try before it failed, or why it was skipped.
    """

    model_config = ConfigDict(frozen=True)

    became: Became
    tool: str
    tries: int = 1
    result: JsonValue = None
    error: str | None = None


class PlanDone(BaseModel):
    """A plan that is done: every step of it stands, apart from those that it allowed to be skipped."""

    model_config = ConfigDict(frozen=True)

    steps: dict[str, StepDone]
