"""The tool that reads an order in the CRM; it changes nothing."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field
from temporalio import activity

from activities._http import read_fresh
from activities.settings import settings
from rescind import Call, Request, Result, Tool
from rescind.evidence import Refused
from rescind.evidence.http import proves


class FindOrder(Request):
    """Read an order by its number."""

    order: Annotated[str, Field(pattern=r"^[\w.-]{1,64}$")]


class Order(Result):
    """An order as it is now; the total is in the currency's smallest unit."""

    order: str
    status: str
    customer: str
    email: str
    total: int
    currency: str


class _Shown(BaseModel):
    model_config = ConfigDict(extra="ignore")

    status: str
    customer: str
    email: str
    total: int
    currency: str


@activity.defn
async def read_order(call: Call[FindOrder]) -> Order:
    """Ask the CRM, and no cache, for the order.

    Raises:
        Refused: There is no such order.
    """
    name = call.request.order
    url = f"{settings().required('crm_url').rstrip('/')}/orders/{quote(name, safe='')}"
    answer = await read_fresh("the CRM", url, expected=(200, 404))
    if answer.status == 404:
        raise Refused(f"the CRM has no order {name!r}. Name one that it has")
    return Order(changed=False, order=name, **answer.read(_Shown).model_dump())


FIND_ORDER: Tool[FindOrder, Order] = Tool(
    name="crm.find",
    description="Read an order in the CRM: status, customer, address, total. It fails if there is none.",
    forward=read_order,
    read_only=True,
    timeout=timedelta(seconds=8),
    proves=proves,
)
