"""The things in the world that steps act on, by which it is known that two of them meet."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from pydantic import JsonValue
from pydantic_core import to_json

from rescind._catalogue import AnyTool
from rescind.plans._plan import Arguments

Thing: TypeAlias = tuple[str, ...]
"""A thing's place among others: a bucket contains its objects, so the bucket's place begins theirs."""

_FIELD = re.compile(r"\{(\w+)\}")


def things(tool: AnyTool, arguments: Arguments) -> Iterator[Thing]:
    """What a step of this tool with these arguments acts on; two references to one value name one thing."""
    for pattern in tool.acts_on:
        values = {name: _value(tool, arguments, name) for name in _FIELD.findall(pattern)}
        if None not in values.values():
            yield tuple(part.format_map(values) for part in pattern.split("/"))


def _value(tool: AnyTool, arguments: Arguments, name: str) -> str | None:
    field = tool.request_type.model_fields[name]
    value: JsonValue = arguments.get(name, field.get_default(call_default_factory=True, validated_data={}))
    if isinstance(value, dict | list):
        return to_json(value).decode()
    return value if isinstance(value, str) else None if value is None else str(value)


class Meetings:
    """Which steps act on the same thing, or on a thing and a part of it; sets of steps are bits of a number."""

    def __init__(self, acting: Sequence[Sequence[Thing]]) -> None:
        self._acting = acting
        self._at: defaultdict[Thing, int] = defaultdict(int)
        self._below: defaultdict[Thing, int] = defaultdict(int)
        for step, each in enumerate(acting):
            for thing in each:
                self._at[thing] |= 1 << step
                for length in range(1, len(thing)):
                    self._below[thing[:length]] |= 1 << step

    def of(self, step: int) -> int:
        """The other steps that meet this one."""
        return self.at(self._acting[step]) & ~(1 << step)

    def at(self, acting: Iterable[Thing]) -> int:
        """The steps that act on one of these, on what has it, or on a part of it."""
        met = 0
        for thing in acting:
            met |= self._at.get(thing, 0) | self._below.get(thing, 0)
            for length in range(1, len(thing)):
                met |= self._at.get(thing[:length], 0)
        return met
