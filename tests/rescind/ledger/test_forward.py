"""Statements of the forward wrapper: begin, remember, finish."""

import asyncio
from collections.abc import Callable

import pytest

from rescind._states import Outcome, RecordState, Repeat, SagaState, UndoOutcome
from rescind.ledger import (
    Busy,
    EffectAddress,
    EffectFenced,
    Finished,
    Go,
    IllegalTransition,
    Ledger,
    Refusal,
    Refused,
    Replay,
    seal_digest,
)
from tests.rescind.ledger.steps import EXACT, applied, begin, go, in_doubt, state_of, undoing, undone

At = Callable[..., EffectAddress]


async def test_first_attempt(ledger: Ledger, address: At) -> None:
    """It is let through without a question, and is on record as unproven with tool, version and run."""
    at = address()
    assert await begin(ledger, at) == Go(attempt=1, ask=False, proven=True, before=None)
    view = await ledger.show(at.saga)
    assert view is not None
    row = view.effects[0]
    assert (row.tool, row.version, row.unproven, row.request) == ("test.tool", 3, (1,), {"name": "x"})
    assert view.owner == "run-1"


async def test_applied_effect_is_begun_again(ledger: Ledger, address: At) -> None:
    """The stored result is replayed and no attempt is added."""
    at = address()
    await applied(ledger, at)
    assert await begin(ledger, at) == Replay({"id": 1})


async def test_key_with_another_request(ledger: Ledger, address: At) -> None:
    """It is refused while an attempt with the first request may have acted."""
    at = address()
    await go(ledger, at)
    assert await begin(ledger, at, digest="other") == Refused(Refusal.KEY_REUSED, RecordState.INTENDED)


async def test_refused_attempt_then_another_request(ledger: Ledger, address: At) -> None:
    """A key whose every attempt is proven empty takes a new request, and forgets what was there before."""
    at = address()
    await go(ledger, at)
    await ledger.remember(at, 1, "was there")
    assert await ledger.finish(at, 1, Outcome.REFUSED) == Finished(RecordState.ABSENT, ())
    assert await begin(ledger, at, digest="other") == Go(2, ask=False, proven=True, before=None)


async def test_looked_up_while_first_attempt_is_in_flight(ledger: Ledger, address: At) -> None:
    """The second waits for the first one's landing, and is then told to ask before it calls."""
    at = address()
    await go(ledger, at, ttl=0.2)
    busy = await begin(ledger, at)
    assert isinstance(busy, Busy)
    assert 0 < busy.wait <= 0.2
    await asyncio.sleep(busy.wait + 0.01)
    assert await begin(ledger, at) == Go(2, ask=True, proven=False, before=None)


async def test_deduplicated_while_first_attempt_is_in_flight(ledger: Ledger, address: At) -> None:
    """The second is let through at once, since the provider honours the key."""
    at = address()
    await go(ledger, at, Repeat.DEDUPLICATED)
    assert await begin(ledger, at, Repeat.DEDUPLICATED) == Go(2, ask=False, proven=False, before=None)


async def test_never_repeated_tool_with_an_unproven_attempt(ledger: Ledger, address: At) -> None:
    """The second is refused for good, also after the first one's landing."""
    at = address()
    await go(ledger, at, Repeat.NEVER, ttl=0)
    assert await begin(ledger, at, Repeat.NEVER) == Refused(Refusal.UNPROVEN, RecordState.INTENDED)


async def test_never_repeated_tool_after_a_proof_of_nothing(ledger: Ledger, address: At) -> None:
    """The second is let through, since the first is proven empty."""
    at = address()
    await go(ledger, at, Repeat.NEVER)
    await ledger.finish(at, 1, Outcome.NOTHING)
    assert await begin(ledger, at, Repeat.NEVER) == Go(2, ask=False, proven=True, before=None)


async def test_begin_in_a_saga_that_unwinds(ledger: Ledger, address: At) -> None:
    """It is refused, and the answer says that the saga is the reason."""
    at = address()
    await applied(ledger, at)
    await ledger.unwind(at.saga, 0)
    assert await begin(ledger, address("b")) == Refused(Refusal.SAGA_NOT_OPEN, SagaState.UNWINDING)


