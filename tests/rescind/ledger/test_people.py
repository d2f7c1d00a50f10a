"""What needs a person, and a person's word on it."""

from collections.abc import Callable

import pytest

from rescind._states import RecordState, UndoOutcome, Verdict
from rescind.ledger import (
    EffectAddress,
    HowOpen,
    IllegalTransition,
    Ledger,
    Refusal,
    Refused,
    Seen,
    UndoDone,
    Wait,
)
from tests.rescind.ledger.steps import applied, in_doubt, state_of, stuck, undoing, undone

At = Callable[..., EffectAddress]


@pytest.mark.parametrize(
    ("verdict", "grade", "detail"),
    [
        (Verdict.DONE, "equivalent", "done by hand, says anna: why"),
        (Verdict.WAIVE, "residue", "left standing, says anna: why"),
    ],
)
async def test_person_ends_a_stuck_effect(
    ledger: Ledger, address: At, verdict: Verdict, grade: str, detail: str
) -> None:
    """The saga is closed, and what is left is said: a waived effect is never called clean."""
    at = address()
    await stuck(ledger, at)
    assert await ledger.resolve(at, verdict, who="anna", note="why") is RecordState.RESOLVED
    assert await state_of(ledger, at) == ("resolved", "closed")
    view = await ledger.show(at.saga)
    assert view is not None
    assert view.effects[0].restoration == {"grade": grade, "detail": detail}
    if grade == "residue":
        await unwinds_no_more(ledger, at)
    else:
        assert await ledger.undo_begin(at, ttl=1, whole=True) == UndoDone({"grade": grade, "detail": detail})


async def unwinds_no_more(ledger: Ledger, at: EffectAddress) -> None:
    """A run that is reset is told that the unwinding is over, and can call nothing clean."""
    with pytest.raises(IllegalTransition, match="a person has decided what is left"):
        await ledger.undo_begin(at, ttl=1, whole=True)
    with pytest.raises(IllegalTransition, match="a person has decided what is left"):
        await ledger.unwind(at.saga, at.epoch)


async def test_person_says_retry(ledger: Ledger, address: At) -> None:
    """The effect can be undone again."""
    at = address()
    await stuck(ledger, at)
    assert await ledger.resolve(at, Verdict.RETRY, who="anna") is RecordState.APPLIED


async def test_person_confirms_an_effect_in_doubt(ledger: Ledger, address: At) -> None:
    """It stands with the result that was given, to be undone."""
    at = address()
    await in_doubt(ledger, at)
    answer = await ledger.resolve(at, Verdict.CONFIRM, who="anna", result={"id": 3})
    assert answer is RecordState.APPLIED


async def test_person_says_absent_too_early(ledger: Ledger, address: At) -> None:
    """Not even a person is believed before the last attempt has landed."""
    at = address()
    await in_doubt(ledger, at, ttl=9)
    assert isinstance(await ledger.resolve(at, Verdict.ABSENT, who="anna"), Wait)


async def test_verdict_that_does_not_fit(ledger: Ledger, address: At) -> None:
    """It is refused and the record stays."""
    at = address()
    await applied(ledger, at)
    answer = await ledger.resolve(at, Verdict.DONE, who="anna")
    assert answer == Refused(Refusal.NOT_FITTING, RecordState.APPLIED)


async def test_word_that_is_sent_again(ledger: Ledger, address: At) -> None:
    """The same word, its answer lost, is taken once; another one is refused, since it does not fit any more."""
    at = address()
    await stuck(ledger, at)
    for _ in range(2):
        again = await ledger.resolve(at, Verdict.WAIVE, who="anna", word="w-1")
        assert again is RecordState.RESOLVED
    other = await ledger.resolve(at, Verdict.WAIVE, who="bert", word="w-2")
    assert other == Refused(Refusal.NOT_FITTING, RecordState.RESOLVED)
    view = await ledger.show(at.saga)
    assert view is not None
    assert [line.body["who"] for line in view.journal if line.event == "resolve"] == ["anna"]  # type: ignore[index,call-overload]


