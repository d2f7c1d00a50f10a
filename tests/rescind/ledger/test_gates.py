"""Approvals in the ledger: asked once, given by different people, used up once, and never for another request."""

import asyncio
from collections.abc import Callable

import pytest
from pydantic import JsonValue

from rescind._states import Outcome, Repeat, SagaState
from rescind.ledger import (
    Busy,
    Claimed,
    EffectAddress,
    Extent,
    GateAnswer,
    GateState,
    Go,
    Ledger,
    Refusal,
    Refused,
    Replay,
    TakenOver,
    seal_digest,
)
from tests.rescind.ledger.steps import applied

At = Callable[..., EffectAddress]
GRANTED, WAITING = GateState.GRANTED, GateState.WAITING


async def ask(
    ledger: Ledger,
    at: EffectAddress,
    *,
    run: str = "run-1",
    digest: str = "seen",
    people: int = 1,
    seconds: float = 60,
) -> GateState | Refusal:
    shown: JsonValue = {"step": at.key, "workflow": "w", "tool": "test.tool", "request": {}}
    return told(await ledger.ask(at, run=run, digest=digest, people=people, seconds=seconds, shown=shown))


async def say(
    ledger: Ledger,
    at: EffectAddress,
    who: str = "anna",
    *,
    verdict: str = "approve",
    digest: str = "seen",
    word: str = "",
) -> GateState | Refusal:
    answer = await ledger.decide(at, digest=digest, verdict=verdict, who=who, note="why", word=word or who)
    return told(answer)


async def begin(
    ledger: Ledger, at: EffectAddress, *, run: str = "run-1", digest: str = "seen"
) -> str | Refusal:
    answer: Go | Replay | Busy | Refused = await ledger.begin(
        at,
        tool="test.tool",
        version=1,
        repeat=Repeat.LOOKED_UP,
        digest="request",
        request={},
        ttl=30,
        owner=run,
        approval={"digest": digest},
    )
    return answer.why if isinstance(answer, Refused) else type(answer).__name__


def told(answer: GateAnswer | Refused) -> GateState | Refusal:
    return answer.why if isinstance(answer, Refused) else answer.state


async def test_without_an_approval(ledger: Ledger, address: At) -> None:
    """Nothing is begun before the question, while it waits, or for another request than was approved."""
    at = address()
    assert await begin(ledger, at) is Refusal.NOT_APPROVED
    assert await ask(ledger, at) is WAITING
    assert await begin(ledger, at) is Refusal.NOT_APPROVED
    assert await say(ledger, at) is GRANTED
    assert await begin(ledger, at, digest="changed") is Refusal.NOT_APPROVED
    assert await begin(ledger, at) == "Go"


async def test_an_approval_is_used_once(ledger: Ledger, address: At) -> None:
    """Another run has to ask anew; the same run may try its own effect again."""
    at = address()
    await ask(ledger, at)
    await say(ledger, at)
    assert await begin(ledger, at) == "Go"
    await ledger.finish(at, 1, Outcome.NOTHING)
    assert await begin(ledger, at) == "Go"
    await ledger.finish(at, 2, Outcome.NOTHING)
    assert await begin(ledger, at, run="run-2") is Refusal.NOT_APPROVED
    assert await ask(ledger, at, run="run-2") is WAITING
    assert await begin(ledger, at, run="run-2") is Refusal.NOT_APPROVED


async def test_an_approval_that_is_not_used_up(ledger: Ledger, address: At) -> None:
    """A run that was reset to before the question finds it answered, and uses it."""
    at = address()
    await ask(ledger, at)
    await say(ledger, at)
    assert await ask(ledger, at, run="run-2") is GRANTED
    assert await begin(ledger, at, run="run-2") == "Go"
    await ledger.finish(at, 1, Outcome.NOTHING)
    assert await begin(ledger, at) is Refusal.NOT_APPROVED


async def test_what_stands_asks_nobody(ledger: Ledger, address: At) -> None:
    """A run that was reset asks for a step that stands already: it is answered without people."""
    at = address()
    await applied(ledger, at)
    assert await ask(ledger, at, run="run-2") is GRANTED
    assert await ledger.gates(at.saga) == []


async def test_a_question_that_has_changed(ledger: Ledger, address: At) -> None:
    """The approval of what was asked before opens nothing, and a word on it is refused."""
    at = address()
    await ask(ledger, at)
    await say(ledger, at)
    assert await ask(ledger, at, digest="changed") is WAITING
    assert await say(ledger, at, "ben") is Refusal.APPROVAL_CHANGED
    assert await begin(ledger, at) is Refusal.NOT_APPROVED


async def test_two_people(ledger: Ledger, address: At) -> None:
    """One person twice is one; a word whose answer was lost is taken once."""
    at = address()
    await ask(ledger, at, people=2)
    assert await say(ledger, at, word="w1") is WAITING
    assert await say(ledger, at, word="w1") is WAITING
    assert await say(ledger, at, "ANNA ", word="w2") is Refusal.APPROVED_TWICE
    assert await begin(ledger, at) is Refusal.NOT_APPROVED
    assert await say(ledger, at, "ben") is GRANTED
    assert await say(ledger, at, "carl") is Refusal.APPROVAL_DECIDED
    assert await begin(ledger, at) == "Go"


