"""What booking systems for flights and hotels have in common: book by key, look up by key, cancel for a fee."""

from __future__ import annotations

from typing import Literal
from urllib.parse import quote

import httpx
from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from activities._http import ask, read_fresh
from activities.settings import settings
from rescind import Request, Restoration
from rescind.evidence import REFUSED, Conflict, Evidence
from rescind.evidence.http import proves

_CONFLICT, _GONE = 409, 410


class Booked(BaseModel):
    """A booking as its system shows it; amounts are in the currency's smallest unit."""

    model_config = ConfigDict(extra="allow")

    reference: str
    status: str
    price: int
    currency: str


class _Cancelled(BaseModel):
    """The answer to a cancellation; `never` where nothing was booked with the key, and can't be any more."""

    model_config = ConfigDict(extra="ignore")

    status: str
    fee: int = 0
    currency: str = ""


class _Problem(BaseModel):
    """The body of an error."""

    class Detail(BaseModel):
        """Its code tells errors of one status apart."""

        code: str

    detail: Detail


def proves_booking(error: BaseException) -> Evidence | None:
    """What an error of these systems proves; `sold_out` is a refusal, and any other 409 is unknown as ever.

    Source: docs/sandbox.md, "Stock": with this code nothing was booked, and a key that has booked is never
    answered so.
    """
    if isinstance(error, httpx.HTTPStatusError) and _is_sold_out(error.response):
        return REFUSED
    return proves(error)


def _is_sold_out(response: httpx.Response) -> bool:
    if response.status_code != _CONFLICT:
        return False
    try:
        return _Problem.model_validate_json(response.content).detail.code == "sold_out"
    except ValidationError:
        return False


class BookingSystem:
    """One booking system.

    Args:
        name: What it is called in errors.
        setting: The setting that holds its address.
        path: Where its bookings are, below that.
    """

    def __init__(
        self, name: str, setting: Literal["flights_url", "hotels_url"], path: str = "bookings"
    ) -> None:
        self._name, self._setting, self._path = name, setting, path

    async def book(self, request: Request, key: str | None) -> Booked:
        """Book; with the key of an earlier booking nothing is booked, and that one is answered."""
        headers = {} if key is None else {"Idempotency-Key": key}
        answer = await ask(self._name, "POST", self._url(), json=_plain(request), headers=headers)
        return answer.read(Booked)

    async def of_key(self, key: str) -> Booked | None:
        """The booking that was made with this key, unless it was cancelled."""
        answer = await read_fresh(self._name, self._url("by-key", key), expected=(200, 404, _GONE))
        return answer.read(Booked) if answer.status == 200 else None

    async def cancel_key(self, request: Request, key: str, undo_key: str) -> Restoration:
        """Cancel what was booked with this key if it is still as it was made, and keep the key from booking.

        A read that does not find the booking is not believed: only the answer to the cancellation is.

        Raises:
            Conflict: It is another one now. Nothing was cancelled.
        """
        found = await self.of_key(key)
        if found is not None:
            self._require_own(found, request)
        return await self._cancel(self._url("by-key", key), {"Idempotency-Key": undo_key})

    async def cancel_reference(self, reference: str) -> Restoration:
        """Cancel a booking of a system that does not show it, as it may be now."""
        return await self._cancel(self._url(reference), {})

    async def _cancel(self, url: str, headers: dict[str, str]) -> Restoration:
        answer = await ask(self._name, "DELETE", url, expected=(200, 404, _GONE), headers=headers)
        if answer.status == 404:
            return Restoration.nothing(f"{self._name} does not know the booking any more")
        cancelled = answer.read(_Cancelled)
        if cancelled.status == "never":
            return Restoration.nothing(f"{self._name} had booked nothing")
        if cancelled.fee:
            cost = f"{cancelled.fee / 100:.2f} {cancelled.currency.upper()}"
            return Restoration.residue(f"{self._name} keeps {cost} for the cancellation")
        return Restoration.equivalent(f"{self._name} keeps the booking as a cancelled one, at no cost")

    def _require_own(self, found: Booked, request: Request) -> None:
        shown = found.model_dump(mode="json")
        differs = [
            f"{name} is {shown.get(name)!r} and not {value!r}"
            for name, value in _plain(request).items()
            if shown.get(name) != value
        ]
        if differs:
            raise Conflict(
                f"the booking {found.reference} at {self._name} is not as this step made it: {'; '.join(differs)}. "
                "Nothing was cancelled. Decide by hand whether it is kept"
            )

    def _url(self, *parts: str) -> str:
        base = settings().required(self._setting).rstrip("/")
        return "/".join((base, self._path, *(quote(part, safe="") for part in parts)))


def _plain(request: Request) -> dict[str, JsonValue]:
    plain: dict[str, JsonValue] = request.model_dump(mode="json")
    return plain
