"""Flights and hotel rooms against the sandbox: one booking for a key, given back with its fee, never guessed."""

import secrets
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from activities._http import Unreadable
from activities.flights import BOOK_FLIGHT, BookFlight
from activities.hotels import BOOK_ROOM, BOOK_ROOM_BLIND, BookRoom
from rescind import Absent, Applied, Call, Grade, Receipt, Repeat, Tool
from rescind.evidence import REFUSED, UNKNOWN, Conflict, NothingHappened, weigh
from tests.activities.sandbox_world import Sandbox, call_of
from tests.docs.errors.sockets import answering, http


@dataclass
class Kind:
    """One of the suppliers that have keys."""

    system: str
    tool: Tool[Any, Any]
    request: Callable[..., Any]

    def run(self, role: str) -> Callable[[Any], Awaitable[Any]]:
        """The activity of a role."""
        activity: Callable[[Any], Awaitable[Any]] = getattr(self.tool, role)
        return activity


def flight(who: str, **more: Any) -> BookFlight:
    given: dict[str, Any] = {"flight": "LH123", "day": "2027-01-10", "passenger": who, **more}
    return BookFlight(**given)


def room(who: str, **more: Any) -> BookRoom:
    given: dict[str, Any] = {"hotel": "Grand", "arrival": "2027-01-10", "nights": 2, "guest": who, **more}
    return BookRoom(**given)


KINDS = [Kind("flights", BOOK_FLIGHT, flight), Kind("hotels", BOOK_ROOM, room)]
by_key = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.system)


@pytest.fixture
def who() -> str:
    return f"Ada {uuid.uuid4()}"


def receipt(call: Call[Any], result: Any) -> Any:
    return Receipt(call=call, result=result)


@by_key
async def test_book_look_up_cancel(sandbox: Sandbox, kind: Kind, who: str) -> None:
    """One booking for one key; cancelled with its fee as residue, once, and no late call books with the key again."""
    call = call_of(kind.request(who))
    made = await kind.run("forward")(call)
    assert await kind.run("forward")(call) == made
    assert len(await sandbox.standing(kind.system, who)) == 1
    assert await kind.run("lookup")(call) == Applied(result=made)
    for _ in range(2):
        undone = await kind.run("compensate")(receipt(call, made))
        assert undone.grade is Grade.RESIDUE
        assert "EUR for the cancellation" in undone.detail
        assert await sandbox.standing(kind.system, who) == []
    assert await kind.run("lookup")(call) == Absent()
    await kind.run("forward")(call)
    assert await sandbox.standing(kind.system, who) == []


@by_key
async def test_a_flexible_rate(sandbox: Sandbox, kind: Kind, who: str) -> None:
    """Cancelled at no cost, only the cancelled booking is kept."""
    call = call_of(kind.request(who, rate="flexible"))
    made = await kind.run("forward")(call)
    assert (await kind.run("compensate")(receipt(call, made))).grade is Grade.EQUIVALENT


@by_key
async def test_twice_with_two_keys(sandbox: Sandbox, kind: Kind, who: str) -> None:
    """The same request under two keys is two bookings, and undoing one leaves the other."""
    calls = [call_of(kind.request(who)) for _ in range(2)]
    made = [await kind.run("forward")(call) for call in calls]
    await kind.run("compensate")(receipt(calls[0], made[0]))
    (left,) = await sandbox.standing(kind.system, who)
    assert left["reference"] == made[1].booking


@by_key
@pytest.mark.parametrize("fault", ["error_after", "drop_after", "hang_after", "garbage", "no_http"])
async def test_the_answer_is_lost(sandbox: Sandbox, kind: Kind, who: str, fault: str) -> None:
    """It is unknown, the lookup finds it, and another attempt gets the same booking."""
    call = call_of(kind.request(who))
    await sandbox.misbehave(f"{kind.system}.book", fault)
    with pytest.raises((httpx.HTTPError, Unreadable)) as lost:
        await kind.run("forward")(call)
    assert not weigh(lost.value, kind.tool.proves).nothing_happened
    found = await kind.run("lookup")(call)
    assert isinstance(found, Applied)
    assert await kind.run("forward")(call) == found.result
    assert len(await sandbox.standing(kind.system, who)) == 1


@by_key
@pytest.mark.parametrize("fault", ["refuse", "unavailable", "throttled", "drop_before", "hang"])
async def test_nothing_was_booked(sandbox: Sandbox, kind: Kind, who: str, fault: str) -> None:
    """The lookup says absent, whatever the answer proved; an undo of it says that there was nothing."""
    call = call_of(kind.request(who))
    await sandbox.misbehave(f"{kind.system}.book", fault)
    with pytest.raises(httpx.HTTPError) as refused:
        await kind.run("forward")(call)
    proven = weigh(refused.value, kind.tool.proves)
    assert proven.nothing_happened == (fault in ("refuse", "throttled"))
    assert (proven.retry_after == 1) == (fault in ("unavailable", "throttled"))
    assert await kind.run("lookup")(call) == Absent()


@by_key
async def test_an_answer_of_three_megabytes(sandbox: Sandbox, kind: Kind, who: str) -> None:
    """It says what was booked all the same, and the result is small."""
    await sandbox.misbehave(f"{kind.system}.book", "huge")
    made = await kind.run("forward")(call_of(kind.request(who)))
    assert len(made.model_dump_json()) < 300


