"""Reads plain data as a plan, step by step, so that all that is wrong with it is known at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import ErrorDetails, to_json

from rescind._wire import PAYLOAD_LIMIT
from rescind.plans._nearest import Nearest
from rescind.plans._plan import MAX_STEPS, Frame, Plan, Step
from rescind.plans._problem import Fault, Path, Problem, problem

DEPTH = 32
"""Levels of nesting of a plan at most."""

M = TypeVar("M", bound=BaseModel)


@dataclass(slots=True)
class Read:
    """What was read.

    Attributes:
        frame: What the plan says beside its steps; None where that can't be read.
        steps: The steps that could be read, by their number in the plan.
        problems: All that could not.
    """

    frame: Frame | None = None
    steps: dict[int, Step] = field(default_factory=dict[int, Step])
    problems: list[Problem] = field(default_factory=list[Problem])

    @property
    def plan(self) -> Plan | None:
        """The plan, where nothing is wrong with its form."""
        if self.frame is None or self.problems:
            return None
        return Plan(**dict(self.frame), steps=list(self.steps.values()))


def read(plain: JsonValue) -> Read:
    """Read plain data; what is too large or too deep is not looked into."""
    made, nearest = Read(problems=list(_limits(plain))), Nearest()
    if made.problems:
        return made
    if not isinstance(plain, dict):
        return Read(problems=[_no_plan((), "it is no object", 'Write {"goal": "...", "steps": [...]}')])
    beside = {name: value for name, value in plain.items() if name != "steps"}
    made.frame = _part(Frame, beside, (), made.problems, nearest)
    steps = plain.get("steps")
    if not isinstance(steps, list) or not steps:
        made.problems.append(_no_plan(("steps",), "it has no steps", "Write a list of at least one step"))
        return made
    for number, each in enumerate(steps):
        step = _part(Step, each, ("steps", number), made.problems, nearest)
        if step is not None:
            made.steps[number] = step
    return made


def _limits(plain: JsonValue) -> Iterator[Problem]:
    if _deeper_than(plain, DEPTH):
        yield _too_large((), f"it is nested more than {DEPTH} levels deep", "Make it flatter")
    elif (size := _size(plain)) is None:
        yield _no_plan((), "it holds a text that is no Unicode", "Leave the lone surrogates out")
    elif size > PAYLOAD_LIMIT:
        words = f"it has more than {PAYLOAD_LIMIT} bytes of JSON, which Temporal does not carry"
        yield _too_large((), words, "Split it, or pass references to large data")
    elif isinstance(plain, dict) and isinstance(steps := plain.get("steps"), list) and len(steps) > MAX_STEPS:
        words = f"it has {len(steps)} steps, and {MAX_STEPS} are the most"
        yield _too_large(("steps",), words, "Split it into several plans")


def _size(plain: JsonValue) -> int | None:
    try:
        return len(to_json(plain))
    except ValueError:
        return None


def _deeper_than(value: JsonValue, depth: int) -> bool:
    level: list[JsonValue] = [value]
    for _ in range(depth):
        level = [inner for each in level if isinstance(each, dict | list) for inner in _inner(each)]
    return bool(level)


def _inner(value: dict[str, JsonValue] | list[JsonValue]) -> list[JsonValue]:
    return list(value.values()) if isinstance(value, dict) else value


def _part(
    model: type[M], plain: JsonValue, place: Path, problems: list[Problem], nearest: Nearest
) -> M | None:
    try:
        return model.model_validate_json(to_json(plain))
    except ValidationError as error:
        problems += [_told(model, each, place, nearest) for each in error.errors(include_url=False)]
        return None


def _told(model: type[BaseModel], error: ErrorDetails, place: Path, nearest: Nearest) -> Problem:
    where: Path = tuple(each for each in error["loc"] if each not in ("retry", "substitute", "skip"))
    name = str(where[-1]) if where else "it"
    if error["type"] == "missing":
        return _no_plan((*place, *where), f"{name} is missing", "Add it")
    if error["type"] == "extra_forbidden":
        known = model.model_fields if len(where) == 1 else ()
        return _no_plan(
            (*place, *where), f"there is no {name!r} here", f"Leave it out.{nearest(name, known)}"
        )
    message = error["msg"][:1].lower() + error["msg"][1:]
    return _no_plan((*place, *where), f"{name}: {message}{_shown(error['input'])}", "Mend it")


def _shown(given: Any) -> str:
    return f", and it is {given!r}" if isinstance(given, str | int | float) and len(str(given)) <= 60 else ""


def _no_plan(place: Path, words: str, remedy: str) -> Problem:
    return problem(Fault.NOT_A_PLAN, place, words, remedy)


def _too_large(place: Path, words: str, remedy: str) -> Problem:
    return problem(Fault.TOO_LARGE, place, words, remedy)
