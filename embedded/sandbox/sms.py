"""A provider of text messages: one for each key, and what was sent can't be called back."""

import secrets

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from embedded.sandbox.answers import Key, Stored, said
from embedded.sandbox.keys import answered, digest_of, keep_answer
from embedded.sandbox.storage import find_all, put

SYSTEM = "sms"
routes = APIRouter(prefix="/sms", tags=["sms"])


class NewSms(BaseModel):
    """A text message to be sent."""

    model_config = ConfigDict(extra="forbid")
    to: str = Field(pattern=r"^\+[1-9][0-9]{6,14}$")
    text: str = Field(min_length=1, max_length=1_000)


class Sms(NewSms):
    """A text message that was sent."""

    id: str


@routes.post("/messages", status_code=201, responses=said(422))
async def send_sms(new: NewSms, key: Key, storage: Stored) -> Sms:
    """Sends it, once for each key."""
    async with storage.transaction() as connection:
        if before := await answered(connection, SYSTEM, key, digest_of(new)):
            return Sms.model_validate(before)
        sms = Sms(id=f"sms_{secrets.token_hex(8)}", **new.model_dump())
        await put(connection, SYSTEM, sms.id, sms.model_dump(mode="json"), key)
        await keep_answer(connection, SYSTEM, key, sms.model_dump(mode="json"))
        return sms


@routes.get("/messages")
async def list_sms(storage: Stored) -> list[Sms]:
    """Every text message by id."""
    return [Sms.model_validate(state) for state in await find_all(storage, SYSTEM)]
