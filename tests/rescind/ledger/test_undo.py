"""Statements of the undo wrapper: undo_begin, undo_finish, give_up."""

from collections.abc import Callable

import pytest

from rescind._states import Outcome, RecordState, SagaState, UndoOutcome
from rescind.ledger import (
    Busy,
    EffectAddress,
    IllegalTransition,
    Ledger,
    Refusal,
    Refused,
    UndoDone,
    UndoGo,
    seal_digest,
)
from tests.rescind.ledger.steps import EXACT, NOTHING, applied, begin, go, state_of, stuck, undoing, undone

At = Callable[..., EffectAddress]


async def test_undo_of_an_applied_effect(ledger: Ledger, address: At) -> None:
    """The try gets all that a receipt is made of, and the saga is closed when it was the last effect."""
    at = address()
    await go(ledger, at)
    await ledger.remember(at, 1, {"was": 1})
    await ledger.finish(at, 1, Outcome.APPLIED, result={"id": 1})
    answer = await ledger.undo_begin(at, ttl=5, whole=True)
    assert answer == UndoGo(1, {"name": "x"}, {"was": 1}, {"id": 1}, (), "test.tool", 3)
    assert await ledger.undo_finish(at, 1, UndoOutcome.UNDONE, EXACT) is RecordState.UNDONE
    assert await state_of(ledger, at) == ("undone", "closed")
    assert await ledger.undo_begin(at, ttl=5, whole=True) == UndoDone(EXACT)


async def test_undo_that_arrives_before_the_step(ledger: Ledger, address: At) -> None:
    """There is nothing to undo, and the delayed step is refused."""
    at = address()
    assert await ledger.undo_begin(at, ttl=5, whole=True) == UndoDone(NOTHING)
    assert isinstance(await begin(ledger, at), Refused)


async def test_undo_of_an_unsettled_effect(ledger: Ledger, address: At) -> None:
    """It is refused: settle first; the saga is unwinding all the same."""
    at = address()
    await go(ledger, at)
    assert await ledger.undo_begin(at, ttl=5, whole=True) == Refused(Refusal.UNSETTLED, RecordState.INTENDED)
    assert await state_of(ledger, at) == ("intended", "unwinding")


async def test_undo_of_a_no_op(ledger: Ledger, address: At) -> None:
    """An effect that changed nothing is undone by doing nothing."""
    at = address()
    await applied(ledger, at, changed=False)
    assert await ledger.undo_begin(at, ttl=5, whole=True) == UndoDone(NOTHING)
    assert await state_of(ledger, at) == ("undone", "closed")


async def test_second_try_while_the_first_is_in_flight(ledger: Ledger, address: At) -> None:
    """It waits until the first one's time is over, or until it has reported a failure."""
    at = address()
    await applied(ledger, at)
    await undoing(ledger, at, ttl=9)
    assert isinstance(await ledger.undo_begin(at, ttl=9, whole=True), Busy)
    await ledger.undo_finish(at, 1, UndoOutcome.FAILED, error="provider down")
    assert (await undoing(ledger, at)).attempt == 2


async def test_conflict(ledger: Ledger, address: At) -> None:
    """The effect is stuck with the reason, and the saga stays open for a person."""
    at = address()
    await stuck(ledger, at)
    assert await state_of(ledger, at) == ("stuck", "unwinding")
    view = await ledger.show(at.saga)
    assert view is not None
    assert view.effects[0].error == "it was changed since"


async def test_conflict_from_an_earlier_try(ledger: Ledger, address: At) -> None:
    """It changes nothing: the later try decides."""
    at = address()
    await applied(ledger, at)
    await undoing(ledger, at, ttl=0)
    await undoing(ledger, at)
    assert await ledger.undo_finish(at, 1, UndoOutcome.CONFLICT) is RecordState.UNDOING


async def test_late_success_of_a_try_that_was_given_up(ledger: Ledger, address: At) -> None:
    """The effect is undone after all."""
    at = address()
    await applied(ledger, at)
    await undoing(ledger, at)
    assert await ledger.give_up(at, "tries used up") is RecordState.STUCK
    assert await ledger.undo_finish(at, 1, UndoOutcome.UNDONE, EXACT) is RecordState.UNDONE


async def test_irreversible_effect(ledger: Ledger, address: At) -> None:
    """An applied effect that cannot be undone is given up without a try."""
    at = address()
    await applied(ledger, at)
    await ledger.unwind(at.saga, 0)
    assert await ledger.give_up(at, "irreversible") is RecordState.STUCK


async def test_give_up_in_a_sealed_saga(ledger: Ledger, address: At) -> None:
    """It is an error: what is sealed stands."""
    at = address()
    await applied(ledger, at)
    await ledger.seal(at.saga, 0, seal_digest([at.key]))
    with pytest.raises(IllegalTransition, match="sealed"):
        await ledger.give_up(at, "no")


async def test_give_up_of_an_effect_that_is_undone(ledger: Ledger, address: At) -> None:
    """It stays undone."""
    at = address()
    await undone(ledger, at)
    assert await ledger.give_up(at, "late") is RecordState.UNDONE


async def test_rollback_to_a_savepoint(ledger: Ledger, address: At) -> None:
    """The saga stays open, and is sealed with what is left."""
    kept, dropped = address("a", 0), address("b", 1, 2)
    await applied(ledger, kept)
    await applied(ledger, dropped)
    assert isinstance(await ledger.undo_begin(dropped, ttl=5, whole=False), UndoGo)
    await ledger.undo_finish(dropped, 1, UndoOutcome.UNDONE, EXACT)
    assert await state_of(ledger, dropped) == ("undone", "open")
    await ledger.seal(kept.saga, 0, seal_digest([kept.key]))
    assert await state_of(ledger, kept) == ("applied", "sealed")
    assert await ledger.undo_begin(kept, ttl=5, whole=False) == Refused(
        Refusal.SAGA_COMMITTED, SagaState.SEALED
    )


async def test_undo_in_a_committed_saga_that_nobody_claimed(ledger: Ledger, address: At) -> None:
    """It is refused: a reset run must not undo what was committed."""
    at = address()
    await applied(ledger, at)
    await ledger.seal(at.saga, 0, seal_digest([at.key]))
    await ledger.promote(at.saga)
    assert await ledger.undo_begin(at, ttl=5, whole=True) == Refused(
        Refusal.SAGA_COMMITTED, SagaState.COMMITTED
    )
