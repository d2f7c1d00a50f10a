"""The check of a step's arguments against its tool's model, so far as their values are known before the run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import JsonValue, ValidationError
from pydantic_core import ErrorDetails, to_json

from rescind._catalogue import AnyTool
from rescind._wire import PAYLOAD_LIMIT
from rescind.plans._nearest import Nearest
from rescind.plans._plan import Arguments
from rescind.plans._problem import Fault, Path, Problem, problem
from rescind.plans._values import Located, Reference, otherwise_taken, unwrapped

MOST = 20
"""Problems of one step's arguments that are told; a model that is all wrong has as many as it has values."""


def argument_problems(
    tool: AnyTool, arguments: Arguments, place: Path, forms: Sequence[Located], nearest: Nearest
) -> list[Problem]:
    """What the tool's own model has against the arguments; what references bring is not known yet.

    Args:
        tool: The tool.
        arguments: What it is given.
        place: Where that stands in the plan.
        forms: The references in it and what else is no literal.
        nearest: Finds the names that may have been meant.
    """
    if len(to_json(arguments)) > PAYLOAD_LIMIT:
        words = f"the arguments have more than {PAYLOAD_LIMIT} bytes of JSON, which Temporal does not carry"
        return [problem(Fault.TOO_LARGE, place, words, "Pass a reference to the data instead")]
    found = list(_refused(tool, unwrapped(arguments), place, forms, nearest))
    if any(isinstance(each.form, Reference) and each.form.has_otherwise for each in forms):
        open_ends = [each for each in forms if not _has_otherwise(each)]
        told = {each.place for each in found}
        taken = unwrapped(otherwise_taken(arguments))
        found += [each for each in _refused(tool, taken, place, open_ends, nearest) if each.place not in told]
    return found[:MOST]


def _has_otherwise(located: Located) -> bool:
    return isinstance(located.form, Reference) and located.form.has_otherwise and not located.in_text


def _refused(
    tool: AnyTool, arguments: JsonValue, place: Path, forms: Sequence[Located], nearest: Nearest
) -> Iterator[Problem]:
    targets = {each.target for each in forms}
    try:
        tool.request_type.model_validate_json(to_json(arguments))
    except ValidationError as error:
        for each in error.errors(include_url=False):
            if not _is_of_form(each, targets):
                yield _told(tool, each, arguments, place, nearest)


def _is_of_form(error: ErrorDetails, targets: set[Path]) -> bool:
    """Whether an error is about a form that stands for a value: only the value can be wrong, and it is not there."""
    where = error["loc"]
    if error["type"] == "extra_forbidden" and where in targets:
        return False  # there is no such field, whatever the value
    return any(_leads_through(where, target) for target in targets)


def _leads_through(where: Path, target: Path) -> bool:
    """Whether a place is the target or in it; between the names of fields are those of a union's members."""
    steps = iter(where)
    return all(any(step == name for step in steps) for name in target)


def _told(tool: AnyTool, error: ErrorDetails, arguments: JsonValue, place: Path, nearest: Nearest) -> Problem:
    inner = _place_in(arguments, error["loc"], missing=error["type"] == "missing")
    name = str(inner[-1]) if inner else "the whole"
    message, remedy = _in_words(tool, error, name, nearest)
    return problem(Fault.BAD_ARGUMENTS, (*place, *inner), message, remedy)


def _in_words(tool: AnyTool, error: ErrorDetails, name: str, nearest: Nearest) -> tuple[str, str]:
    look = f"`tools {tool.name} --json` shows what it takes"
    if error["type"] == "missing":
        return f"{name} is missing, and {tool.name} needs it", f"Add it; {look}"
    if error["type"] == "extra_forbidden":
        fields = tool.request_type.model_fields if len(error["loc"]) == 1 else ()
        return f"{tool.name} takes no {name!r}", f"Leave it out or mend its name.{nearest(name, fields)}"
    message = error["msg"].removeprefix("Value error, ")
    given = error["input"]
    shown = f", and it is {given!r}" if isinstance(given, str | int | float) and len(str(given)) <= 60 else ""
    return f"{name}: {message[:1].lower()}{message[1:]}{shown}", f"Mend it; {look}"


def _place_in(arguments: JsonValue, where: Path, *, missing: bool) -> Path:
    """The place of an error in the arguments, without the names that Pydantic gives to a union's members."""
    found: list[str | int] = []
    value: JsonValue = arguments
    for number, name in enumerate(where):
        inner = _inner(value, name)
        if inner:
            value = inner[0]
        elif not (missing and number == len(where) - 1):
            continue
        found.append(name)
    return tuple(found)


def _inner(value: JsonValue, name: str | int) -> list[JsonValue]:
    """What a value has at a name or number, if it has anything there."""
    if isinstance(value, dict):
        return [value[str(name)]] if name in value else []
    if isinstance(value, list) and isinstance(name, int) and name < len(value):
        return [value[name]]
    return []
