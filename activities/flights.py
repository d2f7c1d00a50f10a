"""The tool that books a flight; the undo cancels it, and says what that cost."""

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field
from temporalio import activity

from activities._bookings import Booked, BookingSystem, proves_booking
from rescind import Absent, Applied, Call, Receipt, Repeat, Request, Restoration, Result, Tool, Unknown

_AIRLINE = BookingSystem("the airline", "flights_url")


class BookFlight(Request):
    """Book seats on a flight; `day` is one as 2026-11-30, and a flexible rate can be cancelled at no cost."""

    flight: Annotated[str, Field(pattern=r"^[A-Z0-9]{2}[0-9]{1,4}$")]
    day: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    passenger: Annotated[str, Field(min_length=1, max_length=200)]
    seats: Annotated[int, Field(ge=1, le=9)] = 1
    rate: Literal["standard", "flexible"] = "standard"


class FlightBooking(Result):
    """Booked seats; the price is in the currency's smallest unit."""

    booking: str
    flight: str
    price: int
    currency: str


@activity.defn
async def book_flight(call: Call[BookFlight]) -> FlightBooking:
    """Book the seats; the airline books once for each key, however often it is asked."""
    return _booking(call, await _AIRLINE.book(call.request, call.key))


@activity.defn
async def cancel_flight(receipt: Receipt[BookFlight, FlightBooking]) -> Restoration:
    """Cancel the booking if it is still as it was made; a fee is what is left of it.

    Raises:
        Conflict: It was changed since. Nothing was cancelled.
    """
    call = receipt.call
    return await _AIRLINE.cancel_key(call.request, call.key, call.undo_key)


@activity.defn
async def find_flight(call: Call[BookFlight]) -> Applied[FlightBooking] | Absent | Unknown:
    """Ask the airline for the booking with the call's key."""
    found = await _AIRLINE.of_key(call.key)
    return Applied(result=_booking(call, found)) if found else Absent()


BOOK_FLIGHT: Tool[BookFlight, FlightBooking] = Tool(
    name="flights.book",
    description="Book seats on a flight; the undo cancels it, for which the airline may take a fee.",
    forward=book_flight,
    compensate=cancel_flight,
    lookup=find_flight,
    is_reversible=True,
    repeat=Repeat.DEDUPLICATED,
    timeout=timedelta(seconds=10),
    undo_timeout=timedelta(seconds=12),
    late_for=timedelta(seconds=3),
    proves=proves_booking,
)


def _booking(call: Call[BookFlight], booked: Booked) -> FlightBooking:
    return FlightBooking(
        booking=booked.reference, flight=call.request.flight, price=booked.price, currency=booked.currency
    )
