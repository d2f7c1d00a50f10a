"""The tools that book hotel rooms: at a supplier with keys and a status interface, and at one with neither."""

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field
from temporalio import activity

from activities._bookings import Booked, BookingSystem, proves_booking
from rescind import Absent, Applied, Call, Receipt, Repeat, Request, Restoration, Result, Tool, Unknown

_SUPPLIER = BookingSystem("the hotel supplier", "hotels_url")
_BLIND_SUPPLIER = BookingSystem("the hotel supplier without keys", "hotels_url", "blind/bookings")


class BookRoom(Request):
    """Book rooms for some nights; `arrival` is a day as 2026-11-30, a flexible rate is cancelled at no cost."""

    hotel: Annotated[str, Field(min_length=1, max_length=200)]
    guest: Annotated[str, Field(min_length=1, max_length=200)]
    arrival: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    nights: Annotated[int, Field(ge=1, le=30)]
    rooms: Annotated[int, Field(ge=1, le=9)] = 1
    rate: Literal["standard", "flexible"] = "standard"


class RoomBooking(Result):
    """Booked rooms; the price is in the currency's smallest unit."""

    booking: str
    hotel: str
    price: int
    currency: str


@activity.defn
async def book_room(call: Call[BookRoom]) -> RoomBooking:
    """Book the rooms; the supplier books once for each key, however often it is asked."""
    return _booking(call, await _SUPPLIER.book(call.request, call.key))


@activity.defn
async def cancel_room(receipt: Receipt[BookRoom, RoomBooking]) -> Restoration:
    """Cancel the booking if it is still as it was made; a fee is what is left of it.

    Raises:
        Conflict: It was changed since. Nothing was cancelled.
    """
    call = receipt.call
    return await _SUPPLIER.cancel_key(call.request, call.key, call.undo_key)


@activity.defn
async def find_room(call: Call[BookRoom]) -> Applied[RoomBooking] | Absent | Unknown:
    """Ask the supplier for the booking with the call's key."""
    found = await _SUPPLIER.of_key(call.key)
    return Applied(result=_booking(call, found)) if found else Absent()


BOOK_ROOM: Tool[BookRoom, RoomBooking] = Tool(
    name="hotels.book",
    description="Book a hotel room; the undo cancels it, for which the hotel may take a fee.",
    forward=book_room,
    compensate=cancel_room,
    lookup=find_room,
    is_reversible=True,
    repeat=Repeat.DEDUPLICATED,
    timeout=timedelta(seconds=10),
    undo_timeout=timedelta(seconds=12),
    late_for=timedelta(seconds=3),
    proves=proves_booking,
)


@activity.defn
async def book_room_blind(call: Call[BookRoom]) -> RoomBooking:
    """Book the rooms at a supplier that books once more for each request, so this one is sent once."""
    return _booking(call, await _BLIND_SUPPLIER.book(call.request, None))


@activity.defn
async def cancel_room_blind(receipt: Receipt[BookRoom, RoomBooking]) -> Restoration:
    """Cancel the booking by the id that the supplier gave it; it can't be asked how the booking is now."""
    return await _BLIND_SUPPLIER.cancel_reference(receipt.result.booking)


BOOK_ROOM_BLIND: Tool[BookRoom, RoomBooking] = Tool(
    name="hotels.book_blind",
    description=(
        "Book a hotel room at a supplier that can't say afterwards whether it did; the undo cancels it, for which "
        "the hotel may take a fee."
    ),
    forward=book_room_blind,
    compensate=cancel_room_blind,
    is_reversible=True,
    repeat=Repeat.NEVER,
    timeout=timedelta(seconds=10),
    undo_timeout=timedelta(seconds=12),
    proves=proves_booking,
)


def _booking(call: Call[BookRoom], booked: Booked) -> RoomBooking:
    return RoomBooking(
        booking=booked.reference, hotel=call.request.hotel, price=booked.price, currency=booked.currency
    )
