"""Tells whether a workflow's run method can take the arguments that it was started with."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from pydantic import BaseModel


def misfit(name: str, run: Callable[..., Any], given: Sequence[Any]) -> str:
    """What is wrong with the arguments; empty if they fit.

    A payload that has a model to be read with was read with it by now. What was not read so is the
    wrong number of arguments, null, and bytes.

    Args:
        name: The workflow's name.
        run: Its run method.
        given: The arguments, without `self`.
    """
    wanted = list(inspect.signature(run, eval_str=True).parameters.values())[1:]
    if any(each.kind is each.VAR_POSITIONAL for each in wanted):
        return ""
    needed = [each for each in wanted if each.default is each.empty]
    if not len(needed) <= len(given) <= len(wanted):
        takes = ", ".join(f"`{each.name}` ({_type(each)})" for each in wanted) or "none"
        return f"{name} was given {len(given)} arguments, and takes {len(wanted)}: {takes}"
    for each, value in zip(wanted, given, strict=False):
        if _is_model(each.annotation) and not isinstance(value, each.annotation):
            what = "null" if value is None else f"a {type(value).__name__}"
            return (
                f"{name} was given {what} for `{each.name}`, which has to be a JSON object of {_type(each)}"
            )
    return ""


def _is_model(annotation: object) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _type(parameter: inspect.Parameter) -> str:
    return str(getattr(parameter.annotation, "__name__", parameter.annotation))