async def test_a_word_that_comes_again_for_the_next_question(ledger: Ledger, address: At) -> None:
    """Its answer was lost, it was used up meanwhile, and people are asked anew: it is no second approval."""
    at = address()
    await ask(ledger, at)
    assert await say(ledger, at, word="w1") is GRANTED
    assert await begin(ledger, at) == "Go"
    await ledger.finish(at, 1, Outcome.NOTHING)
    assert await ask(ledger, at, run="run-2") is WAITING
    assert await say(ledger, at, word="w1") is Refusal.APPROVAL_CHANGED
    assert await begin(ledger, at, run="run-2") is Refusal.NOT_APPROVED
    assert await say(ledger, at, word="w2") is GRANTED


async def test_rejected(ledger: Ledger, address: At) -> None:
    """It can't be approved any more."""
    at = address()
    await ask(ledger, at)
    assert await say(ledger, at, verdict="reject") is GateState.REJECTED
    assert await say(ledger, at, "ben") is Refusal.APPROVAL_DECIDED
    assert await begin(ledger, at) is Refusal.NOT_APPROVED


async def test_expired(ledger: Ledger, address: At) -> None:
    """By the database's clock: a question is not answered too late, and an approval not used too late."""
    late, unused = address("a"), address("b")
    await ask(ledger, late, seconds=0.05)
    await ask(ledger, unused, seconds=0.4)
    assert await say(ledger, unused) is GRANTED
    await asyncio.sleep(0.5)
    assert await say(ledger, late) is Refusal.APPROVAL_EXPIRED
    assert told(await ledger.look_at_gate(late)) is GateState.EXPIRED
    assert await begin(ledger, unused) is Refusal.NOT_APPROVED
    assert await ask(ledger, unused) is WAITING


async def test_a_saga_that_is_not_open(ledger: Ledger, address: At) -> None:
    """Nobody is asked for it, no word is taken, and it does not wait any more."""
    at = address()
    await ask(ledger, at)
    assert [gate.key for gate in await ledger.gates(at.saga)] == [at.key]
    await ledger.unwind(at.saga, at.epoch)
    assert await ask(ledger, at) is Refusal.SAGA_NOT_OPEN
    assert await say(ledger, at) is Refusal.SAGA_NOT_OPEN
    assert await ledger.gates(at.saga) == []
    assert (await ledger.verify(at.saga)).differences == []


async def test_taken_over(ledger: Ledger, address: At) -> None:
    """A run whose saga was claimed may not ask."""
    at = address()
    await ask(ledger, at)
    await ledger.claim(at.saga, 0, "sweeper")
    with pytest.raises(TakenOver):
        await ask(ledger, at)


def of_undo(at: EffectAddress) -> EffectAddress:
    """Where the question is kept whether the saga is undone after the fact."""
    return EffectAddress(at.saga, 0, f"{at.saga.partition('/')[2]}/undo", ())


async def test_an_undo_is_asked_about_only_when_it_is_committed(ledger: Ledger, address: At) -> None:
    """And a step only while it is open; the owner stays, since nobody has claimed it."""
    at = address()
    await applied(ledger, at)
    assert await ask(ledger, of_undo(at)) is Refusal.SAGA_NOT_OPEN
    await ledger.seal(at.saga, 0, seal_digest([at.key]))
    assert await ask(ledger, of_undo(at)) is Refusal.SAGA_NOT_OPEN
    await ledger.promote(at.saga)
    assert await ask(ledger, of_undo(at), run="undo", people=2) is WAITING
    assert await ask(ledger, address("b")) is Refusal.SAGA_NOT_OPEN
    assert [each.saga for each in await ledger.gates(limit=10_000)].count(at.saga) == 1
    view = await ledger.show(at.saga)
    assert view is not None
    assert view.owner == "run-1"


async def test_a_claim_uses_up_an_agreement(ledger: Ledger, address: At) -> None:
    """Of the part that it is for: the next undo of the saga has to be agreed to anew."""
    at = address()
    await applied(ledger, at)
    await ledger.seal(at.saga, 0, seal_digest([at.key]))
    await ledger.promote(at.saga)
    question = of_undo(at)
    assert await ask(ledger, question, people=1) is WAITING
    assert await say(ledger, question, "ben") is GRANTED
    assert await ask(ledger, question, run="run-2") is GRANTED
    for digest in ("other", "seen"):
        claim = await ledger.claim(at.saga, 0, "undo", Extent.PART, part=[at.key], agreed=digest)
        refused = Refused(Refusal.NOT_APPROVED, SagaState.COMMITTED)
        assert claim == (Claimed(1) if digest == "seen" else refused)
    assert isinstance(claim, Claimed)
    again = EffectAddress(question.saga, claim.epoch, question.key, ())
    assert await ask(ledger, again, run="run-3") is WAITING
    assert (await ledger.verify(at.saga)).differences == []
