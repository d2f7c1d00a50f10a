"""Whether what one JSON Schema describes fits where another one takes it; a doubt is left to the run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Schema: TypeAlias = Mapping[str, Any]

_DEPTH = 12
"""Levels of nesting that are compared; what is deeper fits, and the tool's model looks at it again in the run."""

_NULL: Schema = {"type": "null"}
_ANYTHING: Schema = {}


@dataclass(frozen=True, slots=True)
class Typed:
    """What a place takes or gives: alternatives without `$ref` and `anyOf`, and the definitions for what is inside."""

    alternatives: tuple[Schema, ...]
    definitions: Schema

    def __str__(self) -> str:
        words = dict.fromkeys(_word(each) for each in self.alternatives)
        return " or ".join(words) or "nothing"


class NoSuchField(Exception):
    """A path leads to nothing."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        super().__init__(name)
        self.name, self.known = name, sorted(known)


def typed(schema: Schema) -> Typed:
    """What a whole schema describes."""
    return _within(schema, schema.get("$defs", {}))


def inside(outer: Typed, name: str | int) -> Typed:
    """What is at a field or item.

    Raises:
        NoSuchField: Nothing is there.
    """
    found = [part for each in outer.alternatives for part in _parts(each, str(name))]
    if not found:
        raise NoSuchField(str(name), _fields(outer))
    return Typed(_leaves(found, outer.definitions), outer.definitions)


def result_at(outer: Typed, path: Iterable[str]) -> Typed:
    """What is at the end of a path in a result, with null where something on the way may be missing.

    Raises:
        NoSuchField: Nothing is there.
    """
    missing = False
    for name in path:
        missing = missing or any(_may_miss(each, name) for each in outer.alternatives)
        outer = inside(outer, name)
    return Typed((*outer.alternatives, _NULL), outer.definitions) if missing else outer


def without_null(source: Typed) -> Typed:
    """The same for where something else is given in place of null."""
    return Typed(
        tuple(each for each in source.alternatives if each.get("type") != "null"), source.definitions
    )


def fits(source: Typed, target: Typed, depth: int = _DEPTH) -> bool:
    """Whether each alternative of the source is one that the target takes."""
    return depth == 0 or all(
        any(
            _fits(each, taken, source.definitions, target.definitions, depth) for taken in target.alternatives
        )
        for each in source.alternatives
    )


def _within(schema: Schema, definitions: Schema) -> Typed:
    return Typed(_leaves([schema], definitions), definitions)


def _leaves(schemas: Iterable[Schema], definitions: Schema, depth: int = _DEPTH) -> tuple[Schema, ...]:
    """Take `$ref` and `anyOf` apart."""
    leaves: list[Schema] = []
    for schema in schemas:
        if depth == 0:
            leaves.append(_ANYTHING)
        elif reference := schema.get("$ref"):
            named = definitions.get(str(reference).rpartition("/")[2], _ANYTHING)
            leaves += _leaves([named], definitions, depth - 1)
        elif choices := schema.get("anyOf") or schema.get("oneOf"):
            leaves += _leaves(choices, definitions, depth - 1)
        else:
            leaves.append(schema)
    return tuple(leaves)


def _parts(schema: Schema, name: str) -> list[Schema]:
    """What is at a field or item of one alternative."""
    kind = schema.get("type")
    if kind is None:
        return [_ANYTHING]
    if kind == "array":
        return [schema.get("items", _ANYTHING)] if name.isdecimal() else []
    if kind != "object":
        return []
    field = schema.get("properties", {}).get(name)
    return _of_map(schema) if field is None else [field]


def _of_map(schema: Schema) -> list[Schema]:
    """What the values of a free map are; nothing where it is none."""
    if patterns := schema.get("patternProperties"):
        return list(patterns.values())
    more = schema.get("additionalProperties", not schema.get("properties"))
    return [] if more is False else [_ANYTHING if more is True else more]


def _may_miss(schema: Schema, name: str) -> bool:
    return schema.get("type") in ("null", "array") or name not in schema.get("properties", {})


def _fields(outer: Typed) -> set[str]:
    return {name for each in outer.alternatives for name in each.get("properties", {})}


def _fits(source: Schema, target: Schema, given: Schema, taken: Schema, depth: int) -> bool:
    values, allowed = _values(source), _values(target)
    if values is not None and allowed is not None:
        return all(value in allowed for value in values)
    kinds, wanted = _kinds(source), _kinds(target)
    if wanted and not all(kind in wanted or (kind == "integer" and "number" in wanted) for kind in kinds):
        return False
    if source.get("type") == target.get("type") == "array":
        mine, theirs = source.get("items", _ANYTHING), target.get("items", _ANYTHING)
        return fits(_within(mine, given), _within(theirs, taken), depth - 1)
    if source.get("type") == target.get("type") == "object":
        return _object_fits(source, target, given, taken, depth)
    return True


def _object_fits(source: Schema, target: Schema, given: Schema, taken: Schema, depth: int) -> bool:
    """Whether every field is one that the target has, and none that it requires is missing; maps by their values."""
    fields: Schema = source.get("properties", {})
    if any(name not in fields for name in target.get("required", [])):
        return False
    into, values = Typed((target,), taken), _of_map(source)
    if values and not fits(
        Typed(_leaves(values, given), given), Typed(_leaves(_of_map(target), taken), taken)
    ):
        return False
    try:
        parts = [(field, inside(into, name)) for name, field in fields.items()]
    except NoSuchField:
        return False
    return all(fits(_within(field, given), part, depth - 1) for field, part in parts)


def _values(schema: Schema) -> list[Any] | None:
    return [schema["const"]] if "const" in schema else schema.get("enum")


def _kinds(schema: Schema) -> set[str]:
    """The JSON types of a schema; none where it does not say."""
    kind: str | list[str] = schema.get("type", [])
    return {kind} if isinstance(kind, str) else set(kind)


def _word(schema: Schema) -> str:
    return "/".join(sorted(_kinds(schema))) or "anything"
