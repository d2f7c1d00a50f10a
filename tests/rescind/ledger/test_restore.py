"""A ledger that is older than Temporal remembers it lets nobody act, and takes every report."""

from collections.abc import Callable

import pytest

from rescind._states import Outcome
from rescind.ledger import EffectAddress, Finished, Ledger, LedgerBehind
from tests.rescind.ledger.steps import applied, go, in_doubt, undoing

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
