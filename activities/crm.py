"""The tool that sets an order's status in the CRM, and sets it back only if it is still the one that was set."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field
from temporalio import activity

from activities._http import Unreadable, ask, before_writing, read_fresh
from activities.settings import settings
from rescind import (
    Absent,
    Applied,
    Call,
    Receipt,
    Request,
    Restoration,
    Result,
    Risk,
    Tool,
    Unknown,
    remember,
    remembered,
)
from rescind.evidence import Conflict, NothingHappened, Refused
from rescind.evidence.http import proves

_SYSTEM = "the CRM"
_CHANGED = 412
_NO_VERSION = '"no-version"'
"""No order ever has it, so that a write on condition of it is refused."""


class SetStatus(Request):
    """Set the status of an order."""

    order: Annotated[str, Field(pattern=r"^[\w.-]{1,64}$")]
    status: Annotated[str, Field(min_length=1, max_length=64)]


class OrderStatus(Result):
    """An order's status that was set; `was` is the one before."""

    order: str
    status: str
    was: str


class StatusBefore(BaseModel):
    """The before-image: what the order's status was, its reference, and the order's version."""

    model_config = ConfigDict(frozen=True)

    status: str
    reference: str | None
    version: str


class _Order(BaseModel):
    model_config = ConfigDict(extra="ignore")

    status: str
    reference: str | None = None
    tag: str = ""

    def is_as(self, before: StatusBefore) -> bool:
        """Whether status and reference are what they were."""
        return (self.status, self.reference) == (before.status, before.reference)


@activity.defn
async def set_status(call: Call[SetStatus]) -> OrderStatus:
    """Set the status, with our key as its reference, in one write that the CRM takes only at the version remembered.

    Raises:
        Refused: There is no such order.
        NothingHappened: Somebody changed the order meanwhile; the next attempt looks again.
    """
    name, status = call.request.order, call.request.status
    with before_writing(proves):
        order = await _order(name)
        if order is None:
            raise Refused(f"the CRM has no order {name!r}. Nothing was changed")
    own = order.reference == call.key
    if order.status == status and not own:
        return OrderStatus(changed=False, order=name, status=status, was=status)
    before = await remember(StatusBefore(status=order.status, reference=order.reference, version=order.tag))
    if not own:
        await _write(name, status, call.key, before.version)
    return OrderStatus(order=name, status=status, was=before.status)


@activity.defn
async def set_status_back(receipt: Receipt[SetStatus, OrderStatus]) -> Restoration:
    """Set back what the status was before the call, if it is still the one that the call has set.

    Raises:
        Conflict: Somebody has changed the status since. Nothing was changed.
    """
    call, before = receipt.call, receipt.before_as(StatusBefore)
    order = await _order(call.request.order)
    if order is None:
        await _require_gone(call.request)
        return Restoration.nothing(f"the order {call.request.order!r} is gone")
    if before is not None and order.tag == before.version:
        raise Unreadable(
            f"the CRM shows the order {call.request.order!r} as it was before this step, which is not true any more"
        )
    if before is None or (order.status, order.reference) != (call.request.status, call.key):
        if before is not None and order.is_as(before):
            return Restoration.exact()
        raise Conflict(
            f"the status of order {call.request.order!r} is {order.status!r}, by {order.reference!r}, and not "
            f"{call.request.status!r} as this step has set it. Nothing was changed. Decide by hand which one holds"
        )
    await _write(call.request.order, before.status, before.reference, order.tag)
    return Restoration.exact()


@activity.defn
async def find_status(call: Call[SetStatus]) -> Applied[OrderStatus] | Absent | Unknown:
    """Ask the CRM whose reference the order carries."""
    before = remembered(StatusBefore)
    if before is None:
        return Absent()  # nothing is written before that is remembered
    order = await _order(call.request.order)
    if order is not None and order.reference == call.key:
        return Applied(
            result=OrderStatus(order=call.request.order, status=call.request.status, was=before.status)
        )
    if order is None or order.tag == before.version or order.reference == before.reference:
        return Absent()
    return Unknown(
        why=f"the status of order {call.request.order!r} was set with the reference {order.reference!r} since, which "
        f"hides whether {call.key!r} had set it before"
    )


SET_STATUS: Tool[SetStatus, OrderStatus] = Tool(
    name="crm.set_status",
    description="Set an order's status in the CRM; the undo sets the one before, unless it was changed since.",
    forward=set_status,
    compensate=set_status_back,
    lookup=find_status,
    is_reversible=True,
    acts_on=("crm/{order}",),
    risk=Risk.LOW,
    timeout=timedelta(seconds=12),
    undo_timeout=timedelta(seconds=12),
    late_for=timedelta(seconds=3),
    proves=proves,
)


def _url(order: str) -> str:
    return f"{settings().required('crm_url').rstrip('/')}/orders/{quote(order, safe='')}"


async def _order(name: str) -> _Order | None:
    answer = await read_fresh(_SYSTEM, _url(name), expected=(200, 404))
    if answer.status != 200:
        return None
    version = answer.headers.get("etag")
    if not version:
        raise Unreadable(
            "the CRM answered without an ETag, so that nothing can be compared. Nothing was changed"
        )
    return answer.read(_Order).model_copy(update={"tag": version})


async def _write(order: str, status: str, reference: str | None, version: str) -> None:
    """Write if the order is still at this version; versions never come back, so a late write can't do harm."""
    body = {"status": status, "reference": reference}
    condition = {"If-Match": version}
    answer = await ask(_SYSTEM, "PATCH", _url(order), expected=(200, _CHANGED), json=body, headers=condition)
    if answer.status == _CHANGED:
        raise NothingHappened(f"the order {order!r} was changed in the same moment. Nothing was written")
    if answer.read(_Order).status != status:
        raise Unreadable(f"the CRM took the status {status!r} of order {order!r} and shows another one")


async def _require_gone(request: SetStatus) -> None:
    """A read that does not find the order may be an old one; a write that can't succeed is answered by what is true.

    Raises:
        Unreadable: The order is there.
    """
    body = {"status": request.status, "reference": None}
    condition = {"If-Match": _NO_VERSION}
    url = _url(request.order)
    answer = await ask(_SYSTEM, "PATCH", url, expected=(404, _CHANGED), json=body, headers=condition)
    if answer.status != 404:
        raise Unreadable(f"the CRM did not show the order {request.order!r}, which is there")
