"""Slack-compatible webhooks whose messages are kept."""

import json
from typing import Any, cast
from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse
from psycopg import DataError
from psycopg.types.json import Jsonb
from pydantic import BaseModel

from embedded.sandbox.answers import Stored

LONGEST = 40_000  # characters; Slack cuts longer texts, a stand-in should not hide that
routes = APIRouter(tags=["chat"])


class Message(BaseModel):
    """One message as it was received; `at` is in seconds since 1970."""

    number: int
    hook: str
    at: float
    body: dict[str, Any]


@routes.post("/hook/{name}", response_class=PlainTextResponse)
async def post_message(name: str, request: Request, storage: Stored) -> PlainTextResponse:
    """Takes what Slack's webhook takes, and answers `ok`, or 400 and Slack's word for what is wrong."""
    body = await read(request)
    wrong = complaint(body)
    if wrong or body is None:
        return PlainTextResponse(wrong, 400)
    try:
        await storage.rows("insert into message (hook, body) values (%s, %s)", name, Jsonb(body))
    except DataError:  # PostgreSQL keeps no NUL and no half of a surrogate pair
        return PlainTextResponse("invalid_payload", 400)
    return PlainTextResponse("ok")


@routes.get("/messages")
async def list_messages(storage: Stored) -> list[Message]:
    """Every message, oldest first."""
    rows = await storage.rows(
        "select number, hook, extract(epoch from at)::float as at, body from message order by number"
    )
    return [Message.model_validate(row) for row in rows]


async def read(request: Request) -> dict[str, Any] | None:
    """The JSON object of the request, sent as JSON or as the form field `payload`; None if it is none."""
    raw = await request.body()
    if request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        raw = parse_qs(raw.decode(errors="replace")).get("payload", [""])[0].encode()
    try:
        body = json.loads(raw)
    except ValueError:
        return None
    return cast("dict[str, Any]", body) if isinstance(body, dict) else None


def complaint(body: dict[str, Any] | None) -> str:
    """Slack's word for what is wrong with a payload; empty if nothing is."""
    text = "" if body is None else body.get("text", "")
    if body is None or not isinstance(text, str):
        return "invalid_payload"
    if len(text) > LONGEST:
        return "msg_too_long"
    if not text and not body.get("blocks") and not body.get("attachments"):
        return "no_text"
    return ""
