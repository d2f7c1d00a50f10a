"""Judges what a model wrote, by limits of its own and then by the check that every plan has to pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import JsonValue
from pydantic_core import to_json

from rescind import Tool
from rescind.plans import Answer, Checked, Fault, Problem, Question, check
from rescind.plans._rest import check_rest

LARGEST = 64_000
"""Bytes of JSON of a plan at most: more than a person can read before a yes."""

MOST_STEPS = 50
"""Steps at most, for the same reason."""

TOLD = 20
"""Problems that the model and the person are told at most."""

_REASON = 500
"""Characters of a model's own refusal that are kept."""


def judged(draft: Mapping[str, JsonValue], question: Question, allowed: Iterable[Tool[Any, Any]]) -> Answer:
    """What a draft is worth; the goal is the person's, and a model can set nothing but the steps.

    Args:
        draft: What the model wrote.
        question: What was asked.
        allowed: The tools that the plan may use.
    """
    if limits := list(_limits(draft)):
        return Answer(problems=limits)
    reason = draft.get("declined")
    if isinstance(reason, str) and reason.strip() and not draft.get("steps"):
        return Answer(declined=reason.strip()[:_REASON])
    problems = list(_foreign(draft))
    found = _checked(draft.get("steps"), question, allowed)
    problems += found.problems
    if problems or found.plan is None:
        return Answer(draft=dict(draft), problems=problems[:TOLD])
    return Answer(plan=found.plan)


def _checked(steps: JsonValue, question: Question, allowed: Iterable[Tool[Any, Any]]) -> Checked:
    ask = question.ask
    if question.stand is not None:
        return check_rest(steps, question.stand, allowed, pre_approved=ask.pre_approved)
    return check({"goal": ask.goal, "steps": steps}, allowed, pre_approved=ask.pre_approved)


def no_plan(words: str) -> Answer:
    """What an answer is worth that has no plan in it."""
    remedy = "Call the tool propose_plan once, with steps"
    return Answer(problems=[_problem(Fault.NOT_A_PLAN, "", f"this was no plan: {words}", remedy)])


def _limits(draft: Mapping[str, JsonValue]) -> Iterator[Problem]:
    steps = draft.get("steps")
    if isinstance(steps, list) and len(steps) > MOST_STEPS:
        words = f"it has {len(steps)} steps, and {MOST_STEPS} are the most"
        yield _problem(Fault.TOO_LARGE, "/steps", words, "Propose fewer steps")
    try:
        size = len(to_json(draft))
    except ValueError:
        remedy = "Write plain Unicode, a few levels deep"
        yield _problem(Fault.NOT_A_PLAN, "", "it can't be written as JSON", remedy)
        return
    if size > LARGEST:
        words = f"it has {size} bytes of JSON, and {LARGEST} are the most"
        yield _problem(Fault.TOO_LARGE, "", words, "Make it shorter")


def _foreign(draft: Mapping[str, JsonValue]) -> Iterator[Problem]:
    for name in draft:
        if name not in ("steps", "declined"):
            words = f"a model can't set {name[:80]!r}"
            yield _problem(Fault.NOT_A_PLAN, f"/{name[:80]}", words, "Give only the steps")


def _problem(fault: Fault, place: str, message: str, remedy: str) -> Problem:
    return Problem(fault=fault, place=place, message=message, remedy=remedy)
