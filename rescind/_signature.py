"""Reads what an activity takes and gives from its annotations."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass
from types import UnionType
from typing import Any

_STARS: dict[object, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
_NAMED = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Signature:
    """An activity's parameters and its return type, with the generic model of the only parameter taken apart.

    Attributes:
        written: The parameters as a person wrote them, for messages.
        parameter: The annotation of the one parameter; None where it has none, or where it is not the only one.
        parameter_origin: Its generic model, such as `Call`.
        parameter_arguments: What that is of.
        returns: The return annotation, or None.
    """

    written: str
    parameter: Any
    parameter_origin: Any
    parameter_arguments: tuple[Any, ...]
    returns: Any


@functools.cache
def signature(activity: Callable[..., Any]) -> Signature:
    """Read an activity's annotations.

    Raises:
        NameError: An annotation names something that is not there at run time.
    """
    hints = typing.get_type_hints(activity)
    parameters = list(inspect.signature(activity).parameters.values())
    single = len(parameters) == 1 and parameters[0].kind in _NAMED
    parameter = hints.get(parameters[0].name) if single else None
    generic = getattr(parameter, "__pydantic_generic_metadata__", {})
    written = ", ".join(_written(each, hints) for each in parameters)
    return Signature(
        f"({written})", parameter, generic.get("origin"), tuple(generic.get("args", ())), hints.get("return")
    )


def shown(annotation: Any) -> str:
    """An annotation as a person wrote it, or nearly so."""
    if annotation is None:
        return "nothing that is annotated"
    if typing.get_origin(annotation) in (typing.Union, UnionType):
        return " | ".join(map(shown, typing.get_args(annotation)))
    if annotation is type(None):
        return "None"
    named = inspect.isclass(annotation) or inspect.isroutine(annotation)
    return annotation.__name__ if named else str(annotation)


def _written(parameter: inspect.Parameter, hints: dict[str, Any]) -> str:
    stars = _STARS.get(parameter.kind, "")
    annotation = f": {shown(hints[parameter.name])}" if parameter.name in hints else ""
    return f"{stars}{parameter.name}{annotation}"