async def test_key_of_another_saga(ledger: Ledger, address: At) -> None:
    """A key belongs to one saga for ever; another saga's use of it is an error."""
    at = address()
    await go(ledger, at)
    with pytest.raises(IllegalTransition, match="belongs to saga"):
        await begin(ledger, EffectAddress(at.saga + "x", 0, at.key, (1,)))


async def test_before_image_with_an_unproven_earlier_attempt(ledger: Ledger, address: At) -> None:
    """What the first attempt saw stays, since the second may be looking at the first one's work."""
    at = address()
    await go(ledger, at, Repeat.DEDUPLICATED)
    assert await ledger.remember(at, 1, None) is None
    await go(ledger, at, Repeat.DEDUPLICATED)
    assert await ledger.remember(at, 2, "work of attempt 1") is None


async def test_before_image_after_proof_of_nothing(ledger: Ledger, address: At) -> None:
    """The second attempt's picture replaces the first one's, which did nothing."""
    at = address()
    await go(ledger, at)
    await ledger.remember(at, 1, "old")
    await ledger.finish(at, 1, Outcome.NOTHING)
    await go(ledger, at)
    assert await ledger.remember(at, 2, "new") == "new"


async def test_remember_when_fenced(ledger: Ledger, address: At) -> None:
    """The attempt hears that it must not act."""
    at = address()
    await go(ledger, at)
    await ledger.fence(at)
    with pytest.raises(EffectFenced):
        await ledger.remember(at, 1, "old")


async def test_refusal_after_an_unproven_attempt(ledger: Ledger, address: At) -> None:
    """The effect is not absent: the first attempt may have acted."""
    at = address()
    await go(ledger, at, Repeat.DEDUPLICATED)
    await go(ledger, at, Repeat.DEDUPLICATED)
    assert await ledger.finish(at, 2, Outcome.REFUSED) == Finished(RecordState.INTENDED, (1,))


async def test_no_op_with_an_unproven_attempt(ledger: Ledger, address: At) -> None:
    """An attempt that changed nothing may be looking at another one's work, so the effect counts as changed."""
    at = address()
    await go(ledger, at, Repeat.DEDUPLICATED)
    await go(ledger, at, Repeat.DEDUPLICATED)
    await ledger.finish(at, 2, Outcome.APPLIED, changed=False)
    view = await ledger.show(at.saga)
    assert view is not None
    assert view.effects[0].changed


async def test_report_that_is_sent_twice(ledger: Ledger, address: At) -> None:
    """The second changes nothing, also when the effect has been undone in between."""
    at = address()
    await undone(ledger, at)
    assert await ledger.finish(at, 1, Outcome.APPLIED) == Finished(RecordState.UNDONE, ())
    assert await state_of(ledger, at) == ("undone", "closed")


async def test_stray_after_settled_absent(ledger: Ledger, address: At) -> None:
    """A late report reopens a saga that was closed, and the effect stands."""
    at = address()
    await go(ledger, at, ttl=0)
    await ledger.fence(at)
    assert await ledger.settle(at, RecordState.ABSENT) is RecordState.ABSENT
    await ledger.unwind(at.saga, 0)
    assert await state_of(ledger, at) == ("absent", "closed")
    await ledger.finish(at, 1, Outcome.APPLIED, result={"id": 7})
    assert await state_of(ledger, at) == ("applied", "unwinding")


async def test_doubt_after_settled_absent(ledger: Ledger, address: At) -> None:
    """A late report of an unknown end puts the effect in doubt and reopens the saga."""
    at = address()
    await go(ledger, at, ttl=0)
    await ledger.fence(at)
    await ledger.settle(at, RecordState.ABSENT)
    await ledger.unwind(at.saga, 0)
    await ledger.finish(at, 1, Outcome.UNKNOWN, late=5)
    assert await state_of(ledger, at) == ("in_doubt", "unwinding")
    assert (await ledger.fence(at)).wait > 4


