"""What tests and people tell the sandbox, and ask it; never a part of what a provider offers."""

from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from embedded.sandbox.answers import Planned, Stored, refused
from embedded.sandbox.faults import KeptPlan, Plan, Seen
from embedded.sandbox.hotels import BLIND, RoomBooking
from embedded.sandbox.operations import OPERATIONS, SYSTEMS

routes = APIRouter(prefix="/admin", tags=["admin"])


class Stock(BaseModel):
    """How many seats or rooms are left."""

    left: int = Field(ge=0)


@routes.get("/operations")
async def list_operations() -> list[str]:
    """Every operation that a plan can name."""
    return sorted(OPERATIONS)


@routes.post("/faults", status_code=201)
async def add_fault(plan: Plan, plans: Planned) -> KeptPlan:
    """Plans a fault, for every call that arrives after this answer; 422 for an operation that does not exist."""
    if plan.operation != "*" and plan.operation not in OPERATIONS | SYSTEMS:
        raise refused(
            422, "unknown_operation", f"There is no operation {plan.operation}. Nothing was planned."
        )
    return await plans.add(plan)


@routes.get("/faults")
async def list_faults(plans: Planned) -> list[KeptPlan]:
    """Every plan, spent ones too."""
    return await plans.all()


@routes.delete("/faults", status_code=204)
async def remove_faults(plans: Planned) -> None:
    """Forgets every plan."""
    await plans.remove()


@routes.delete("/faults/{number}", status_code=204)
async def remove_fault(number: int, plans: Planned) -> None:
    """Forgets one plan."""
    await plans.remove(number)


@routes.get("/calls")
async def list_calls(plans: Planned, operation: str | None = None, key: str | None = None) -> list[Seen]:
    """The calls since the log was emptied, of one operation or system, or of one key."""
    return await plans.calls(operation, key)


@routes.delete("/calls", status_code=204)
async def forget_calls(plans: Planned) -> None:
    """Empties the log, but for the calls that are still under way."""
    await plans.forget()


@routes.put("/stock/{system}/{name}", status_code=204)
async def set_stock(
    system: Annotated[str, Path(pattern="^(flights|hotels|blind|payments)$")],
    name: str,
    stock: Stock,
    storage: Stored,
) -> None:
    """Limits a flight or hotel to what is left; 0 sells it out."""
    await storage.rows(
        "insert into stock (system, name, left_over) values (%s, %s, %s) "
        "on conflict (system, name) do update set left_over = excluded.left_over",
        *(system, name, stock.left),
    )


@routes.get("/blind/bookings")
async def list_blind(storage: Stored) -> list[RoomBooking]:
    """What the supplier without a lookup holds; only its own staff could tell."""
    return await BLIND.all(storage)
