"""Statements of the sweeper and of the undo after the fact: claims of a part, pages, and the look back."""

import uuid
from collections.abc import Callable
from datetime import timedelta

from rescind._states import RecordState, SagaState, UndoOutcome, Verdict
from rescind.ledger import (
    Claimed,
    EffectAddress,
    Extent,
    Ledger,
    Refusal,
    Refused,
    UndoDone,
    UndoGo,
    Unfinished,
    seal_digest,
)
from tests.rescind.ledger.steps import EXACT, applied, begin, go, in_doubt, state_of, stuck, undone

At = Callable[..., EffectAddress]


async def committed(ledger: Ledger, *effects: EffectAddress) -> None:
    """Commit a saga of these effects."""
    for at in effects:
        await applied(ledger, at)
    await ledger.seal(effects[0].saga, 0, seal_digest([at.key for at in effects]))
    await ledger.promote(effects[0].saga)


def of(saga: str, name: str = "a") -> EffectAddress:
    """The address of an effect in a saga of this id."""
    return EffectAddress(saga, 0, f"{saga}/{name}", (1,))


async def found(ledger: Ledger, saga: str) -> list[Unfinished]:
    """What the sweeper finds of this saga."""
    return [each for each in await ledger.sweep("namespace", 10_000) if each.saga == saga]


async def test_claim_of_a_part(ledger: Ledger, address: At) -> None:
    """A committed saga stays committed while one of its effects is undone, in an epoch of its own."""
    await committed(ledger, address("a"), address("b"))
    at = address("b", epoch=1)
    assert await ledger.claim(at.saga, 0, "undo", Extent.PART, why="asked") == Claimed(1)
    begun = await ledger.undo_begin(at, ttl=1, whole=False)
    assert isinstance(begun, UndoGo)
    assert await ledger.undo_finish(at, begun.attempt, UndoOutcome.UNDONE, EXACT) is RecordState.UNDONE
    assert await state_of(ledger, at) == ("undone", "committed")
    assert await state_of(ledger, address("a")) == ("applied", "committed")


async def test_committed_saga_that_nobody_has_claimed(ledger: Ledger, address: At) -> None:
    """No effect of it is undone, whole or in part."""
    at = address()
    await committed(ledger, at)
    for whole in (True, False):
        answer = await ledger.undo_begin(at, ttl=1, whole=whole)
        assert answer == Refused(Refusal.SAGA_COMMITTED, SagaState.COMMITTED)


async def test_claim_of_a_part_of_a_saga_that_is_not_committed(ledger: Ledger, address: At) -> None:
    """It is refused."""
    at = address()
    await applied(ledger, at)
    answer = await ledger.claim(at.saga, 0, "undo", Extent.PART)
    assert answer == Refused(Refusal.NOT_COMMITTED, SagaState.OPEN)


async def test_part_that_is_stuck_is_tried_again(ledger: Ledger, address: At) -> None:
    """A conflict, a person's retry and the undo leave the saga committed: nothing else of it is in question."""
    await committed(ledger, address("a"), address("b"))
    await ledger.claim(address().saga, 0, "undo", Extent.PART)
    at = address("b", epoch=1)
    begun = await ledger.undo_begin(at, ttl=1, whole=False)
    assert isinstance(begun, UndoGo)
    await ledger.undo_finish(at, begun.attempt, UndoOutcome.CONFLICT, error="changed since")
    assert await state_of(ledger, at) == ("stuck", "committed")
    assert [each.saga for each in await found(ledger, at.saga)] == [at.saga]
    assert await ledger.resolve(at, Verdict.RETRY, who="anna") is RecordState.APPLIED
    assert await state_of(ledger, at) == ("applied", "committed")
    assert isinstance(await ledger.undo_begin(at, ttl=1, whole=True), UndoGo)


async def test_part_that_is_not_undone_yet(ledger: Ledger, address: At) -> None:
    """It is on record, and found by the sweeper, until nothing of it stands; also while another part is undone."""
    saga, (a, b) = address().saga, (address("a").key, address("b").key)
    await committed(ledger, address("a"), address("b"), address("c"))
    await ledger.claim(saga, 0, "undo", Extent.PART, part=[a, "no such key"])
    await ledger.claim(saga, 1, "undo", Extent.PART, part=[b])
    assert [(each.undoable, each.part) for each in await found(ledger, saga)] == [(2, (a, b))]
    for name, left in (("b", [(1, (a,))]), ("a", [])):
        at = address(name, epoch=2)
        begun = await ledger.undo_begin(at, ttl=1, whole=False)
        assert isinstance(begun, UndoGo)
        await ledger.undo_finish(at, begun.attempt, UndoOutcome.UNDONE, EXACT)
        assert [(each.undoable, each.part) for each in await found(ledger, saga)] == left
    assert await state_of(ledger, address("c")) == ("applied", "committed")
    assert (await ledger.verify(saga)).differences == []


async def test_part_that_is_given_up(ledger: Ledger, address: At) -> None:
    """It is stuck, and the saga stays committed."""
    await committed(ledger, address("a"))
    await ledger.claim(address().saga, 0, "undo", Extent.PART)
    assert await ledger.give_up(address("a", epoch=1), "nobody knows the tool") is RecordState.STUCK
    assert await state_of(ledger, address("a")) == ("stuck", "committed")