async def test_double_in_a_sealed_saga(ledger: Ledger, address: At) -> None:
    """A second effect reopens the saga; its undo runs twice."""
    at = address()
    await go(ledger, at, ttl=0)
    await go(ledger, at)
    await ledger.finish(at, 2, Outcome.APPLIED)
    await ledger.seal(at.saga, 0, seal_digest([at.key]))
    assert await state_of(ledger, at) == ("applied", "sealed")
    await ledger.finish(at, 1, Outcome.APPLIED)
    assert await state_of(ledger, at) == ("applied", "unwinding")


async def test_maker_reports_after_the_lookup(ledger: Ledger, address: At) -> None:
    """The only attempt that can have made what was found is no double."""
    at = address()
    await go(ledger, at, ttl=0)
    second = await go(ledger, at)
    assert second.ask
    await ledger.finish(at, 2, Outcome.APPLIED, result={"id": 1}, found=True)
    await ledger.seal(at.saga, 0, seal_digest([at.key]))
    assert await ledger.finish(at, 1, Outcome.APPLIED) == Finished(RecordState.APPLIED, ())
    assert await state_of(ledger, at) == ("applied", "sealed")


async def test_report_after_the_maker_s(ledger: Ledger, address: At) -> None:
    """What was found may have been the first reporter's work, so a second report after the undo is another effect."""
    at = address()
    await go(ledger, at, Repeat.DEDUPLICATED, ttl=0)
    await go(ledger, at, Repeat.DEDUPLICATED, ttl=0)
    await ledger.fence(at)
    await ledger.settle(at, RecordState.APPLIED, {"id": 1})
    assert await ledger.finish(at, 2, Outcome.APPLIED) == Finished(RecordState.APPLIED, (1,))
    attempt = (await undoing(ledger, at)).attempt
    await ledger.undo_finish(at, attempt, UndoOutcome.UNDONE, EXACT)
    assert await state_of(ledger, at) == ("undone", "closed")
    await ledger.finish(at, 1, Outcome.APPLIED)
    assert await state_of(ledger, at) == ("applied", "unwinding")


async def test_doubt_that_dissolves(ledger: Ledger, address: At) -> None:
    """The last unproven attempt's proof of nothing makes an effect in doubt absent."""
    at = address()
    attempt = await in_doubt(ledger, at)
    assert await ledger.finish(at, attempt, Outcome.NOTHING) == Finished(RecordState.ABSENT, ())


async def test_late_report_of_unknown_beside_an_applied_effect(ledger: Ledger, address: At) -> None:
    """The undo waits until the other attempt's effect can have landed."""
    at = address()
    await go(ledger, at, Repeat.DEDUPLICATED, ttl=0)
    await go(ledger, at, Repeat.DEDUPLICATED, ttl=0)
    await ledger.finish(at, 2, Outcome.APPLIED)
    await ledger.finish(at, 1, Outcome.UNKNOWN, late=9)
    answer = await ledger.undo_begin(at, ttl=1, whole=True)
    assert isinstance(answer, Busy)
    assert answer.wait > 8


async def test_report_on_an_effect_that_is_not_on_record(ledger: Ledger, address: At) -> None:
    """It is kept as an effect in doubt, for a person: the ledger must have lost rows."""
    at = address()
    assert await ledger.finish(at, 1, Outcome.APPLIED, result={"id": 1}) == Finished(RecordState.IN_DOUBT, ())


async def test_double_that_comes_while_it_is_undone(ledger: Ledger, address: At) -> None:
    """The end of the undo says that one more is due."""
    at = address()
    await go(ledger, at, ttl=0)
    await go(ledger, at, ttl=0)
    await ledger.finish(at, 2, Outcome.APPLIED)
    attempt = (await undoing(ledger, at, ttl=0)).attempt
    await ledger.finish(at, 1, Outcome.APPLIED)
    assert await ledger.undo_finish(at, attempt, UndoOutcome.UNDONE, EXACT) is RecordState.APPLIED
    assert await state_of(ledger, at) == ("applied", "unwinding")
