"""A bank: one transfer for each key, found again by its key, and never called back."""

import secrets

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from embedded.sandbox.answers import Key, Stored, refused, said
from embedded.sandbox.keys import answered, digest_of, keep_answer
from embedded.sandbox.storage import Connection, find, find_all, put

SYSTEM = "payments"
IBAN = r"^[A-Z]{2}[0-9]{2}[A-Z0-9]{4,30}$"
routes = APIRouter(prefix="/payments", tags=["payments"])


class NewTransfer(BaseModel):
    """A transfer to be made."""

    model_config = ConfigDict(extra="forbid")
    source: str = Field(pattern=IBAN)
    target: str = Field(pattern=IBAN)
    amount: int = Field(ge=1, description="In the currency's smallest unit.")
    currency: str = Field(default="eur", pattern=r"^[a-z]{3}$")
    purpose: str = Field(min_length=1, max_length=140)


class Transfer(NewTransfer):
    """A transfer that was made."""

    id: str


@routes.post("/transfers", status_code=201, responses=said(402, 422))
async def make_transfer(new: NewTransfer, key: Key, storage: Stored) -> Transfer:
    """Makes it, once for each key; 402 if the source is known by `PUT /admin/stock/payments/...` to have too little."""
    async with storage.transaction() as connection:
        if before := await answered(connection, SYSTEM, key, digest_of(new)):
            return Transfer.model_validate(before)
        await _take(connection, new)
        transfer = Transfer(id=f"tr_{secrets.token_hex(8)}", **new.model_dump())
        await put(connection, SYSTEM, transfer.id, transfer.model_dump(mode="json"), key)
        await keep_answer(connection, SYSTEM, key, transfer.model_dump(mode="json"))
        return transfer


@routes.get("/transfers")
async def list_transfers(storage: Stored) -> list[Transfer]:
    """Every transfer by id."""
    return [Transfer.model_validate(state) for state in await find_all(storage, SYSTEM)]


@routes.get("/transfers/by-key/{key}", responses=said(404))
async def find_transfer(key: str, storage: Stored) -> Transfer:
    """The transfer that was made with this key."""
    found = await find(storage, SYSTEM, key=key)
    if found is None:
        raise refused(404, "unknown_transfer", f"No transfer was made with the key {key}.")
    return Transfer.model_validate(found["state"])


class Funds(BaseModel):
    """Whether an account has an amount; the amount that it has is nobody's business."""

    available: bool


@routes.get("/accounts/{account}/funds")
async def confirm_funds(account: str, amount: int, storage: Stored) -> Funds:
    """Whether the account has this amount now, in the currency's smallest unit."""
    found = await storage.rows("select left_over from stock where (system, name) = (%s, %s)", SYSTEM, account)
    return Funds(available=all(row["left_over"] >= amount for row in found))


async def _take(connection: Connection, new: NewTransfer) -> None:
    """Takes the amount from the account's balance, where one is known."""
    cursor = await connection.execute(
        "select left_over from stock where (system, name) = (%s, %s) for update", (SYSTEM, new.source)
    )
    row = await cursor.fetchone()
    if row is None:
        return
    if row["left_over"] < new.amount:
        raise refused(402, "insufficient_funds", f"{new.source} has too little. Nothing was transferred.")
    await connection.execute(
        "update stock set left_over = left_over - %s where (system, name) = (%s, %s)",
        (new.amount, SYSTEM, new.source),
    )
