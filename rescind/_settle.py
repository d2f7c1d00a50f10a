"""The activity that settles a step: fence it, wait out what is in flight, look it up, decide."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import stamina
from pydantic import JsonValue, ValidationError
from pydantic_core import to_json, to_jsonable_python
from temporalio import activity

from rescind._attempt import Attempt
from rescind._bench import Bench, Found, deadline, undisturbed
from rescind._calls import Absent, Applied, Call, Unknown
from rescind._catalogue import AnyTool, activity_names
from rescind._failures import in_flight, lookup_failed
from rescind._forward import call_of, misfit
from rescind._keys import provider_key
from rescind._states import RecordState
from rescind._wire import PAYLOAD_LIMIT, EffectOrder, StepAnswer, says_changed
from rescind.ledger import Fenced, Wait

LOOKUP_TRIES = 4
"""How often a lookup that fails is asked in one attempt."""

LOOKUP_ROUNDS = 6
"""Attempts at most in which that is done: lookups that hang do not all fit into one, and waiting takes one too."""

QUICK_ROUNDS = 4
"""The same where all of an attempt's tries have failed: they take two seconds, which is a short outage."""

_PARTIAL = "only a part of it took effect"
_SHORT = 60
"""Characters of a request's field that is named to a person."""

GENERIC_SETTLE = "rescind.settle"
"""The activity that settles a step of any tool without a lookup."""


def settle_activity(tool: AnyTool, bench: Bench) -> Any:
    """The activity that a worker registers for a tool's lookup activity, under the same name."""

    @activity.defn(name=activity_names(tool)["lookup"])
    async def settle(order: EffectOrder) -> StepAnswer:
        return await undisturbed(_settle(tool, bench, order))

    return settle


def generic_settle_activity(bench: Bench) -> Any:
    """The activity that settles steps whose tools have no lookup, or are not known: unproven ones are in doubt."""

    @activity.defn(name=GENERIC_SETTLE)
    async def settle(order: EffectOrder) -> StepAnswer:
        if order.tool not in bench.catalogue:
            return await undisturbed(_settle_unknown(bench, order))
        return await undisturbed(_settle(bench.catalogue[order.tool], bench, order))

    return settle


async def _settle_unknown(bench: Bench, order: EffectOrder) -> StepAnswer:
    fenced = await bench.ledger.fence(bench.address(order))
    if fenced.state is not RecordState.INTENDED:
        return _answer(fenced.state, fenced.result, recovered=False)
    if fenced.wait > 0:
        raise in_flight(fenced.wait)
    why = f"no tool {order.tool!r} is known to the worker; look for the key {provider_key(order.key)}"
    settled = await bench.ledger.settle(bench.address(order), RecordState.IN_DOUBT, note=why)
    if isinstance(settled, Wait):
        raise in_flight(settled.wait)
    return _answer(settled, None, recovered=False, why=why)


async def _settle(tool: AnyTool, bench: Bench, order: EffectOrder) -> StepAnswer:
    ends = deadline(tool.undo_timeout)
    fenced = await bench.ledger.fence(bench.address(order))
    if fenced.state not in (RecordState.INTENDED, RecordState.IN_DOUBT):
        return await _known(tool, bench, order, fenced, ends)
    if fenced.wait > 0:
        raise in_flight(fenced.wait)
    found = await _ask(tool, bench, order, fenced, ends)
    verdict, result, why = _verdict(found)
    settled = await bench.ledger.settle(bench.address(order), verdict, result=result, note=why)
    if isinstance(settled, Wait):
        raise in_flight(settled.wait)
    if settled is not RecordState.APPLIED or _is_partial(found):
        return _answer(settled, None, recovered=settled is RecordState.APPLIED, why=why)
    return _taken_effect(tool, result, recovered=True)


async def _known(tool: AnyTool, bench: Bench, order: EffectOrder, fenced: Fenced, ends: float) -> StepAnswer:
    """The answer for a step of which it is on record what became of it.

    An attempt of this activity may have put that on record and died, so whether the effect is a part is asked again.
    """
    if fenced.state is RecordState.APPLIED and tool.lookup is not None and activity.info().attempt > 1:
        found = await _ask(tool, bench, order, fenced, ends)
        if _is_partial(found):
            return _answer(fenced.state, None, recovered=True, why=_PARTIAL)
    if fenced.state is RecordState.APPLIED:
        return _taken_effect(tool, fenced.result, recovered=False)
    return _answer(fenced.state, fenced.result, recovered=False)


