"""Where a plan stands after a failure: what whoever proposes how to go on is told, and what its check goes by."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pydantic import BaseModel, ConfigDict, JsonValue
from pydantic_core import to_json

from rescind.plans._plan import Frame, Step

_TOLD = 100_000
"""Bytes of JSON of all results together that are told, at most."""

_LONGEST = 4_000
"""Bytes of one result, and characters of one error, that are told."""


class _Told(BaseModel):
    model_config = ConfigDict(frozen=True)


class Executed(_Told):
    """A step that is over.

    Attributes:
        step: The step as it was done: with the tool and the arguments of the alternative that succeeded.
        skipped: Whether it was skipped, so that it did nothing.
        result: Its result, shortened where it is long.
    """

    step: Step
    skipped: bool = False
    result: JsonValue = None


class Failure(_Told):
    """A step that has failed and is proven to have done nothing, and the error in the provider's own words."""

    step: Step
    error: str


class Stand(_Told):
    """Where a plan stands.

    Attributes:
        frame: What the plan says beside its steps.
        executed: The steps that are over, in the order in which they ended; what they did is kept.
        failed: The steps that have failed.
        not_begun: The steps that have not begun; none of them will.
    """

    frame: Frame
    executed: list[Executed]
    failed: list[Failure]
    not_begun: list[Step]


def shortened(results: Sequence[JsonValue]) -> list[JsonValue]:
    """Results as they are told: each one's beginning as text where it is long, so that together they can travel."""
    longest = min(_LONGEST, _TOLD // max(len(results), 1))
    return [_cut(each, longest) for each in results]


def told_error(words: str) -> str:
    """An error as it is told."""
    return words if len(words) <= _LONGEST else words[: _LONGEST - 1] + "…"


def cleaned(stand: Stand, clean: Callable[[JsonValue], JsonValue]) -> Stand:
    """The stand with everything cleaned that is not the plan's own form: arguments, results and errors."""
    return Stand(
        frame=stand.frame,
        executed=[
            Executed(step=_cleaned(each.step, clean), skipped=each.skipped, result=clean(each.result))
            for each in stand.executed
        ],
        failed=[
            Failure(step=_cleaned(each.step, clean), error=str(clean(each.error))) for each in stand.failed
        ],
        not_begun=[_cleaned(each, clean) for each in stand.not_begun],
    )


def _cleaned(step: Step, clean: Callable[[JsonValue], JsonValue]) -> Step:
    return step.model_copy(update={"arguments": clean(step.arguments)})


def _cut(result: JsonValue, longest: int) -> JsonValue:
    text = to_json(result)
    return result if len(text) <= longest else {"shortened": text[:longest].decode(errors="ignore")}
