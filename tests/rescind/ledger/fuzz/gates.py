"""Compares what was let through a gate with what people said, as they were told it, and with the journal."""

import random
from collections.abc import Iterator
from typing import Any, cast

from rescind.ledger import Ledger
from tests.rescind.ledger.fuzz.check import Findings, many
from tests.rescind.ledger.fuzz.gate import Begun, FuzzedGate, Said


async def fuzz_gates(ledger: Ledger, *, seed: int, sagas: int, stop_at_first: bool = False) -> Findings:
    """Run this many sagas with a point of no return each, and compare."""

    async def one(saga_id: str, rng: random.Random, findings: Findings) -> None:
        gate = FuzzedGate(ledger, rng, saga_id)
        await gate.run()
        used = await _used(ledger, gate)
        findings.bad += [f"{saga_id}: {each}: {gate}" for each in _wrong(gate, used)]
        findings.ended.update(_kinds(gate))

    return await many(ledger, one, seed=seed, sagas=sagas, stop_at_first=stop_at_first)


async def _used(ledger: Ledger, gate: FuzzedGate) -> dict[int, list[str]]:
    """The words that each attempt has used up, as the journal says."""
    view = await ledger.show(gate.id)
    bodies = (
        [cast("dict[str, Any]", line.body) for line in view.journal if line.event == "begin"] if view else []
    )
    return {body["effect"]["attempt"]: [each["word"] for each in body.get("approval", [])] for body in bodies}


def _wrong(gate: FuzzedGate, used: dict[int, list[str]]) -> Iterator[str]:
    if gate.world.made > 1:
        yield "called twice"
    for word in gate.said:
        if word.verdict == "approve" and not any(_in_time(word, gate)):
            yield f"taken too late: {word}"
    said = {each.note: each for each in gate.said}
    users: dict[str, str] = {}
    for begun in gate.begun:
        words = [said[each] for each in used[begun.number] if each in said]
        yield from (f"{why}: {begun} by {words}" for why in _wrongly(gate, begun, words))
        if any(users.setdefault(each.note, begun.run) != begun.run for each in words):
            yield f"one approval for two runs: {begun} by {words}"


def _wrongly(gate: FuzzedGate, begun: Begun, words: list[Said]) -> Iterator[str]:
    """Why an attempt should not have been let through."""
    if len({each.who.strip().lower() for each in words}) < gate.people:
        yield "too few people"
    if any(each.verdict != "approve" or each.digest != begun.digest for each in words):
        yield "for something else"
    if any(each.note in gate.dead for each in words):
        yield "by a question that was rejected or has expired"
    if _is_first(gate, begun) and _has_expired(gate, begun, words):
        yield "by an approval that has expired"
    if gate.cancelled is not None and begun.sent > gate.cancelled:
        yield "after the cancellation"


def _in_time(word: Said, gate: FuzzedGate) -> Iterator[bool]:
    return (each.digest == word.digest and word.sent < each.answered + gate.lasts for each in gate.asked)


def _is_first(gate: FuzzedGate, begun: Begun) -> bool:
    """Whether it is the run's first attempt; the others share its approval, however late."""
    return begun.number == min(each.number for each in gate.begun if each.run == begun.run)


def _has_expired(gate: FuzzedGate, begun: Begun, words: list[Said]) -> bool:
    return begun.sent > max((each.answered for each in words), default=0) + gate.lasts


def _kinds(gate: FuzzedGate) -> Iterator[str]:
    """What has happened, so that a run that shows nothing is noticed."""
    yield "called" if gate.world.made else "not called"
    if len(gate.begun) > 1:
        yield "let through again"
    yield from {each.verdict for each in gate.said}
    if gate.dead:
        yield "approved in vain"
    if gate.cancelled is not None:
        yield "cancelled"
    if len({each.run for each in gate.begun}) > 1:
        yield "approved anew"
