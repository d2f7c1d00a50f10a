"""The workflow that books a trip with several suppliers, all of it or nothing."""

import asyncio
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from temporalio import workflow

from rescind import Saga

with workflow.unsafe.imports_passed_through():
    from activities.flights import BOOK_FLIGHT, BookFlight
    from activities.hotels import BOOK_ROOM, BOOK_ROOM_BLIND, BookRoom, RoomBooking
    from activities.mail import SEND_EMAIL, SendEmail
    from activities.operations import NOTICES


class Trip(BaseModel):
    """A trip as it is to be.

    Attributes:
        trip: What the business calls it.
        email: Where the confirmation goes.
        flight: The flight.
        hotels: Rooms at the supplier that can say afterwards what it has booked.
        blind_hotels: Rooms at the one that can't.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    trip: Annotated[str, Field(pattern=r"^[\w.-]{1,64}$")]
    email: Annotated[str, Field(pattern=r"^[^\s@<>,;\"]+@[^\s@<>,;\"]+$", max_length=254)]
    flight: BookFlight
    hotels: list[BookRoom] = []
    blind_hotels: list[BookRoom] = []

    @model_validator(mode="after")
    def _somewhere_to_stay(self) -> Self:
        if not (self.hotels or self.blind_hotels):
            raise ValueError("give at least one room, in hotels or in blind_hotels")
        return self


class Booked(BaseModel):
    """A trip that is booked, and known to the traveller to be so."""

    trip: str
    flight: str
    rooms: list[str]
    message_id: str


# A ValidationError ends the workflow: bad input from anywhere is then FAILED at once, with no effect.
@workflow.defn(failure_exception_types=[ValidationError])
class BookTrip:
    """Flight, rooms in parallel, confirmation by mail; a failure at any of them undoes all the others."""

    @workflow.run
    async def run(self, trip: Trip) -> Booked:
        """Book the trip, or tell operations why not.

        The mail comes last. If nobody can tell whether it was sent, flight and rooms are given back all the same.

        Raises:
            SagaUndone: A step failed, and all the others were undone.
            UndoIncomplete: A step failed, and something stands or may stand; the report says what.
        """
        async with Saga(reference=f"Trip {trip.trip}", tell=NOTICES) as saga:
            flight = await saga.step(BOOK_FLIGHT, trip.flight, name="book_flight")
            rooms = await _book_rooms(saga, trip)
            mail = await saga.step(SEND_EMAIL, _confirmation(trip, flight.booking, rooms), name="send_email")
            await saga.commit()
        return Booked(
            trip=trip.trip,
            flight=flight.booking,
            rooms=[room.booking for room in rooms],
            message_id=mail.message_id,
        )


async def _book_rooms(saga: Saga, trip: Trip) -> list[RoomBooking]:
    """Book all rooms at once; when one fails the saga waits for the others before it undoes them."""
    seen = [saga.step(BOOK_ROOM, room, name="book_room") for room in trip.hotels]
    blind = [saga.step(BOOK_ROOM_BLIND, room, name="book_room") for room in trip.blind_hotels]
    return await asyncio.gather(*seen, *blind)


def _confirmation(trip: Trip, flight: str, rooms: list[RoomBooking]) -> SendEmail:
    stays = "\n".join(f"- {room.hotel}: {room.booking}" for room in rooms)
    return SendEmail(
        to=trip.email,
        subject=f"Your trip {trip.trip} is booked",
        text=f"Your trip {trip.trip} is booked.\n\nFlight {trip.flight.flight}: {flight}\nHotels:\n{stays}",
        correction=f"Your trip {trip.trip} is not booked after all: the flight {flight} and the hotels are given back.",
    )
