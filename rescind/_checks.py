"""The refusals of the contract, each with what is wrong, why, and what to write instead."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Iterator
from datetime import timedelta
from types import UnionType
from typing import TYPE_CHECKING, Any

from rescind import _blocking, _payloads
from rescind._calls import Absent, Applied, Call, Receipt, Request, Restoration, Result, Unknown
from rescind._errors import ToolRefused
from rescind._signature import Signature, shown, signature
from rescind._states import Repeat

if TYPE_CHECKING:
    from rescind._tool import Tool

_NAME = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+")
_PATH = re.compile(r"(?:[\w.-]|\{\w+\})+(?:/(?:[\w.-]|\{\w+\})+)*")
_OURS = "rescind."
_NOT_AT_ALL = timedelta(0)


def refuse_unless_sound(tool: Tool[Any, Any]) -> None:
    """Raise ToolRefused with everything that is wrong with the declaration, at once."""
    problems = [*_naming(tool), *_classes(tool), *_times(tool), *_activities(tool)]
    problems += [] if problems else _things(tool)
    if problems:
        raise ToolRefused(tool.name, problems)


def _naming(tool: Tool[Any, Any]) -> Iterator[str]:
    if not _NAME.fullmatch(tool.name):
        yield "its name is not a dotted lower-case identifier; write for example 's3.create_bucket'"
    if not tool.description.strip():
        yield "its description is empty; say what it does and what its undo does, a planner chooses by it"


def _classes(tool: Tool[Any, Any]) -> Iterator[str]:
    if tool.is_reversible and tool.compensate is None:
        yield (
            "it is declared reversible and has no compensate activity, so nothing could undo it; pass "
            "compensate=..., or is_reversible=False with risk=Risk.HIGH"
        )
    if not tool.is_reversible and tool.compensate is not None:
        yield (
            "it has a compensate activity and is not declared reversible, and that is declared, never derived; "
            "write is_reversible=True, or take compensate away"
        )
    if tool.read_only and (tool.is_reversible or tool.retriable or tool.lookup or tool.check):
        yield (
            "it is read-only, so there is nothing to undo, to repeat, to look up or to check before; take "
            "is_reversible, retriable, lookup and check away, or read_only"
        )
    if not (tool.read_only or tool.is_reversible) and tool.risk not in ("high", "critical"):
        yield (
            f"it can't be undone and its risk is {tool.risk.value}; a point of no return has a risk of "
            "Risk.HIGH or Risk.CRITICAL, so that a person is asked"
        )
    if tool.repeat is Repeat.LOOKED_UP and tool.lookup is None:
        yield "it is to be looked up before it is repeated and has no lookup; pass lookup=..., or repeat=Repeat.NEVER"


def _times(tool: Tool[Any, Any]) -> Iterator[str]:
    for field, limit in (("timeout", tool.timeout), ("undo_timeout", tool.undo_timeout)):
        if limit <= _NOT_AT_ALL:
            yield f"{field} is not above zero, so every attempt would be given up before it begins; raise it"
    if tool.late_for < _NOT_AT_ALL:
        yield "late_for is below zero; it says how long the provider may still act after the client has gone"
    if tool.undo_within is not None and tool.undo_within <= _NOT_AT_ALL:
        yield "undo_within is not above zero, so it could never be undone; write None to undo it at any time"


def _things(tool: Tool[Any, Any]) -> Iterator[str]:
    for path in tool.acts_on:
        unknown = set(re.findall(r"\{(.*?)\}", path)) - set(tool.request_type.model_fields)
        if unknown or not _PATH.fullmatch(path):
            yield (
                f"acts_on {path!r} is no path of words and of {tool.request_type.__name__}'s fields; write for example "
                "'s3/{bucket}/{key}'"
            )


def _activities(tool: Tool[Any, Any]) -> Iterator[str]:
    read: dict[str, Signature] = {}
    for role in ("forward", "compensate", "lookup", "check"):
        activity = getattr(tool, role)
        problems = [] if activity is None else list(_activity(activity))
        yield from (f"{role}: {problem}" for problem in problems)
        if activity is not None and _is_function(activity):
            try:
                read[role] = signature(activity)
            except NameError as error:
                yield (
                    f"{role}: an annotation can't be read: {error}; Temporal reads them at run time, so import what "
                    "they name at the top of the module, and not under TYPE_CHECKING"
                )
    if "forward" in read:
        yield from _forward(read["forward"])
        if _is_sound(read["forward"]):
            yield from _beside_forward(read)


def _is_sound(forward: Signature) -> bool:
    return not list(_forward(forward))


def _forward(forward: Signature) -> Iterator[str]:
    arguments = forward.parameter_arguments
    if forward.parameter_origin is not Call or not _is_subclass(arguments[0], Request):
        yield (
            f"forward: it takes {forward.written}; it has to take one Call[...] of a rescind.Request and nothing "
            "else, since Temporal would hand over a dict"
        )
    else:
        yield from _payloads.problems(arguments[0], "request")
    if not _is_subclass(forward.returns, Result):
        yield (
            f"forward: it returns {shown(forward.returns)}; it has to be annotated with a rescind.Result, which says "
            "whether anything was changed"
        )
    else:
        yield from _payloads.problems(forward.returns, "result")


def _beside_forward(read: dict[str, Signature]) -> Iterator[str]:
    request, result = read["forward"].parameter_arguments[0], read["forward"].returns
    if undo := read.get("compensate"):
        if undo.parameter_origin is not Receipt or undo.parameter_arguments != (request, result):
            yield (
                f"compensate: it takes {undo.written}; it has to take one Receipt[{request.__name__}, "
                f"{result.__name__}], which is what this tool's forward leaves behind"
            )
        if undo.returns is not Restoration:
            yield f"compensate: it returns {shown(undo.returns)}; it has to say how well it restored: Restoration"
    for role in ("lookup", "check"):
        asked = read.get(role)
        if asked and (asked.parameter_origin is not Call or asked.parameter_arguments != (request,)):
            yield f"{role}: it takes {asked.written}; it has to take one Call[{request.__name__}], as forward does"
    if lookup := read.get("lookup"):
        yield from _lookup(lookup, result)
    if (check := read.get("check")) and check.returns is not type(None):
        yield (
            f"check: it returns {shown(check.returns)}, which nobody would look at; annotate it with None, and raise "
            "rescind.evidence.Refused where the call can't succeed any more"
        )


def _lookup(lookup: Signature, result: type[Result]) -> Iterator[str]:
    applied: Any = Applied[result]  # type: ignore[valid-type]  # a type of this tool's own, known at run time
    answers = _union(lookup.returns)
    if len(answers) < 2 or not answers <= {applied, Absent, Unknown}:
        yield (
            f"lookup: it returns {shown(lookup.returns)}; it has to be Applied[{result.__name__}] | Absent | Unknown "
            "or two of them, since with one answer it could tell nothing"
        )


def _activity(activity: Callable[..., Any]) -> Iterator[str]:
    if not _is_function(activity):
        yield (
            f"{_kind(activity)} is no function, so it has no name and no annotations of its own; write a function or "
            "a method with @activity.defn"
        )
        return
    definition = getattr(activity, "__temporal_activity_definition", None)
    if definition is None:
        yield f"{shown(activity)} is not an activity; decorate it with @activity.defn"
        return
    yield from _named(definition.name)
    if inspect.iscoroutinefunction(activity):
        if used := _blocking.blocking_call(activity):
            yield (
                f"it is `async def` and uses {used}, which blocks every other activity of the worker; write "
                "`def` with @activity.defn(no_thread_cancel_exception=True), it then runs in a thread"
            )
    elif inspect.iscoroutinefunction(inspect.unwrap(activity)):
        yield "it is a `def` around an `async def`, whose work nobody would await; let the decorator return `async def`"
    elif not definition.no_thread_cancel_exception:
        yield (
            "it is a `def` whose thread a cancellation would interrupt, perhaps between the effect and its "
            "record; write @activity.defn(no_thread_cancel_exception=True)"
        )


def _named(name: str | None) -> Iterator[str]:
    if name is None:
        yield "a dynamic activity has no name to be scheduled by; give it one"
    elif name.startswith(_OURS):
        yield f"its activity name {name!r} begins with 'rescind.', as Rescind's own do; write @activity.defn(name=...)"


def _is_function(activity: object) -> bool:
    return inspect.isfunction(activity) or inspect.ismethod(activity)


def _kind(activity: object) -> str:
    return f"the class {activity.__name__}" if inspect.isclass(activity) else f"a {type(activity).__name__}"


def _is_subclass(annotation: Any, kind: type) -> bool:
    return inspect.isclass(annotation) and issubclass(annotation, kind)


def _union(annotation: Any) -> set[Any]:
    if typing.get_origin(annotation) in (typing.Union, UnionType):
        return set(typing.get_args(annotation))
    return set() if annotation is None else {annotation}
