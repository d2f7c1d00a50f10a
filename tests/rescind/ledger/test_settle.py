"""Settling: fence, then settle."""

import asyncio
from collections.abc import Callable

import pytest

from rescind._states import Outcome, RecordState
from rescind.ledger import EffectAddress, Fenced, IllegalTransition, Ledger, Refusal, Refused, Wait
from tests.rescind.ledger.steps import applied, begin, go

At = Callable[..., EffectAddress]


async def test_fence_before_begin(ledger: Ledger, address: At) -> None:
    """A tombstone is left, and the delayed begin is refused."""
    at = address()
    assert await ledger.fence(at) == Fenced(RecordState.ABSENT, None, None, None, 0)
    assert await begin(ledger, at) == Refused(Refusal.FENCED, RecordState.ABSENT)


async def test_fence_with_every_attempt_proven_empty(ledger: Ledger, address: At) -> None:
    """The effect is absent without a lookup."""
    at = address()
    await go(ledger, at)
    await ledger.finish(at, 1, Outcome.NOTHING)
    assert (await ledger.fence(at)).state is RecordState.ABSENT


async def test_fence_of_an_attempt_in_flight(ledger: Ledger, address: At) -> None:
    """It says how long to wait, with all that the lookup needs."""
    at = address()
    await go(ledger, at, ttl=9)
    await ledger.remember(at, 1, {"was": 1})
    fenced = await ledger.fence(at)
    assert (fenced.state, fenced.request, fenced.before) == (RecordState.INTENDED, {"name": "x"}, {"was": 1})
    assert 8 < fenced.wait <= 9


async def test_absent_before_the_landing(ledger: Ledger, address: At) -> None:
    """It is not believed until the attempt in flight has landed."""
    at = address()
    await go(ledger, at, ttl=0.2)
    await ledger.fence(at)
    wait = await ledger.settle(at, RecordState.ABSENT)
    assert isinstance(wait, Wait)
    await asyncio.sleep(wait.wait + 0.01)
    assert await ledger.settle(at, RecordState.ABSENT) is RecordState.ABSENT


async def test_settle_without_a_fence(ledger: Ledger, address: At) -> None:
    """It is an error, since another attempt could still be let through."""
    at = address()
    await go(ledger, at)
    with pytest.raises(IllegalTransition, match="not fenced"):
        await ledger.settle(at, RecordState.APPLIED)


async def test_settle_with_a_state_that_is_no_verdict(ledger: Ledger, address: At) -> None:
    """It is an error, and the record stays."""
    at = address()
    await go(ledger, at)
    await ledger.fence(at)
    with pytest.raises(IllegalTransition, match="no verdict"):
        await ledger.settle(at, RecordState.UNDONE)


async def test_report_that_comes_before_the_verdict(ledger: Ledger, address: At) -> None:
    """The report wins, and settle returns it."""
    at = address()
    await applied(ledger, at)
    await ledger.fence(at)
    assert await ledger.settle(at, RecordState.IN_DOUBT) is RecordState.APPLIED


async def test_effect_that_the_lookup_found(ledger: Ledger, address: At) -> None:
    """It stands with the looked-up result, and its maker's late report changes nothing."""
    at = address()
    await go(ledger, at, ttl=0)
    await ledger.fence(at)
    assert await ledger.settle(at, RecordState.APPLIED, {"id": 5}) is RecordState.APPLIED
    await ledger.finish(at, 1, Outcome.APPLIED, result={"id": 5})
    view = await ledger.show(at.saga)
    assert view is not None
    row = view.effects[0]
    assert (row.result, row.dirty, row.unproven, row.found) == ({"id": 5}, False, (), False)
