"""The tool that the shop gains: put a book aside, in a folder that stands for the shelf."""

import os
from pathlib import Path

from temporalio import activity

from rescind import Absent, Applied, Call, Receipt, Request, Restoration, Result, Tool, Unknown
from rescind.evidence import Refused


class PutAside(Request):
    """Put a book aside."""

    title: str


class Book(Result):
    """A book on the shelf."""

    title: str


@activity.defn(no_thread_cancel_exception=True)
def put_aside(call: Call[PutAside]) -> Book:
    """Put it on the shelf, with the call's key on it."""
    title = call.request.title
    if title == "out of print":
        raise Refused(f"{title}: there is none")
    _place(title).write_text(call.key)
    return Book(title=title)


@activity.defn(no_thread_cancel_exception=True)
def put_back(receipt: Receipt[PutAside, Book]) -> Restoration:
    """Take it off the shelf if it is ours."""
    place = _place(receipt.result.title)
    if not place.exists() or place.read_text() != receipt.call.key:
        return Restoration.nothing("it is not there any more")
    place.unlink()
    return Restoration.exact()


@activity.defn(no_thread_cancel_exception=True)
def find_aside(call: Call[PutAside]) -> Applied[Book] | Absent | Unknown:
    """Look whether it is on the shelf with our key."""
    place = _place(call.request.title)
    mine = place.exists() and place.read_text() == call.key
    return Applied(result=Book(title=call.request.title)) if mine else Absent()


PUT_ASIDE = Tool(
    name="shelf.put_aside",
    description="Put a book aside; it goes back to its place when the order is not completed.",
    forward=put_aside,
    compensate=put_back,
    lookup=find_aside,
    is_reversible=True,
)


def _place(title: str) -> Path:
    return Path(os.environ["SHOP_SHELF"]) / title
