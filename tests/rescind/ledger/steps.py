"""Short ways to bring an effect into a state, for the tests of the ledger."""

from pydantic import JsonValue

from rescind._states import Outcome, RecordState, Repeat, UndoOutcome
from rescind.ledger import Busy, EffectAddress, Go, Ledger, Refused, Replay, UndoGo

EXACT: JsonValue = {"grade": "exact", "detail": None}
NOTHING: JsonValue = {"grade": "nothing", "detail": None}


async def begin(
    ledger: Ledger,
    at: EffectAddress,
    repeat: Repeat = Repeat.LOOKED_UP,
    *,
    digest: str = "digest",
    ttl: float = 30,
) -> Go | Replay | Busy | Refused:
    """Begin an attempt of a tool that is called test.tool."""
    return await ledger.begin(
        at,
        tool="test.tool",
        version=3,
        repeat=repeat,
        digest=digest,
        request={"name": "x"},
        ttl=ttl,
        owner="run-1",
    )


async def go(ledger: Ledger, at: EffectAddress, repeat: Repeat = Repeat.LOOKED_UP, *, ttl: float = 30) -> Go:
    """Begin an attempt that is let through."""
    answer = await begin(ledger, at, repeat, ttl=ttl)
    assert isinstance(answer, Go)
    return answer


async def applied(ledger: Ledger, at: EffectAddress, *, changed: bool = True) -> None:
    """Make the effect stand."""
    attempt = (await go(ledger, at)).attempt
    await ledger.finish(at, attempt, Outcome.APPLIED, result={"id": 1}, changed=changed)


async def undoing(ledger: Ledger, at: EffectAddress, *, ttl: float = 30) -> UndoGo:
    """Begin a try to undo that is let through."""
    answer = await ledger.undo_begin(at, ttl=ttl, whole=True)
    assert isinstance(answer, UndoGo)
    return answer


async def undone(ledger: Ledger, at: EffectAddress) -> None:
    """Make the effect stand and undo it."""
    await applied(ledger, at)
    attempt = (await undoing(ledger, at)).attempt
    assert await ledger.undo_finish(at, attempt, UndoOutcome.UNDONE, EXACT) is RecordState.UNDONE


async def stuck(ledger: Ledger, at: EffectAddress) -> None:
    """Make the effect stand and its undo meet a conflict."""
    await applied(ledger, at)
    attempt = (await undoing(ledger, at)).attempt
    await ledger.undo_finish(at, attempt, UndoOutcome.CONFLICT, error="it was changed since")


async def in_doubt(ledger: Ledger, at: EffectAddress, *, ttl: float = 0) -> int:
    """Leave an attempt unproven, and settle that nobody can tell."""
    attempt = (await go(ledger, at, ttl=ttl)).attempt
    await ledger.fence(at)
    assert await ledger.settle(at, RecordState.IN_DOUBT) is RecordState.IN_DOUBT
    return attempt


async def state_of(ledger: Ledger, at: EffectAddress) -> tuple[str, str]:
    """The states of the effect and of its saga, as they are on record."""
    view = await ledger.show(at.saga)
    assert view is not None
    return next(row.state for row in view.effects if row.key == at.key), view.state
