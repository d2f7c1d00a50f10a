"""Which steps of a saga used what another one made: by the values of its result that occur in their requests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from pydantic import JsonValue

_SHORTEST = 3
_SMALLEST = 1000
"""Shorter strings and smaller numbers are too common to point at anything."""


class Step(Protocol):
    """What is known of a step."""

    @property
    def key(self) -> str:
        """Its key."""
        ...

    @property
    def request(self) -> JsonValue:
        """What was asked for."""
        ...

    @property
    def result(self) -> JsonValue:
        """What came of it."""
        ...


def with_dependents(steps: Sequence[Step], key: str) -> list[str]:
    """The keys of a step and of the later ones that used its result, and theirs, in the saga's order.

    A step used another's result when a value that came up with that result, and not before it in the saga, occurs in
    its request: a string of at least three characters, whole or between other characters than letters, digits,
    '_' and '-'; or a number of at least 1,000. That may find a step too many, where two only have a name in common,
    and does not see what the workflow's code made of a result; so it is shown before anything is undone.

    Args:
        steps: The saga's steps, in its order.
        key: The key of the one that is to be undone.
    """
    chosen = {key}
    for place, step in enumerate(steps):
        if step.key in chosen:
            values = _told_by(step) - _known_before(steps[:place])
            chosen |= {later.key for later in steps[place + 1 :] if values and _names(later.request, values)}
    return [step.key for step in steps if step.key in chosen]


def _told_by(step: Step) -> set[str]:
    return set(_telling(step.result))


def _known_before(steps: Iterable[Step]) -> set[str]:
    return {value for step in steps for part in (step.request, step.result) for value in _telling(part)}


def _telling(value: JsonValue) -> Iterator[str]:
    """The values in it that can point at something, as text."""
    for leaf in _leaves(value):
        if isinstance(leaf, str) and len(leaf) >= _SHORTEST:
            yield leaf
        elif isinstance(leaf, int | float) and not isinstance(leaf, bool) and abs(leaf) >= _SMALLEST:
            yield str(leaf)


def _names(request: JsonValue, values: set[str]) -> bool:
    alternatives = "|".join(re.escape(value) for value in sorted(values, key=len, reverse=True))
    named = re.compile(rf"(?<![\w-])(?:{alternatives})(?![\w-])")
    return any(named.search(str(leaf)) for leaf in _leaves(request) if not isinstance(leaf, bool))


def _leaves(value: JsonValue) -> Iterator[str | int | float | bool]:
    if isinstance(value, dict):
        for each in value.values():
            yield from _leaves(each)
    elif isinstance(value, list):
        for each in value:
            yield from _leaves(each)
    elif value is not None:
        yield value
