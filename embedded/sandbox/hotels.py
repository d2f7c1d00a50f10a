"""Two hotel suppliers: one with idempotency keys and a lookup, one that knows neither."""

from datetime import date

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from embedded.sandbox.answers import Key, Stored, said
from embedded.sandbox.bookings import Booking, Fence, Rate, Supplier, Wish

NIGHT = 9_000  # cents
routes = APIRouter(prefix="/hotels", tags=["hotels"])


class BookRoom(BaseModel):
    """Rooms in one hotel. There is room in every hotel that nobody has given a stock."""

    model_config = ConfigDict(extra="forbid")
    hotel: str = Field(min_length=1, max_length=200, examples=["Grand"])
    guest: str = Field(min_length=1, max_length=200)
    arrival: date | None = None
    nights: int = Field(1, ge=1, le=30)
    rooms: int = Field(1, ge=1, le=9)
    rate: Rate = Rate.STANDARD


class RoomBooking(Booking):
    """Booked rooms."""

    hotel: str
    guest: str
    arrival: date | None
    nights: int
    rooms: int


HOTELS = Supplier("hotels", RoomBooking, fee_percent=20)
BLIND = Supplier("blind", RoomBooking, fee_percent=20)


def _making(wish: BookRoom, reference: str) -> RoomBooking:
    price = NIGHT * wish.nights * wish.rooms
    return RoomBooking(reference=reference, price=price, **wish.model_dump())


@routes.post("/bookings", status_code=201, responses=said(409, 410, 422))
async def book_room(wish: BookRoom, key: Key, storage: Stored, response: Response) -> RoomBooking:
    """Books once for each key; repeated, the first answer comes again, with Idempotent-Replayed."""
    asked = Wish(wish.hotel, wish.rooms, wish)
    booking, replayed = await HOTELS.book(storage, asked, lambda reference: _making(wish, reference), key)
    if replayed:
        response.headers["Idempotent-Replayed"] = "true"
    return booking


@routes.get("/bookings")
async def list_rooms(storage: Stored) -> list[RoomBooking]:
    """Every booking, cancelled ones too."""
    return await HOTELS.all(storage)


@routes.get("/bookings/by-key/{key}", response_model=RoomBooking, responses=said(404, 410))
async def find_room(key: str, storage: Stored) -> JSONResponse:
    """The booking that was made with this key; consistent after a write."""
    return await HOTELS.find(storage, key=key)


@routes.delete("/bookings/by-key/{key}")
async def cancel_room_by_key(key: str, storage: Stored) -> RoomBooking | Fence:
    """Cancels what was booked with the key; if nothing was, nothing can be any more."""
    return await HOTELS.cancel_by_key(storage, key)


@routes.get("/bookings/{reference}", response_model=RoomBooking, responses=said(404, 410))
async def get_room(reference: str, storage: Stored) -> JSONResponse:
    """One booking; once cancelled, 410 with what it was."""
    return await HOTELS.find(storage, reference=reference)


@routes.delete("/bookings/{reference}", responses=said(404))
async def cancel_room(reference: str, storage: Stored) -> RoomBooking:
    """Cancels for a fee of 20 %; repeated, the same answer, and no second fee."""
    return await HOTELS.cancel(storage, reference)


@routes.post("/blind/bookings", status_code=201, responses=said(409))
async def book_blind(wish: BookRoom, storage: Stored) -> RoomBooking:
    """Books anew at every call: this supplier reads no key, and its bookings cannot be looked up."""
    booking, _ = await BLIND.book(
        storage, Wish(wish.hotel, wish.rooms, wish), lambda reference: _making(wish, reference), None
    )
    return booking


@routes.delete("/blind/bookings/{reference}", responses=said(404))
async def cancel_blind(reference: str, storage: Stored) -> RoomBooking:
    """Cancels for a fee of 20 %; repeated, the same answer, and no second fee."""
    return await BLIND.cancel(storage, reference)
