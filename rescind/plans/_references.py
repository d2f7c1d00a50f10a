"""The check of a step's references: that they lead to an earlier result, and that its type fits where it goes."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from rescind._catalogue import AnyTool
from rescind.plans._described import schema_of
from rescind.plans._nearest import Nearest
from rescind.plans._plan import Step
from rescind.plans._problem import Fault, Path, Problem, problem
from rescind.plans._schema import NoSuchField, Typed, fits, inside, result_at, typed, without_null
from rescind.plans._values import Located, Reference

_TEXT = typed({"type": "string"})
_PART = typed({"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}]})


@dataclass(frozen=True, slots=True)
class Referable:
    """What a step may refer to.

    Attributes:
        steps: The plan's steps by id.
        tools: The tools by name.
        unread: The ids of steps that could not be read; what is wrong with them is told at their own place.
        nearest: Finds the names that may have been meant.
    """

    steps: Mapping[str, Step]
    tools: Mapping[str, AnyTool]
    unread: AbstractSet[str]
    nearest: Nearest


def reference_problems(located: Located, tool: AnyTool, step: str, others: Referable) -> Iterator[Problem]:
    """What is wrong with one form in a step's arguments.

    Args:
        located: The form.
        tool: The tool whose argument it is.
        step: The id of the step.
        others: What it may refer to.
    """
    form = located.form
    if isinstance(form, str):
        yield problem(Fault.BAD_REFERENCE, located.at, form, "The forms are in the documentation of plans")
        return
    target = _PART if located.in_text else _target(tool, located.target)
    if not isinstance(form, Reference):
        if target is not None and not fits(_TEXT, target):
            yield _wrong_type(located, "a joined text", _TEXT, target, tool)
        return
    sources = _sources(located, form, step, others)
    if isinstance(sources, Problem):
        yield sources
    elif target is not None:
        yield from _misfits(located, form, sources, target, tool)


def _sources(located: Located, form: Reference, step: str, others: Referable) -> list[Typed] | Problem:
    """What the reference may bring: the result of the step's tool, or that of a substitute."""
    if form.step == step:
        return problem(
            Fault.BAD_REFERENCE, located.at, f"{form} is of the step itself", "Refer to an earlier step"
        )
    referred = others.steps.get(form.step)
    if form.step in others.unread:
        return []
    if referred is None:
        words = f"there is no step {form.step!r}"
        return problem(
            Fault.UNKNOWN_STEP,
            located.at,
            words,
            f"Refer to a step of this plan.{others.nearest(form.step, others.steps)}",
        )
    if referred.can_be_skipped and not form.has_otherwise:
        words = f"{form} may be missing, since the step {form.step} may be skipped"
        return problem(Fault.MAY_BE_MISSING, located.at, words, 'Add "otherwise" with what is used then')
    names = dict.fromkeys(name for _, name, _ in referred.tries())
    try:
        return [_result(others.tools[name], form) for name in names if name in others.tools]
    except NoSuchField as error:
        words = f"{form} leads to nothing: there is no {error.name!r}"
        remedy = f"Refer to a field of the result.{others.nearest(error.name, error.known)}"
        return problem(Fault.UNKNOWN_FIELD, located.at, words, remedy)


def _misfits(
    located: Located, form: Reference, sources: list[Typed], target: Typed, tool: AnyTool
) -> Iterator[Problem]:
    for source in sources:
        sure = without_null(source)
        if not fits(sure, target):
            yield _wrong_type(located, str(form), sure, target, tool)
        elif not form.has_otherwise and not fits(source, target):
            words = f"{form} may be null, which {tool.name} does not take here"
            remedy = 'Add "otherwise" with what is used then, or refer to a field that is always there'
            yield problem(Fault.MAY_BE_MISSING, located.at, words, remedy)


def _result(tool: AnyTool, form: Reference) -> Typed:
    return result_at(typed(schema_of(tool.result_type, "serialization")), form.path)


def _target(tool: AnyTool, path: Path) -> Typed | None:
    """What the request takes at a place; None where it has none, which its model says."""
    try:
        return functools.reduce(inside, path, typed(schema_of(tool.request_type, "validation")))
    except NoSuchField:
        return None


def _wrong_type(located: Located, what: str, source: Typed, target: Typed, tool: AnyTool) -> Problem:
    words = f"{what} is {source}, and {tool.name} takes {target} here"
    return problem(
        Fault.WRONG_TYPE, located.at, words, "Refer to a field of that type, or join it into a text"
    )
