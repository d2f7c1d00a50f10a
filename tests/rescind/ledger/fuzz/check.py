"""Compares the world with what the ledger says of it, and counts what is wrong."""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from rescind._states import STANDING, RecordState, SagaState
from rescind.ledger import EffectView, Ledger, LedgerError, SagaView
from tests.rescind.ledger.fuzz.forward import Step
from tests.rescind.ledger.fuzz.saga import FuzzedSaga
from tests.rescind.ledger.fuzz.world import Kind

AT_ONCE = 24


@dataclass(slots=True)
class Findings:
    """How the sagas ended, and each that ended badly."""

    bad: list[str] = field(default_factory=list[str])
    ended: Counter[str] = field(default_factory=Counter[str])


One: TypeAlias = Callable[[str, random.Random, Findings], Awaitable[None]]
"""Runs the saga of this id, and adds what it finds."""


async def fuzz(
    ledger: Ledger, *, seed: int, sagas: int, deadlines_kept: bool, stop_at_first: bool = False
) -> Findings:
    """Run this many random sagas, and compare each with its world."""

    async def one(saga_id: str, rng: random.Random, findings: Findings) -> None:
        saga = FuzzedSaga(ledger, rng, saga_id, deadlines_kept)
        try:
            await saga.run()
            await _compare(ledger, saga, findings)
        finally:
            await asyncio.gather(*saga.background, return_exceptions=True)

    return await many(ledger, one, seed=seed, sagas=sagas, stop_at_first=stop_at_first)


async def many(ledger: Ledger, one: One, *, seed: int, sagas: int, stop_at_first: bool) -> Findings:
    """Run this many sagas AT_ONCE at a time, and verify the journal of all."""
    findings = Findings()
    source = random.Random(seed)
    room = asyncio.Semaphore(AT_ONCE)
    prefix = f"fuzz/{seed}-{random.SystemRandom().getrandbits(40):x}"

    async def in_turn(number: int, own_seed: float) -> None:
        saga_id = f"{prefix}/{number}"
        async with room:
            if stop_at_first and findings.bad:
                return
            try:
                await one(saga_id, random.Random(own_seed), findings)
            except LedgerError as error:
                findings.bad.append(f"{saga_id}: {type(error).__name__}: {error}")

    async with asyncio.TaskGroup() as group:
        for number in range(sagas):
            group.create_task(in_turn(number, source.random()))
    findings.bad += [str(each) for each in (await ledger.verify(prefix)).differences]
    return findings


async def _compare(ledger: Ledger, saga: FuzzedSaga, findings: Findings) -> None:
    view = await ledger.show(saga.id)
    if view is None:
        findings.ended["never begun"] += 1
        findings.bad += [f"{saga.id}: no record" for step in saga.steps if not step.world.is_as_before()]
        return
    findings.ended[view.state] += 1
    rows = {row.key: row for row in view.effects}
    for step in saga.steps:
        row = rows.get(step.key)
        trouble = _trouble(step, row, view, deadlines_kept=saga.deadlines_kept)
        if row is not None:
            findings.ended[f"{step.world.repeat} {row.state}"] += 1
        if trouble:
            findings.bad.append(f"{saga.id}: {trouble}: {step} {row} in {view.state}")
    if unsettled := _unsettled_at_seal(view):
        findings.bad.append(f"{saga.id}: sealed over {unsettled}")


def _trouble(step: Step, row: EffectView | None, view: SagaView, *, deadlines_kept: bool) -> str | None:
    world = step.world
    if row is None:
        return None if world.is_as_before() else "an effect without a record"
    if row.state in {RecordState.ABSENT, RecordState.UNDONE, RecordState.RESOLVED}:
        return None if world.is_as_before() else "reported clean, and something is left"
    if view.state is SagaState.CLOSED and row.state in STANDING:
        return "a closed saga with a standing effect"
    if view.state in {SagaState.OPEN, SagaState.UNWINDING}:
        return "the sweeper did not come to an end"
    if row.state is not RecordState.APPLIED or row.dirty:
        return "sealed, and not all its effects stand"
    if not world.stands():
        return "sealed, and the effect is not there"
    known_unproven = not deadlines_kept and bool(row.unproven)
    if world.kind is Kind.MAKE and world.made > 1 and not known_unproven:
        return "happened twice, and nobody knows"
    return None


def _unsettled_at_seal(view: SagaView) -> dict[str, str]:
    states: dict[str, str] = {}
    for line in view.journal:
        body = cast("dict[str, dict[str, str]]", line.body)
        if "state" in body.get("effect", {}):
            states[str(body["key"])] = body["effect"]["state"]
        if line.event == "seal":
            return {key: state for key, state in states.items() if state in STANDING - {RecordState.APPLIED}}
    return {}
