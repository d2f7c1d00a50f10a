"""A flight supplier with idempotency keys, a lookup by key, and fees for cancellations."""

from datetime import date

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from embedded.sandbox.answers import Key, Stored, said
from embedded.sandbox.bookings import Booking, Fence, Rate, Supplier, Wish

SEAT = 12_000  # cents
routes = APIRouter(prefix="/flights", tags=["flights"])


class BookFlight(BaseModel):
    """Seats on one flight. There is room on every flight that nobody has given a stock."""

    model_config = ConfigDict(extra="forbid")
    flight: str = Field(pattern=r"^[A-Z0-9]{2}[0-9]{1,4}$", examples=["LH123"])
    passenger: str = Field(min_length=1, max_length=200)
    day: date | None = None
    seats: int = Field(1, ge=1, le=9)
    rate: Rate = Rate.STANDARD


class FlightBooking(Booking):
    """A booked flight."""

    flight: str
    passenger: str
    day: date | None
    seats: int


FLIGHTS = Supplier("flights", FlightBooking, fee_percent=10)


@routes.post("/bookings", status_code=201, responses=said(409, 410, 422))
async def book_flight(wish: BookFlight, key: Key, storage: Stored, response: Response) -> FlightBooking:
    """Books once for each key; repeated, the first answer comes again, with Idempotent-Replayed."""

    def make(reference: str) -> FlightBooking:
        return FlightBooking(reference=reference, price=SEAT * wish.seats, **wish.model_dump())

    booking, replayed = await FLIGHTS.book(storage, Wish(wish.flight, wish.seats, wish), make, key)
    if replayed:
        response.headers["Idempotent-Replayed"] = "true"
    return booking


@routes.get("/bookings")
async def list_flights(storage: Stored) -> list[FlightBooking]:
    """Every booking, cancelled ones too."""
    return await FLIGHTS.all(storage)


@routes.get("/bookings/by-key/{key}", response_model=FlightBooking, responses=said(404, 410))
async def find_flight(key: str, storage: Stored) -> JSONResponse:
    """The booking that was made with this key; consistent after a write."""
    return await FLIGHTS.find(storage, key=key)


@routes.delete("/bookings/by-key/{key}")
async def cancel_flight_by_key(key: str, storage: Stored) -> FlightBooking | Fence:
    """Cancels what was booked with the key; if nothing was, nothing can be any more."""
    return await FLIGHTS.cancel_by_key(storage, key)


@routes.get("/bookings/{reference}", response_model=FlightBooking, responses=said(404, 410))
async def get_flight(reference: str, storage: Stored) -> JSONResponse:
    """One booking; once cancelled, 410 with what it was."""
    return await FLIGHTS.find(storage, reference=reference)


@routes.delete("/bookings/{reference}", responses=said(404))
async def cancel_flight(reference: str, storage: Stored) -> FlightBooking:
    """Cancels for a fee of 10 %; repeated, the same answer, and no second fee."""
    return await FLIGHTS.cancel(storage, reference)
