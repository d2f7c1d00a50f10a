"""The trip agent: timed out is not failed, and nothing stays booked of a trip that did not come about."""

import asyncio
import uuid

import pytest

from activities.flights import BookFlight
from activities.hotels import BookRoom
from rescind import Outcome
from tests.activities.sandbox_world import new_address
from tests.workflows.conftest import Business, report_of, states
from workflows.book_trip import Booked, BookTrip, Trip


def trip(*hotels: str, blind: tuple[str, ...] = ()) -> Trip:
    who = f"Ada {uuid.uuid4()}"

    def room(hotel: str) -> BookRoom:
        return BookRoom(hotel=hotel, guest=who, arrival="2027-01-10", nights=2)

    return Trip(
        trip=f"T-{uuid.uuid4()}",
        email=new_address(),
        flight=BookFlight(flight="LH123", day="2027-01-10", passenger=who),
        hotels=[room(hotel) for hotel in hotels],
        blind_hotels=[room(hotel) for hotel in blind],
    )


async def standing(business: Business, wanted: Trip) -> dict[str, int]:
    who = wanted.flight.passenger
    systems = ("flights", "hotels", "blind")
    return {system: len(await business.sandbox.standing(system, who)) for system in systems}


async def test_booked(business: Business) -> None:
    """Flight, two rooms of one hotel under two keys, a room of the blind supplier, and one mail."""
    wanted = trip("Grand", "Grand", blind=("Plaza",))
    done = Booked.model_validate(await (await business.start(BookTrip.run, wanted)).result())
    assert await standing(business, wanted) == {"flights": 1, "hotels": 2, "blind": 1}
    assert len(set(done.rooms)) == 3
    (mail,) = await business.sandbox.mails(wanted.email)
    assert all(room in mail["text"] for room in done.rooms)


@pytest.mark.parametrize("fault", ["hang_after", "drop_after", "late"])
async def test_the_hotel_timed_out_but_booked(business: Business, fault: str) -> None:
    """The trip completes, with one booking."""
    wanted = trip("Grand")
    guest = wanted.hotels[0].guest
    await business.sandbox.misbehave("hotels.book", fault, contains=guest)
    await (await business.start(BookTrip.run, wanted)).result()
    assert await standing(business, wanted) == {"flights": 1, "hotels": 1, "blind": 0}


async def test_the_hotel_timed_out_every_time_but_booked(business: Business) -> None:
    """All tries used up, the lookup says that it took effect: the trip completes, and the report shows how."""
    wanted = trip("Grand")
    guest = wanted.hotels[0].guest
    await business.sandbox.misbehave("hotels.book", "drop_after", calls=None, contains=guest)
    handle = await business.start(BookTrip.run, wanted)
    await handle.result()
    assert await standing(business, wanted) == {"flights": 1, "hotels": 1, "blind": 0}
    report = await handle.query("rescind_report")
    assert [step["recovered_by_lookup"] for step in report["steps"]] == [False, True, False]


async def test_the_hotel_timed_out_and_did_not_book(business: Business) -> None:
    """Flight given back, no mail, and operations know which hotel it was."""
    wanted = trip("Grand")
    await business.sandbox.misbehave("hotels.book", "hang", calls=None, contains=wanted.hotels[0].guest)
    failure = await business.failure(BookTrip.run, wanted)
    assert failure.type == "SagaUndone"
    assert states(report_of(failure)) == {"book_flight#1": "undone", "book_room#1": "absent"}
    assert await standing(business, wanted) == {"flights": 0, "hotels": 0, "blind": 0}
    assert await business.sandbox.mails(wanted.email) == []
    assert len((await business.notices(wanted.trip))[0]) == 1


async def test_a_hotel_that_is_sold_out(business: Business) -> None:
    """Asked once: a refusal is final and needs no lookup; the flight is given back."""
    wanted = trip(f"Full {uuid.uuid4()}")
    await business.sandbox.sold_out("hotels", wanted.hotels[0].hotel)
    before = await calls_of_hotels(business)
    failure = await business.failure(BookTrip.run, wanted)
    assert "is sold out. Nothing was booked" in failure.message
    assert states(report_of(failure)) == {"book_flight#1": "undone", "book_room#1": "absent"}
    assert await calls_of_hotels(business) == [before[0] + 1, before[1]]
    assert await standing(business, wanted) == {"flights": 0, "hotels": 0, "blind": 0}


async def calls_of_hotels(business: Business) -> list[int]:
    """How often the supplier was asked to book, and how often for a booking."""
    return [len(await business.sandbox.calls(f"hotels.{name}")) for name in ("book", "find")]


@pytest.mark.parametrize("fault", ["hang", "drop_after"])
async def test_the_blind_supplier(business: Business, fault: str) -> None:
    """Called once, in doubt, nothing cancelled that was perhaps never booked, the flight given back."""
    wanted = trip(blind=("Plaza",))
    await business.sandbox.misbehave("blind.book", fault, contains=wanted.blind_hotels[0].guest)
    calls = len(await business.sandbox.calls("blind.book"))
    cancelled = len(await business.sandbox.calls("blind.cancel"))
    failure = await business.failure(BookTrip.run, wanted)
    report = report_of(failure)
    assert failure.type == "UndoIncomplete"
    assert list(states(report).values()) == ["undone", "in_doubt"]
    assert len(await business.sandbox.calls("blind.book")) == calls + 1
    assert len(await business.sandbox.calls("blind.cancel")) == cancelled
    assert await standing(business, wanted) == {
        "flights": 0,
        "hotels": 0,
        "blind": int(fault == "drop_after"),
    }
    (left,) = report.left
    assert "look in hotels" in str(left.error)
    assert "Plaza" in str(left.error)
    assert "rsc-" in str(left.error)


async def test_two_hotels_one_refused_the_other_slow(business: Business) -> None:
    """The slow one is waited for and given back; nothing arrives after the workflow has closed."""
    wanted = trip("Slow", "Refused")
    guest = wanted.hotels[0].guest
    await business.sandbox.misbehave("hotels.book", "late", contains='"Slow"', seconds=1.5)
    await business.sandbox.misbehave("hotels.book", "refuse", contains='"Refused"', calls=None)
    failure = await business.failure(BookTrip.run, wanted)
    assert failure.type == "SagaUndone"
    assert await business.sandbox.standing("hotels", guest) == []
    await asyncio.sleep(3)
    assert await standing(business, wanted) == {"flights": 0, "hotels": 0, "blind": 0}
    assert not any(each["under_way"] for each in await business.sandbox.calls("hotels.book"))


async def test_only_the_mail_is_in_doubt(business: Business) -> None:
    """Flight and hotel are given back, and the mail, which may have said that they are booked, is left to a person."""
    wanted = trip("Grand")
    await business.sandbox.misbehave("mail.end", "error_after")
    failure = await business.failure(BookTrip.run, wanted)
    report = report_of(failure)
    assert report.outcome is Outcome.INCOMPLETE
    assert list(states(report).values()) == ["undone", "undone", "in_doubt"]
    assert await standing(business, wanted) == {"flights": 0, "hotels": 0, "blind": 0}
    chat, mails = await business.notices(wanted.trip)
    assert (len(chat), len(mails)) == (1, 1)
    assert "a person is needed" in chat[0]
