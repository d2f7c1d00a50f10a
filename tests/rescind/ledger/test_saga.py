"""Statements on the whole saga: seal, unwind, report, promote, claim, resolve, and what is read."""

from collections.abc import Callable

import pytest

from rescind._states import Outcome, RecordState, SagaState, UndoOutcome
from rescind.ledger import (
    Claimed,
    EffectAddress,
    Extent,
    IllegalTransition,
    Ledger,
    OpenTool,
    Refusal,
    Refused,
    Sealed,
    TakenOver,
    seal_digest,
)
from tests.rescind.ledger.steps import EXACT, applied, begin, go, state_of, stuck, undoing, undone

At = Callable[..., EffectAddress]


async def test_seal_with_exactly_this_runs_effects(ledger: Ledger, address: At) -> None:
    """It is sealed, and a second seal whose reply was lost is sealed too, also once it is committed."""
    first, second = address("a"), address("ü")
    await applied(ledger, first)
    await applied(ledger, second)
    digest = seal_digest([second.key, first.key])
    assert await ledger.seal(first.saga, 0, digest) == Sealed()
    assert await ledger.seal(first.saga, 0, digest) == Sealed()
    assert await ledger.promote(first.saga) is SagaState.COMMITTED
    assert await ledger.seal(first.saga, 0, digest) == Sealed()


async def test_seal_of_a_run_that_knows_fewer_effects(ledger: Ledger, address: At) -> None:
    """It is refused, before and after another run has sealed: an effect would be nobody's."""
    first, second = address("a"), address("b")
    await applied(ledger, first)
    await applied(ledger, second)
    fewer = seal_digest([first.key])
    assert await ledger.seal(first.saga, 0, fewer) == Refused(Refusal.KEYS_DIFFER, SagaState.OPEN)
    await ledger.seal(first.saga, 0, seal_digest([first.key, second.key]))
    assert await ledger.seal(first.saga, 0, fewer) == Refused(Refusal.KEYS_DIFFER, SagaState.SEALED)


async def test_seal_with_an_unsettled_effect(ledger: Ledger, address: At) -> None:
    """It is refused."""
    at = address()
    await go(ledger, at)
    assert await ledger.seal(at.saga, 0, seal_digest([])) == Refused(Refusal.UNSETTLED, SagaState.OPEN)


async def test_seal_of_a_saga_that_unwinds(ledger: Ledger, address: At) -> None:
    """It is refused, so nothing is ever sealed on undone effects."""
    at = address()
    await undone(ledger, at)
    assert await ledger.seal(at.saga, 0, seal_digest([])) == Refused(Refusal.SAGA_NOT_OPEN, SagaState.CLOSED)


async def test_unwind_lists_what_stands(ledger: Ledger, address: At) -> None:
    """It is newest first by nested place, without the no-ops, which are undone already."""
    low, nested, high, idle = address("a", 1), address("b", 2, 1), address("c", 10), address("d", 11)
    for at in (low, nested, high):
        await applied(ledger, at)
    await applied(ledger, idle, changed=False)
    standing = await ledger.unwind(low.saga, 0)
    assert [each.seq for each in standing] == [(10,), (2, 1), (1,)]
    assert await state_of(ledger, idle) == ("undone", "unwinding")


async def test_unwind_lists_a_page(ledger: Ledger, address: At) -> None:
    """With a limit it lists the newest only, and the next page once they are undone."""
    low, middle, high = address("a", 1), address("b", 2), address("c", 3)
    for at in (low, middle, high):
        await applied(ledger, at)
    assert [each.seq for each in await ledger.unwind(low.saga, 0, limit=2)] == [(3,), (2,)]
    attempt = (await undoing(ledger, high)).attempt
    await ledger.undo_finish(high, attempt, UndoOutcome.UNDONE, EXACT)
    assert [each.seq for each in await ledger.unwind(low.saga, 0, limit=2)] == [(2,), (1,)]


async def test_a_part_of_an_open_saga(ledger: Ledger, address: At) -> None:
    """What stands below one place is listed newest first, its no-ops are undone, and the saga stays open."""
    outside, first, nested, idle = (
        address("a", 1),
        address("b", 2, 1),
        address("c", 2, 2, 1),
        address("d", 2, 3),
    )
    for at in (outside, first, nested):
        await applied(ledger, at)
    await applied(ledger, idle, changed=False)
    assert [each.seq for each in await ledger.part(first.saga, 0, (2,))] == [(2, 2, 1), (2, 1)]
    assert await state_of(ledger, idle) == ("undone", "open")
    assert await state_of(ledger, outside) == ("applied", "open")


async def test_effects_that_are_missing(ledger: Ledger, address: At) -> None:
    """Of the keys that it is asked for, the ledger names those of which it has no record."""
    here, lost = address("a", 1), address("b", 2)
    await applied(ledger, here)
    assert await ledger.missing([here.key, lost.key]) == [lost.key]
    assert await ledger.missing([]) == []


