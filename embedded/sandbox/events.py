"""Webhooks of other programs, which keep every event that they are posted, also one that comes twice."""

import secrets
import time
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel

from embedded.sandbox.answers import Stored
from embedded.sandbox.storage import find_all, put

SYSTEM = "webhook"
routes = APIRouter(prefix="/webhooks", tags=["webhooks"])


class Event(BaseModel):
    """One event as it was received; the number grows."""

    number: str
    hook: str
    body: dict[str, Any]


@routes.get("/events")
async def list_events(storage: Stored) -> list[Event]:
    """Every event that any hook was posted, oldest first."""
    return [Event.model_validate(state) for state in await find_all(storage, SYSTEM)]


@routes.post("/{name}", status_code=202)
async def post_event(name: str, body: dict[str, Any], storage: Stored) -> Event:
    """Keeps the event; this receiver does not know an id again."""
    event = Event(number=f"{time.time_ns():020d}-{secrets.token_hex(2)}", hook=name, body=body)
    async with storage.transaction() as connection:
        await put(connection, SYSTEM, event.number, event.model_dump(mode="json"))
    return event
