"""What travels between the workflow that runs a plan, its check, and whoever started it."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from rescind.plans._ask import Ask
from rescind.plans._plan import Plan
from rescind.plans._problem import Problem
from rescind.plans._stand import Stand

EXECUTE = "rescind.ExecutePlan"
"""The name of the workflow that runs a plan."""

CHECK = "rescind.check_plan"
"""The name of the activity that checks it."""

CLEAN_STAND = "rescind.clean_stand"
"""The name of the activity that takes the worker's secrets out of what a model is told."""

CHECK_REST = "rescind.check_rest"
"""The name of the activity that checks the steps that a plan goes on with."""

PLAN_REFUSED = "PlanRefused"
"""The type of the failure of a plan that was refused; its details are the problems."""

TOLD = 100
"""Problems that a refusal carries at most."""


class Continuing(BaseModel):
    """Lets a plan go on after a failure with steps that a model proposes; without it all is undone.

    Attributes:
        ask: The model, the tools that it may use, and which of them are pre-approved.
        task_queue: Where the worker polls that asks it, and has the provider's key. Nobody there, and all is undone.
        times: How often the plan may go on; after that all is undone.
        approved: Whether it may go on without asking people. Otherwise each time waits for one of them, by the
            Updates `approve` and `reject`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    ask: Ask
    task_queue: str = Field(min_length=1)
    times: int = Field(default=1, ge=1, le=10)
    approved: bool = False


class PlanOrder(BaseModel):
    """Asks for a plan to be run.

    Attributes:
        plan: The plan.
        pre_approved: Names of tools that can't be undone and may run without asking anybody. A plan can't approve
            itself, so this stands beside it.
        approval_within: How long people may take, each time that they are asked.
        continuing: How it may go on after a failure; None undoes it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    plan: Plan
    pre_approved: list[str] = []
    approval_within: timedelta = timedelta(days=1)
    continuing: Continuing | None = None


class RestOrder(BaseModel):
    """Asks for the check of the steps that a plan would go on with from where it stands."""

    model_config = ConfigDict(frozen=True)

    plan: Plan
    stand: Stand
    ask: Ask


class Verdict(BaseModel):
    """What the check says to the workflow: the first problems and their number, else the order of the steps.

    `dry_run` is what the steps would do, in words; only for those that a plan goes on with.
    """

    model_config = ConfigDict(frozen=True)

    problems: list[Problem]
    found: int
    stages: list[list[str]]
    dry_run: str = ""


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