def _taken_effect(tool: AnyTool, result: JsonValue, *, recovered: bool) -> StepAnswer:
    """The answer for a step that stands; it has failed without a result that can be taken for the tool's."""
    why = None if result is None else misfit(tool, result)
    return _answer(RecordState.APPLIED, None if why else result, recovered=recovered, why=why)


async def _ask(tool: AnyTool, bench: Bench, order: EffectOrder, fenced: Fenced, ends: float) -> Found:
    if fenced.request is None:
        return Unknown(
            why="the ledger was restored from an older backup and has lost what was known of it, so that no lookup can "
            f"tell; look for the key {provider_key(order.key)}"
        )
    try:
        call = call_of(tool, order.key, fenced.request)
    except ValidationError as error:
        return Unknown(
            why=f"its request can't be read by {tool.name} of today; look for {provider_key(order.key)}: {error}"
        )
    if tool.lookup is None:
        return Unknown(why=f"{tool.name} has no lookup; {_to_check(tool, order, call)}")
    attempt = Attempt(fenced.before, refuse_to_store, ends, asyncio.get_running_loop())
    limit, asked = tool.undo_timeout, 0
    try:
        async for again in stamina.retry_context(
            on=Exception, attempts=LOOKUP_TRIES, timeout=limit, wait_initial=0.2
        ):
            with again:
                asked += time.monotonic() + limit.total_seconds() <= ends
                found = await bench.look_up(tool, call, attempt, limit=limit)
                return _with_what_to_check(found, tool, order, call)
    except Exception as error:  # a lookup that can't answer leaves the step in doubt, whatever it raised
        if activity.info().attempt < (LOOKUP_ROUNDS if asked < LOOKUP_TRIES else QUICK_ROUNDS):
            raise lookup_failed(error) from error
        why = f"the lookup failed: {type(error).__name__}: {error}; {_to_check(tool, order, call)}"
        return Unknown(why=why)
    raise AssertionError("stamina either returns or raises")


def _with_what_to_check(found: Found, tool: AnyTool, order: EffectOrder, call: Call[Any]) -> Found:
    if not isinstance(found, Unknown):
        return found
    return Unknown(why=f"{found.why}; {_to_check(tool, order, call)}")


def _to_check(tool: AnyTool, order: EffectOrder, call: Call[Any]) -> str:
    """What a person has to look for, by which key, at which system."""
    fields = ", ".join(
        f"{name}={value}"
        for name, value in call.request
        if isinstance(value, str | int) and len(str(value)) <= _SHORT
    )
    system = tool.name.partition(".")[0]
    return (
        f"check with the provider whether {order.step} took effect: look in {system} for the key {call.key}"
        f"{f', or for {fields}' if fields else ''}"
    )


def _is_partial(found: Found) -> bool:
    return isinstance(found, Applied) and found.partial


def _verdict(found: Found) -> tuple[RecordState, JsonValue, str | None]:
    match found:
        case Applied(result=result, partial=partial):
            return RecordState.APPLIED, to_jsonable_python(result), _PARTIAL if partial else None
        case Absent():
            return RecordState.ABSENT, None, None
        case Unknown(why=why):
            return RecordState.IN_DOUBT, None, why


def _answer(state: RecordState, result: JsonValue, *, recovered: bool, why: str | None = None) -> StepAnswer:
    if len(to_json(result)) > PAYLOAD_LIMIT:
        return StepAnswer(state=state, recovered=recovered, why="its result is too large for Temporal")
    changed = says_changed(result)
    return StepAnswer(state=state, result=result, changed=changed, recovered=recovered, why=why)


async def refuse_to_store(_: JsonValue) -> JsonValue:
    """Stands in for the ledger where only a forward activity may remember."""
    raise TypeError("a lookup remembers nothing; only a forward activity stores a before-image")