async def test_unwind_of_a_sealed_saga(ledger: Ledger, address: At) -> None:
    """A cancellation that arrives after the seal takes it back."""
    at = address()
    await applied(ledger, at)
    await ledger.seal(at.saga, 0, seal_digest([at.key]))
    assert len(await ledger.unwind(at.saga, 0)) == 1
    assert await ledger.promote(at.saga) is SagaState.UNWINDING


async def test_unwind_of_a_committed_saga(ledger: Ledger, address: At) -> None:
    """It is an error, until the saga is claimed."""
    at = address()
    await applied(ledger, at)
    await ledger.seal(at.saga, 0, seal_digest([at.key]))
    await ledger.promote(at.saga)
    with pytest.raises(IllegalTransition, match="claimed"):
        await ledger.unwind(at.saga, 0)


async def test_report_of_a_saga_in_which_nothing_stands(ledger: Ledger, address: At) -> None:
    """It is stored, and the saga is closed."""
    at = address()
    await go(ledger, at)
    await ledger.finish(at, 1, Outcome.REFUSED)
    assert await ledger.report(at.saga, 0, {"failed_at": "a"}) is SagaState.CLOSED
    view = await ledger.show(at.saga)
    assert view is not None
    assert view.report == {"failed_at": "a"}


async def test_report_of_a_saga_with_a_stuck_effect(ledger: Ledger, address: At) -> None:
    """The saga is not closed by it."""
    at = address()
    await stuck(ledger, at)
    assert await ledger.report(at.saga, 0, {}) is SagaState.UNWINDING


async def test_report_of_a_sealed_saga(ledger: Ledger, address: At) -> None:
    """The saga stays sealed."""
    at = address()
    await applied(ledger, at)
    await ledger.seal(at.saga, 0, seal_digest([at.key]))
    assert await ledger.report(at.saga, 0, {}) is SagaState.SEALED


async def test_claimed_saga(ledger: Ledger, address: At) -> None:
    """The earlier owner is locked out of every statement but its reports, and hears by whom."""
    at = address()
    await applied(ledger, at)
    assert await ledger.claim(at.saga, 0, "sweeper") == Claimed(1)
    with pytest.raises(TakenOver) as caught:
        await begin(ledger, address("b"))
    assert (caught.value.saga, caught.value.owner, caught.value.epoch) == (at.saga, "sweeper", 1)
    assert await ledger.claim(at.saga, 0, "sweeper") == Claimed(1)
    with pytest.raises(TakenOver):
        await ledger.claim(at.saga, 0, "somebody else")
    assert (await ledger.finish(at, 1, Outcome.APPLIED)).state is RecordState.APPLIED


async def test_claim_of_a_committed_saga(ledger: Ledger, address: At) -> None:
    """A sweeper that comes too late takes nothing; the undo command does."""
    at = address()
    await applied(ledger, at)
    await ledger.seal(at.saga, 0, seal_digest([at.key]))
    await ledger.promote(at.saga)
    assert await ledger.claim(at.saga, 0, "sweeper") == Refused(Refusal.SAGA_COMMITTED, SagaState.COMMITTED)
    assert await ledger.claim(at.saga, 0, "undo", Extent.WHOLE) == Claimed(1)


async def test_claim_of_a_closed_saga(ledger: Ledger, address: At) -> None:
    """It is refused."""
    at = address()
    await undone(ledger, at)
    assert await ledger.claim(at.saga, 0, "sweeper") == Refused(Refusal.SAGA_CLOSED, SagaState.CLOSED)


async def test_claim_and_promote_of_an_unknown_saga(ledger: Ledger) -> None:
    """A mistyped name is an error, and leaves no row."""
    with pytest.raises(IllegalTransition, match="no saga"):
        await ledger.claim("n/typo/r", 0, "undo")
    assert await ledger.promote("n/typo/r") is None
    assert await ledger.show("n/typo/r") is None


async def test_what_the_sweeper_sees(ledger: Ledger) -> None:
    """It sees its own namespace's unfinished sagas with their owner, and the tools that are needed."""
    unfinished, other = EffectAddress("ns1/w/r", 0, "ns1k", (1,)), EffectAddress("ns10/w/r", 0, "ns10k", (1,))
    finished = EffectAddress("ns1/v/r", 0, "ns1v", (1,))
    await applied(ledger, unfinished)
    await applied(ledger, other)
    await undone(ledger, finished)
    swept = await ledger.sweep("ns1")
    assert [(each.saga, each.owner, each.standing) for each in swept] == [("ns1/w/r", "run-1", 1)]
    assert await ledger.open_tools("ns1") == [OpenTool("test.tool", 3)]
    assert [each.id for each in await ledger.sagas("ns1/")] == ["ns1/v/r", "ns1/w/r"]
