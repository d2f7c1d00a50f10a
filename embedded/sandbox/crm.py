"""A CRM with orders; an order's version is its ETag, and a change can be made conditional on it."""

from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Header, Response
from pydantic import BaseModel, ConfigDict, Field

from embedded.sandbox.answers import Stored, refused, said
from embedded.sandbox.storage import Storage, find, find_all, locked, put

SYSTEM = "crm"
routes = APIRouter(prefix="/crm", tags=["crm"])


class Status(StrEnum):
    """How far an order is."""

    NEW = "new"
    PENDING = "pending"
    CONFIRMED = "confirmed"
    ON_HOLD = "on_hold"
    CANCELLED = "cancelled"
    SHIPPED = "shipped"


class NewOrder(BaseModel):
    """An order to be entered."""

    model_config = ConfigDict(extra="forbid")
    id: str = Field(pattern=r"^[A-Za-z0-9._-]{1,80}$")
    customer: str = Field(min_length=1, max_length=200)
    email: str = Field(pattern=r"^[^@\s]+@[^@\s]+$", max_length=254)
    total: int = Field(ge=0, description="In the currency's smallest unit.")
    currency: str = Field(default="eur", pattern=r"^[a-z]{3}$")
    status: Status = Status.NEW


class Order(NewOrder):
    """An order as it is kept."""

    reference: str | None = Field(
        default=None, description="What the last change of the status called itself."
    )
    version: int = 1


class Change(BaseModel):
    """A change of the status. The reference is replaced too, by null if none is given."""

    model_config = ConfigDict(extra="forbid")
    status: Status
    reference: str | None = Field(default=None, max_length=200)


@routes.post("/orders", status_code=201, responses=said(409))
async def create_order(new: NewOrder, storage: Stored, response: Response) -> Order:
    """Enters an order; 409 if there is one with this id."""
    async with storage.transaction() as connection:
        await connection.execute("select pg_advisory_xact_lock(hashtext(%s))", (f"{SYSTEM} {new.id}",))
        if await locked(connection, SYSTEM, new.id):
            raise refused(409, "exists", f"There is an order {new.id} already. Nothing was changed.")
        order = Order(**new.model_dump())
        await put(connection, SYSTEM, new.id, order.model_dump(mode="json"))
    response.headers["ETag"] = tag(order)
    return order


@routes.get("/orders")
async def list_orders(storage: Stored) -> list[Order]:
    """Every order by id."""
    return [Order.model_validate(state) for state in await find_all(storage, SYSTEM)]


@routes.get("/orders/{order_id}", responses=said(404))
async def get_order(order_id: str, storage: Stored, response: Response) -> Order:
    """One order; its ETag is for If-Match."""
    found = await find(storage, SYSTEM, name=order_id)
    if found is None:
        raise unknown(order_id)
    order = Order.model_validate(found["state"])
    response.headers["ETag"] = tag(order)
    return order


@routes.patch("/orders/{order_id}", responses=said(404, 409, 412))
async def change_order(
    order_id: str,
    change: Change,
    storage: Stored,
    response: Response,
    if_match: Annotated[str | None, Header(alias="If-Match")] = None,
) -> Order:
    """Sets the status; with If-Match only if the order is still as it was read. A shipped order stays as it is."""
    async with storage.transaction() as connection:
        found = await locked(connection, SYSTEM, order_id)
        if found is None:
            raise unknown(order_id)
        order = Order.model_validate(found["state"])
        if if_match not in (None, "*", tag(order)):
            raise refused(
                412, "changed", f"Order {order_id} is now {tag(order)}, not {if_match}. Nothing was changed."
            )
        if order.status is Status.SHIPPED:
            raise refused(409, "shipped", f"Order {order_id} has been shipped. Nothing was changed.")
        order = order.model_copy(update={**change.model_dump(), "version": order.version + 1})
        await put(connection, SYSTEM, order_id, order.model_dump(mode="json"))
    response.headers["ETag"] = tag(order)
    return order


def tag(order: Order) -> str:
    """The order's ETag."""
    return f'"{order.version}"'


def unknown(order_id: str) -> Exception:
    """The error for an order that is not there."""
    return refused(404, "unknown_order", f"There is no order {order_id}.")


async def seed(storage: Storage) -> None:
    """Enters the three orders that a new CRM has."""
    async with storage.transaction() as connection:
        await connection.execute("select pg_advisory_xact_lock(7264312)")
        for number in (1001, 1002, 1003):
            if await locked(connection, SYSTEM, f"O-{number}"):
                continue
            order = Order(
                id=f"O-{number}", customer="Ada Example", email="ada@example.com", total=number * 10
            )
            await put(connection, SYSTEM, order.id, order.model_dump(mode="json"))