async def test_whole_saga_after_a_part(ledger: Ledger, address: At) -> None:
    """What was undone before is done with; the rest is undone and the saga is closed."""
    await committed(ledger, address("a"), address("b"))
    await ledger.claim(address().saga, 0, "undo", Extent.PART)
    for name, epoch in (("b", 1), ("a", 2)):
        if epoch == 2:
            assert await ledger.claim(address().saga, 1, "undo", Extent.WHOLE) == Claimed(2)
            done = await ledger.undo_begin(address("b", epoch=2), ttl=1, whole=True)
            assert done == UndoDone(EXACT)
        at = address(name, epoch=epoch)
        begun = await ledger.undo_begin(at, ttl=1, whole=epoch == 2)
        assert isinstance(begun, UndoGo)
        await ledger.undo_finish(at, begun.attempt, UndoOutcome.UNDONE, EXACT)
    assert await state_of(ledger, address("a")) == ("undone", "closed")


async def test_namespace_at_which_no_sweeper_looks(ledger: Ledger) -> None:
    """It is found by every other one while it has unfinished sagas, and no more once its own sweeper looks."""
    lonely, hour = f"lonely-{uuid.uuid4()}", timedelta(hours=1)
    at = of(f"{lonely}/workflow/run")
    assert lonely not in await ledger.unattended("namespace", hour)
    await applied(ledger, at)
    assert lonely in await ledger.unattended("namespace", hour)
    assert lonely not in await ledger.unattended(lonely, hour)
    await ledger.compare(lonely, None, is_look=True)
    assert lonely not in await ledger.unattended("namespace", hour)
    assert lonely in await ledger.unattended("namespace", timedelta(0))


async def test_why_a_saga_was_claimed(ledger: Ledger, address: At) -> None:
    """The journal says who took it and why."""
    at = address()
    await applied(ledger, at)
    await ledger.claim(at.saga, 0, "rescind-undo/x", why="its workflow was terminated")
    view = await ledger.show(at.saga)
    assert view is not None
    line = view.journal[-1]
    assert isinstance(line.body, dict)
    assert (line.event, line.body["why"]) == ("claim", "its workflow was terminated")
    assert line.body["saga"] == {"state": "unwinding", "epoch": 1, "owner": "rescind-undo/x"}


async def test_outline(ledger: Ledger, address: At) -> None:
    """It has every effect in order with request and result, and says how long ago the saga was sealed."""
    await committed(ledger, address("a"), address("b"))
    seen = await ledger.outline(address().saga)
    assert seen is not None
    assert [(each.key, each.state, each.no_op) for each in seen.effects] == [
        (address("a").key, RecordState.APPLIED, False),
        (address("b").key, RecordState.APPLIED, False),
    ]
    assert seen.effects[0].request == {"name": "x"}
    assert seen.effects[0].result == {"id": 1}
    assert seen.since_seal is not None
    assert 0 <= seen.since_seal < 60
    assert await ledger.outline("namespace/none/run") is None


async def test_pages_of_the_sweep(ledger: Ledger) -> None:
    """Each page goes on after the last one's last saga, and all together have every saga once, and no other."""
    space = f"ns-{uuid.uuid4()}"
    names = [f"{space}/w{number}/r" for number in range(5)]
    for name in names:
        await applied(ledger, of(name))
    await stuck(ledger, of(names[3], "b"))
    await undone(ledger, of(f"{space}/w9/r"))
    await applied(ledger, of(f"{space}0/w/r"))
    seen: list[str] = []
    while page := await ledger.sweep(space, 2, after=seen[-1] if seen else ""):
        assert len(page) <= 2
        seen += [each.saga for each in page]
    assert seen == names
    fourth = (await ledger.sweep(space, 1, after=names[2]))[0]
    assert (fourth.standing, fourth.undoable, fourth.needs_person) == (2, 1, 1)
    assert 0 <= fourth.quiet < 60


async def test_looking_again(ledger: Ledger) -> None:
    """What was on a page is read as it is now, also what is finished meanwhile; what never was there is left out."""
    space = f"ns-{uuid.uuid4()}"
    names = [f"{space}/w{number}/r" for number in range(2)]
    for name in names:
        await applied(ledger, of(name))
    page = await ledger.sweep(space)
    await stuck(ledger, of(names[0], "b"))
    await undone(ledger, of(f"{space}/w2/r"))
    again = await ledger.look_again([*names, f"{space}/w2/r", f"{space}/none/r"])
    assert [(each.saga, each.standing, each.needs_person) for each in page] == [
        (name, 1, 0) for name in names
    ]
    assert [(each.saga, each.standing, each.needs_person) for each in again] == [
        *((names[0], 2, 1), (names[1], 1, 0), (f"{space}/w2/r", 0, 0)),
    ]


async def test_new_saga_while_the_previous_one_is_in_doubt(ledger: Ledger) -> None:
    """Its first step is refused, again and again, until a person has decided; other workflow ids go on."""
    workflow = f"ns/order/{uuid.uuid4()}"
    doubtful = of(f"{workflow}/run-1")
    await in_doubt(ledger, doubtful)
    again = of(f"{workflow}/run-2")
    for _ in range(2):
        answer = await begin(ledger, again)
        assert answer == Refused(Refusal.SIBLING_IN_DOUBT, SagaState.OPEN)
        await ledger.fence(again)
    for other in (f"{workflow}-x/run-1", f"{workflow}/deeper/run-1", workflow):
        await go(ledger, of(other))
    await ledger.resolve(doubtful, Verdict.DONE, who="anna")
    await go(ledger, of(f"{workflow}/run-2", "b"))


async def test_doubt_that_comes_after_the_new_saga_has_begun(ledger: Ledger) -> None:
    """It does not stop the new saga in the middle."""
    workflow = f"ns/{uuid.uuid4()}"
    await applied(ledger, of(f"{workflow}/run-2"))
    await in_doubt(ledger, of(f"{workflow}/run-1"))
    await go(ledger, of(f"{workflow}/run-2", "b"))