async def test_lookup_that_disagrees_with_done(ledger: Ledger, address: At) -> None:
    """What the lookup said is in the journal, and the effect is not called clean."""
    at = address()
    await stuck(ledger, at)
    seen = Seen("the lookup still finds it", disagrees=True)
    await ledger.resolve(at, Verdict.DONE, who="anna", note="deleted", seen=seen)
    await unwinds_no_more(ledger, at)
    listed = [each for each in await ledger.sagas(at.saga) if each.id == at.saga]
    assert [(each.state, each.left_standing) for each in listed] == [("closed", 1)]
    view = await ledger.show(at.saga)
    assert view is not None
    detail = "done by hand, says anna: deleted; but the lookup still finds it"
    assert view.effects[0].restoration == {"grade": "residue", "detail": detail}
    assert "the lookup still finds it" in str(view.journal[-1].body)


async def test_person_asks_for_another_look(ledger: Ledger, address: At) -> None:
    """A retry of an effect in doubt leaves it in doubt, and the journal says who asked."""
    at = address()
    await in_doubt(ledger, at)
    assert await ledger.resolve(at, Verdict.RETRY, who="anna") is RecordState.IN_DOUBT
    view = await ledger.show(at.saga)
    assert view is not None
    assert view.journal[-1].event == "resolve"


async def test_what_needs_a_person(ledger: Ledger, address: At) -> None:
    """The effects that do, newest first, with how they came to it and why the saga failed; others are not named."""
    conflict, doubt, failed, untried = (address(name) for name in "abcd")
    for at in (failed, untried):
        await applied(ledger, at)
    await in_doubt(ledger, doubt)
    await stuck(ledger, conflict)
    attempt = await undoing(ledger, failed)
    await ledger.undo_finish(failed, attempt.attempt, UndoOutcome.FAILED, error="away")
    await ledger.give_up(failed, "all tries failed")
    await ledger.give_up(untried, "it has no undo")
    await ledger.report(conflict.saga, 0, {"error": "the reason", "failed_at": "e"})
    found = await ledger.open_effects(conflict.saga)
    assert found is not None
    assert (found.error, found.failed_at, found.total, found.epoch) == ("the reason", "e", 4, 0)
    assert [(each.key, each.how) for each in found.effects] == [
        (untried.key, HowOpen.UNTRIED),
        (failed.key, HowOpen.FAILED),
        (doubt.key, HowOpen.IN_DOUBT),
        (conflict.key, HowOpen.CONFLICT),
    ]
    assert (found.effects[1].error, found.effects[1].undo_try) == ("all tries failed", 1)
    newest = await ledger.open_effects(conflict.saga, 1)
    assert newest is not None
    assert (newest.total, [each.key for each in newest.effects]) == (4, [untried.key])
    assert await ledger.open_effects("n/typo/r") is None


async def test_since_when(ledger: Ledger, address: At) -> None:
    """Since when does not move with a try in vain; how the effect came to need a person is that of the last one."""
    at = address()
    await stuck(ledger, at)
    first = await ledger.open_effects(at.saga)
    await undoing(ledger, at)
    between = await ledger.open_effects(at.saga)
    await ledger.give_up(at, "in vain")
    last = await ledger.open_effects(at.saga)
    assert first
    assert between
    assert last
    assert between.effects == ()
    assert first.effects[0].since == last.effects[0].since
    assert (first.effects[0].how, last.effects[0].how) == (HowOpen.CONFLICT, HowOpen.FAILED)


async def test_desk(ledger: Ledger) -> None:
    """It has the sagas of one namespace that need a person, oldest first."""
    for name in ("desk1/a/r", "desk1/b/r", "desk10/c/r"):
        await stuck(ledger, EffectAddress(name, 0, f"{name}/x", (1,)))
    await undone(ledger, EffectAddress("desk1/d/r", 0, "desk1/d/r/x", (1,)))
    assert [each.id for each in await ledger.desk("desk1/")] == ["desk1/a/r", "desk1/b/r"]
    assert [each.id for each in await ledger.desk("desk1/", 1)] == ["desk1/a/r"]
