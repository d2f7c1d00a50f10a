"""A ledger that is older than Temporal remembers it lets nobody act, and takes every report."""

from collections.abc import Callable

import pytest

from rescind._states import Outcome, RecordState
from rescind.ledger import EffectAddress, Finished, Go, Ledger, LedgerBehind, Refusal, Refused
from tests.rescind.ledger.steps import applied, begin, go, in_doubt, state_of, undoing

At = Callable[..., EffectAddress]


def other(at: EffectAddress, namespace: str) -> EffectAddress:
    """The same effect in another namespace."""
    return EffectAddress(f"{namespace}/{at.saga}", at.epoch, f"{namespace}/{at.key}", at.seq)


async def test_looks_are_counted(ledger: Ledger) -> None:
    """A look counts on, a worker's start does not; what Temporal remembers of an earlier look is in step."""
    assert [await ledger.compare("counted", None, is_look=True) for _ in range(3)] == [1, 2, 3]
    assert await ledger.compare("counted", 2, is_look=False) == 3
    assert await ledger.compare("counted", 3, is_look=True) == 4
    assert await ledger.compare("another", None, is_look=True) == 1


async def test_older_ledger(ledger: Ledger, address: At) -> None:
    """Nothing is begun, undone or settled in its namespace; a report is taken; in step again, all goes on."""
    at, late, new = (other(address(name), "older") for name in ("a", "b", "c"))
    await applied(ledger, at)
    attempt = (await go(ledger, late)).attempt
    await ledger.compare("older", None, is_look=True)
    with pytest.raises(LedgerBehind, match="has counted 1 looks of the sweeper, and Temporal remembers 7"):
        await ledger.compare("older", 7, is_look=True)
    with pytest.raises(LedgerBehind, match=r"docs/restore\.md"):
        await go(ledger, new)
    with pytest.raises(LedgerBehind):
        await undoing(ledger, at)
    with pytest.raises(LedgerBehind):
        await ledger.fence(new)
    with pytest.raises(LedgerBehind):
        await ledger.compare("older", None, is_look=True)
    assert isinstance(await ledger.finish(late, attempt, Outcome.APPLIED, result={}), Finished)
    await go(ledger, address())  # another namespace of the same database
    assert await ledger.bring_in_step("older", "anna")
    assert not await ledger.bring_in_step("older", "anna")
    assert await ledger.compare("older", 7, is_look=True) == 8
    await go(ledger, new)


async def test_effect_in_doubt_stays_in_doubt(ledger: Ledger, address: At) -> None:
    """Being behind changes no row and no line."""
    at = other(address(), "still")
    await in_doubt(ledger, at)
    with pytest.raises(LedgerBehind):
        await ledger.compare("still", 1, is_look=False)
    assert (await ledger.verify(at.saga)).differences == []
    await ledger.bring_in_step("still", "anna")


async def test_step_that_a_restored_ledger_has_lost(ledger: Ledger, address: At) -> None:
    """In doubt without a row, and where no before-image is on record; no attempt and no lookup is let through then."""
    unknown, refused = address("unknown"), address("refused")
    await ledger.finish(refused, (await go(ledger, refused)).attempt, Outcome.NOTHING)
    for at in (unknown, refused):
        assert await ledger.mistrust(at, late=0, why="it was restored") is RecordState.IN_DOUBT
        assert await ledger.mistrust(at, late=0, why="it was restored") is None
        assert (await begin(ledger, at)) == Refused(Refusal.IN_DOUBT, RecordState.IN_DOUBT)
        fenced = await ledger.fence(at)
        assert (fenced.state, fenced.request) == (RecordState.IN_DOUBT, None)
    assert (await ledger.verify(unknown.saga)).differences == []


async def test_lost_attempt_of_a_step_with_a_before_image(ledger: Ledger, address: At) -> None:
    """It is one more attempt that has not reported: the next one asks first, and what was there before stays."""
    at = address()
    attempt = (await go(ledger, at)).attempt
    await ledger.remember(at, attempt, {"status": "new"})
    await ledger.finish(at, attempt, Outcome.NOTHING)
    assert await ledger.mistrust(at, late=0, why="it was restored") is RecordState.INTENDED
    begun = await begin(ledger, at)
    assert isinstance(begun, Go)
    assert (begun.attempt, begun.ask, begun.before) == (3, True, {"status": "new"})
    assert (await ledger.verify(at.saga)).differences == []


async def test_step_whose_end_is_on_record(ledger: Ledger, address: At) -> None:
    """A restored ledger is believed what it knows."""
    done, fenced = address("done"), address("fenced")
    await applied(ledger, done)
    await ledger.fence(fenced)
    for at in (done, fenced):
        assert await ledger.mistrust(at, late=0, why="it was restored") is None
    assert await state_of(ledger, done) == ("applied", "open")
