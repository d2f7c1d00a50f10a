"""What an argument may hold beside literals: references to earlier results, and texts that are joined from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from rescind.plans._problem import Path

_FORMS = (
    'write {"$ref": "step.field"}, with "otherwise" if it may be missing, {"$join": [...]}, or {"$literal": ...} for '
    "data that has such a key itself"
)


class BadForm(Exception):
    """An object has a key that begins with '$' and is none of the forms."""


class Unresolvable(Exception):
    """A reference leads to nothing, and has no `otherwise`."""


@dataclass(frozen=True, slots=True)
class Reference:
    """The result of a step, or a part of it.

    Attributes:
        step: The step's id.
        path: Field names and numbers of list items.
        has_otherwise: Whether there is a value for where it is null or missing.
        otherwise: That value; it may be a reference again.
    """

    step: str
    path: tuple[str, ...]
    has_otherwise: bool
    otherwise: JsonValue

    def __str__(self) -> str:
        return ".".join((self.step, *self.path))


@dataclass(frozen=True, slots=True)
class Join:
    """A text put together from parts."""

    parts: list[JsonValue]


@dataclass(frozen=True, slots=True)
class Literal:
    """Data that is taken as it is."""

    value: JsonValue


@dataclass(frozen=True, slots=True)
class Located:
    """One form in a step's arguments.

    Attributes:
        at: Where it stands.
        target: The place in the request that it fills, or is a part of.
        form: The form, or what is wrong with it.
        in_text: Whether it is a part of a text.
    """

    at: Path
    target: Path
    form: Reference | Join | str
    in_text: bool = False


def parse(value: dict[str, JsonValue]) -> Reference | Join | Literal | None:
    """The form that an object is; None for an ordinary object.

    Raises:
        BadForm: It has a key that begins with '$' and is none of the forms.
    """
    if not any(key.startswith("$") for key in value):
        return None
    match value:
        case {"$ref": str(path), **rest} if not rest.keys() - {"otherwise"}:
            step, *fields = path.split(".")
            if step and all(fields):
                return Reference(step, tuple(fields), "otherwise" in rest, rest.get("otherwise"))
        case {"$join": list(parts), **rest} if not rest:
            return Join(parts)
        case {"$literal": literal, **rest} if not rest:
            return Literal(literal)
        case _:
            pass
    raise BadForm(f"it has a key that begins with '$' and is no form of a value; {_FORMS}")


def locate(value: JsonValue, at: Path, target: Path, *, in_text: bool = False) -> Iterator[Located]:
    """Every form in a value, in order."""
    if isinstance(value, list):
        for number, each in enumerate(value):
            yield from locate(each, (*at, number), (*target, number))
    elif isinstance(value, dict):
        yield from _in_object(value, at, target, in_text=in_text)


def _in_object(value: dict[str, JsonValue], at: Path, target: Path, *, in_text: bool) -> Iterator[Located]:
    try:
        form = parse(value)
    except BadForm as error:
        yield Located(at, target, str(error), in_text)
        return
    if isinstance(form, Reference | Join):
        yield Located(at, target, form, in_text)
    match form:
        case Reference(has_otherwise=True, otherwise=otherwise) if in_text:
            yield from _part(otherwise, (*at, "otherwise"), target)
        case Reference(otherwise=otherwise):
            yield from locate(otherwise, (*at, "otherwise"), target)
        case Join(parts=parts):
            for number, part in enumerate(parts):
                yield from _part(part, (*at, "$join", number), target)
        case Literal():
            pass
        case None:
            for key, each in value.items():
                yield from locate(each, (*at, key), (*target, key))


def _part(part: JsonValue, at: Path, target: Path) -> Iterator[Located]:
    if part is None or isinstance(part, list) or (isinstance(part, dict) and not _is_text_form(part)):
        yield Located(at, target, "it is no part of a text; join texts, numbers, references and other joins")
    else:
        yield from locate(part, at, target, in_text=True)


def _is_text_form(part: dict[str, JsonValue]) -> bool:
    return "$ref" in part or "$join" in part


def unwrapped(value: JsonValue) -> JsonValue:
    """A value with its `$literal`s taken out of their wrapping and all other forms left in place."""
    return _with_forms(value, lambda form, whole: form.value if isinstance(form, Literal) else whole)


def otherwise_taken(value: JsonValue) -> JsonValue:
    """A value as it is where every reference that has an `otherwise` leads to nothing."""

    def taken(form: Reference | Join | Literal, whole: JsonValue) -> JsonValue:
        if isinstance(form, Reference) and form.has_otherwise:
            return otherwise_taken(form.otherwise)
        return whole

    return _with_forms(value, taken)


def _with_forms(
    value: JsonValue, change: Callable[[Reference | Join | Literal, JsonValue], JsonValue]
) -> JsonValue:
    """A value with each of its forms changed; what is no form of any kind stays as it is."""
    if isinstance(value, list):
        return [_with_forms(each, change) for each in value]
    if not isinstance(value, dict):
        return value
    try:
        form = parse(value)
    except BadForm:
        return value
    return change(form, value) if form else {key: _with_forms(each, change) for key, each in value.items()}


def resolve(value: JsonValue, results: Mapping[str, JsonValue]) -> JsonValue:
    """A value with every form replaced by what it stands for.

    Args:
        value: An argument, or all of them.
        results: The results of the steps that have one.

    Raises:
        Unresolvable: A reference leads to nothing.
    """
    if isinstance(value, list):
        return [resolve(each, results) for each in value]
    if not isinstance(value, dict):
        return value
    match parse(value):
        case Reference() as reference:
            return _referred(reference, results)
        case Join(parts=parts):
            return "".join(_as_text(resolve(part, results)) for part in parts)
        case Literal(value=literal):
            return literal
        case None:
            return {key: resolve(each, results) for key, each in value.items()}


def _referred(reference: Reference, results: Mapping[str, JsonValue]) -> JsonValue:
    found = results.get(reference.step)
    for name in reference.path:
        if isinstance(found, list):
            found = found[int(name)] if name.isdecimal() and int(name) < len(found) else None
        else:
            found = found.get(name) if isinstance(found, dict) else None
    if found is None and reference.has_otherwise:
        return resolve(reference.otherwise, results)
    if found is None and reference.step not in results:
        raise Unresolvable(f"{reference} has no value: the step {reference.step} has no result")
    return found


def _as_text(part: JsonValue) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, bool):
        return "true" if part else "false"
    if isinstance(part, int | float):
        return str(part)
    raise Unresolvable("a part of a text has no value, or is no text and no number")
