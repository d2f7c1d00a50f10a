"""What travels between whoever wants a plan, or the rest of one, and the activity that asks a model for it."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from rescind.plans._plan import Plan
from rescind.plans._problem import Problem
from rescind.plans._stand import Stand

ASK_MODEL = "rescind.ask_model"
"""The name of the activity that asks the model once."""

ANSWERS = 4
"""Answers of the model at most: the first, and three after it was told what is wrong with the one before."""

PATIENCE = 120.0
"""Seconds that one answer may take, unless the asker says otherwise; large models think for a minute or more."""


class Ask(BaseModel):
    """Asks a model for a plan.

    Attributes:
        goal: What is to be done, in a person's words; it becomes the plan's goal.
        model: The model as pydantic-ai names it, `provider:name`.
        tools: Names of the tools that the plan may use; every other one is unknown to it.
        pre_approved: Those of them that can't be undone and may run without asking anybody.
        patience: Seconds that one answer may take.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    goal: str = Field(min_length=1, max_length=2_000)
    model: str = Field(min_length=1, max_length=200)
    tools: list[str] = Field(min_length=1)
    pre_approved: list[str] = []
    patience: float = Field(default=PATIENCE, gt=0, le=3_600)


class Question(BaseModel):
    """One question to the model.

    Attributes:
        ask: What is wanted.
        stand: Where the plan stands whose rest is wanted; None where a whole plan is.
        last: Its answer before this question; None for the first, and for one that was no plan or too large.
        problems: What is wrong with that answer.
    """

    model_config = ConfigDict(frozen=True)

    ask: Ask
    stand: Stand | None = None
    last: JsonValue = None
    problems: list[Problem] = []


class Answer(BaseModel):
    """What came of one question.

    Attributes:
        plan: The plan, or the steps that it goes on with; None where the check refuses it.
        declined: Why the model sees no way to the goal, in its own words; it is shown, and believed by nobody.
        draft: What the model wrote, where it was refused and is small enough to be sent back.
        problems: What it was refused for, the first of them.
    """

    model_config = ConfigDict(frozen=True)

    plan: Plan | None = None
    declined: str | None = None
    draft: JsonValue = None
    problems: list[Problem] = []


class Proposal(BaseModel):
    """What the model has come to: a plan that holds by the check, a refusal of its own, or what was wrong at last.

    Attributes:
        plan: The plan, or the steps that it goes on with.
        declined: Why the model sees no way to the goal.
        problems: What is wrong with its last answer.
        answers: How many answers it took.
    """

    model_config = ConfigDict(frozen=True)

    plan: Plan | None = None
    declined: str | None = None
    problems: list[Problem] = []
    answers: int
