"""What all suppliers share: a booking is made once for each key, and is cancelled once."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from fastapi.responses import JSONResponse
from psycopg.rows import DictRow
from pydantic import BaseModel, Field

from embedded.sandbox.answers import refused
from embedded.sandbox.keys import answered, digest_of, keep_answer
from embedded.sandbox.storage import Connection, Storage, find, find_all, locked, put

LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # without those that are taken for one another


class Rate(StrEnum):
    """What a cancellation costs."""

    STANDARD = "standard"
    FLEXIBLE = "flexible"
    """Nothing."""


class State(StrEnum):
    """Whether a booking stands."""

    BOOKED = "booked"
    CANCELLED = "cancelled"
    NEVER = "never"
    """Its key was cancelled before a booking came; none will be made with it."""


class Booking(BaseModel):
    """What every supplier's booking has."""

    reference: str
    status: State = State.BOOKED
    rate: Rate = Rate.STANDARD
    price: int = Field(description="In cents.")
    currency: str = "eur"
    fee: int = Field(0, description="What the cancellation cost, in cents.")


class Fence(BaseModel):
    """The answer to the cancellation of a key that was never booked with."""

    status: State = State.NEVER
    fee: int = 0


B = TypeVar("B", bound=Booking)


@dataclass(frozen=True)
class Wish:
    """A request that was found valid, and what it takes from the stock."""

    stock: str
    quantity: int
    body: BaseModel


@dataclass(frozen=True)
class Supplier(Generic[B]):
    """One supplier's bookings; the share of the price that a cancellation keeps is in percent."""

    system: str
    booking: type[B]
    fee_percent: int

    async def book(
        self, storage: Storage, wish: Wish, make: Callable[[str], B], key: str | None
    ) -> tuple[B, bool]:
        """The booking, and whether it had been made with this key before.

        Another call with the same key is waited for. 409 with the code `sold_out` when there is no room, 410 for a
        key that was cancelled before, 422 for one that was used with another body; nothing is kept of such a call.
        """
        async with storage.transaction() as connection:
            if key is not None and (
                before := await answered(connection, self.system, key, digest_of(wish.body))
            ):
                return self.booking.model_validate(before), True
            await self._take(connection, wish)
            booking = make("".join(secrets.choice(LETTERS) for _ in range(8)))
            state = booking.model_dump(mode="json")
            kept = {**state, "_stock": wish.stock, "_quantity": wish.quantity}
            await put(connection, self.system, booking.reference, kept, key)
            await keep_answer(connection, self.system, key, state)
            return booking, False

    async def cancel(self, storage: Storage, reference: str) -> B:
        """The cancelled booking with its fee; a second cancellation answers the same and costs nothing."""
        async with storage.transaction() as connection:
            found = await locked(connection, self.system, reference)
            if found is None:
                raise self.unknown(reference)
            return await self._cancel(connection, found)

    async def cancel_by_key(self, storage: Storage, key: str) -> B | Fence:
        """As `cancel`; a key without a booking is fenced, so that none can be made with it any more."""
        async with storage.transaction() as connection:
            await connection.execute(
                "insert into idempotency (system, key) values (%s, %s) on conflict do nothing",
                (self.system, key),
            )
            await connection.execute(
                "select from idempotency where (system, key) = (%s, %s) for update", (self.system, key)
            )
            cursor = await connection.execute(
                "select id from thing where (system, key) = (%s, %s)", (self.system, key)
            )
            row = await cursor.fetchone()
            found = await locked(connection, self.system, row["id"]) if row else None
            return await self._cancel(connection, found) if found else Fence()

    async def find(
        self, storage: Storage, *, reference: str | None = None, key: str | None = None
    ) -> JSONResponse:
        """200 with a booking that stands, 410 with one that was cancelled, 404 if there is none."""
        found = await find(storage, self.system, name=reference, key=key)
        if found is None:
            raise self.unknown(str(reference if key is None else key))
        booking = self.booking.model_validate(found["state"])
        status = 200 if booking.status is State.BOOKED else 410
        return JSONResponse(booking.model_dump(mode="json"), status)

    async def all(self, storage: Storage) -> list[B]:
        """Every booking by reference, cancelled ones too."""
        return [self.booking.model_validate(state) for state in await find_all(storage, self.system)]

    def unknown(self, name: str) -> Exception:
        """The error for a booking that is not there."""
        return refused(404, "unknown_booking", f"There is no booking {name}.")

    async def _take(self, connection: Connection, wish: Wish) -> None:
        cursor = await connection.execute(
            "update stock set left_over = left_over - %(n)s where (system, name) = (%(system)s, %(name)s) "
            "and left_over >= %(n)s returning true",
            {"n": wish.quantity, "system": self.system, "name": wish.stock},
        )
        if await cursor.fetchone():
            return
        cursor = await connection.execute(
            "select from stock where (system, name) = (%s, %s)", (self.system, wish.stock)
        )
        if await cursor.fetchone() is not None:
            raise refused(409, "sold_out", f"{wish.stock} is sold out. Nothing was booked.")

    async def _cancel(self, connection: Connection, found: DictRow) -> B:
        state = found["state"]
        booking = self.booking.model_validate(state)
        if booking.status is State.CANCELLED:
            return booking
        fee = 0 if booking.rate is Rate.FLEXIBLE else booking.price * self.fee_percent // 100
        booking = booking.model_copy(update={"status": State.CANCELLED, "fee": fee})
        await put(connection, self.system, booking.reference, {**state, **booking.model_dump(mode="json")})
        await connection.execute(
            "update stock set left_over = left_over + %s where (system, name) = (%s, %s)",
            (state["_quantity"], self.system, state["_stock"]),
        )
        return booking
