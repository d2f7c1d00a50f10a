"""The errors of the sandbox's providers, and what its endpoints have in common."""

from typing import Annotated, cast

from fastapi import Depends, Header, HTTPException, Request
from pydantic import BaseModel

from embedded.sandbox.plans import Plans
from embedded.sandbox.storage import Storage

Key = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        description="The same key and body give the same answer; the same key with another body is 422.",
    ),
]


def refused(status: int, code: str, message: str) -> HTTPException:
    """An error that a client can tell by its code."""
    return HTTPException(status, {"code": code, "message": message})


class Detail(BaseModel):
    """What went wrong."""

    code: str
    message: str


class Problem(BaseModel):
    """The body of an error."""

    detail: Detail


def said(*statuses: int) -> dict[int | str, dict[str, object]]:
    """The errors of an endpoint, for the OpenAPI page."""
    words = {
        402: "Too little money",
        404: "No such thing",
        409: "Not possible as things stand; with the code `sold_out` nothing was booked",
        410: "It was cancelled",
        412: "It has changed since it was read",
        428: "If-Match is missing",
        422: "Not valid, or the key was used with another body",
    }
    return {
        status: {"description": words[status], **({} if status in (410, 422) else {"model": Problem})}
        for status in statuses
    }


def _storage(request: Request) -> Storage:
    return cast("Storage", request.app.state.storage)


def _plans(request: Request) -> Plans:
    return cast("Plans", request.app.state.plans)


Stored = Annotated[Storage, Depends(_storage)]
Planned = Annotated[Plans, Depends(_plans)]