@by_key
async def test_it_acts_late(sandbox: Sandbox, kind: Kind, who: str) -> None:
    """A booking that comes after its key was cancelled is not made."""
    call = call_of(kind.request(who))
    await sandbox.misbehave(f"{kind.system}.book", "late", seconds=0.5)
    with pytest.raises(httpx.HTTPError):
        await kind.run("forward")(call)
    nothing = kind.tool.result_type(booking="x", price=1, currency="eur", **{kind.system[:-1]: "x"})
    undone = await kind.run("compensate")(receipt(call, nothing))
    assert undone.grade is Grade.NOTHING
    for _ in range(60):
        (seen,) = await sandbox.calls(f"{kind.system}.book", key=call.key)
        if not seen["under_way"]:
            break
    assert await sandbox.standing(kind.system, who) == []


@by_key
async def test_an_old_read_during_the_undo(sandbox: Sandbox, kind: Kind, who: str) -> None:
    """A read that does not find the booking is not believed: it is cancelled."""
    call = call_of(kind.request(who))
    made = await kind.run("forward")(call)
    await sandbox.misbehave(f"{kind.system}.find", "stale", seconds=600)
    try:
        await kind.run("compensate")(receipt(call, made))
    except Unreadable:
        await kind.run("compensate")(receipt(call, made))
    assert await sandbox.standing(kind.system, who) == []


@by_key
async def test_the_reply_to_the_cancellation_is_lost(sandbox: Sandbox, kind: Kind, who: str) -> None:
    """The second try is success, with the same fee."""
    call = call_of(kind.request(who))
    made = await kind.run("forward")(call)
    await sandbox.misbehave(f"{kind.system}.cancel_key", "drop_after")
    with pytest.raises(httpx.HTTPError):
        await kind.run("compensate")(receipt(call, made))
    assert (await kind.run("compensate")(receipt(call, made))).grade is Grade.RESIDUE


async def test_a_booking_that_is_another_one_now(sandbox: Sandbox, who: str) -> None:
    """Conflict, and it stays."""
    call = call_of(room(who))
    made = await BOOK_ROOM.forward(call)
    changed = call.model_copy(update={"request": room(who, nights=3)})
    with pytest.raises(Conflict, match="nights is 2 and not 3"):
        await KINDS[1].run("compensate")(receipt(changed, made))
    assert len(await sandbox.standing("hotels", who)) == 1


@pytest.mark.parametrize("kind", [*KINDS, Kind("blind", BOOK_ROOM_BLIND, room)], ids=lambda kind: kind.system)
async def test_sold_out(sandbox: Sandbox, kind: Kind, who: str) -> None:
    """The supplier's own words, no booking, and a refusal: its documentation says that nothing was booked."""
    name = f"XX{secrets.randbelow(10_000)}" if kind.system == "flights" else f"Full {who}"
    await sandbox.sold_out(kind.system, name)
    call = call_of(kind.request(who, **{"flight" if kind.system == "flights" else "hotel": name}))
    with pytest.raises(httpx.HTTPStatusError, match="is sold out") as refused:
        await kind.run("forward")(call)
    assert weigh(refused.value, kind.tool.proves) == REFUSED
    assert await sandbox.standing(kind.system, who) == []


@by_key
@pytest.mark.parametrize(
    "body",
    [
        "",
        "[]",
        '{"detail": "sold_out"}',
        '{"detail": {"code": "exists"}}',
        '{"code": "sold_out"}',
        "sold_out",
    ],
)
async def test_another_409(kind: Kind, who: str, body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It proves nothing: it may be the answer to an attempt of ours that booked."""
    with answering(http(409, body)) as port:
        monkeypatch.setenv(f"RESCIND_{kind.system.upper()}_URL", f"http://127.0.0.1:{port}")
        with pytest.raises(httpx.HTTPStatusError) as refused:
            await kind.run("forward")(call_of(kind.request(who)))
    assert weigh(refused.value, kind.tool.proves) == UNKNOWN


async def test_nobody_listens(sandbox: Sandbox, who: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing happened, and it may later."""
    monkeypatch.setenv("RESCIND_HOTELS_URL", "http://127.0.0.1:1")
    with pytest.raises(httpx.ConnectError) as refused:
        await BOOK_ROOM.forward(call_of(room(who)))
    assert weigh(refused.value, BOOK_ROOM.proves).outcome == NothingHappened("x").evidence.outcome


async def test_the_blind_supplier(sandbox: Sandbox, who: str) -> None:
    """It has no lookup and is never asked twice; a booking that is known of is cancelled, once."""
    assert BOOK_ROOM_BLIND.lookup is None
    assert BOOK_ROOM_BLIND.repeats is Repeat.NEVER
    call = call_of(room(who))
    made = await BOOK_ROOM_BLIND.forward(call)
    assert len(await sandbox.standing("blind", who)) == 1
    compensate = Kind("blind", BOOK_ROOM_BLIND, room).run("compensate")
    for _ in range(2):
        assert (await compensate(receipt(call, made))).grade is Grade.RESIDUE
    assert await sandbox.standing("blind", who) == []
