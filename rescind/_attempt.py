"""What a tool's activity can ask of the attempt it runs in: remember, and how much time is left."""

import asyncio
import contextvars
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pydantic import BaseModel, JsonValue
from pydantic_core import to_json

from rescind._calls import Before


@dataclass(slots=True)
class Attempt:
    """One attempt of a tool's activity, as the wrapper around it sees it.

    Attributes:
        before: The before-image that an attempt of this call stored, or None.
        store: Writes the before-image to the ledger; answers with the one that counts.
        ends: The time, on this process's monotonic clock in seconds, by which the provider has to have answered.
        loop: The worker's event loop, for activities that run in a thread.
    """

    before: JsonValue
    store: Callable[[JsonValue], Awaitable[JsonValue]]
    ends: float
    loop: asyncio.AbstractEventLoop


_current: contextvars.ContextVar[Attempt | None] = contextvars.ContextVar("rescind_attempt", default=None)


def enter(attempt: Attempt) -> None:
    """Make this the attempt of the current context (and of the threads that are given a copy of it)."""
    _current.set(attempt)


async def remember(before: Before) -> Before:
    """Store what the call is going to overwrite, before it does; for `async def` activities.

    The first image is kept while an earlier attempt is unproven, since a retry may be looking at its
    own work; so go by the image that comes back, not by the one given. Outside a saga (a unit
    test) the one given comes back.

    Args:
        before: The before-image, a Pydantic model.

    Returns:
        The stored image that counts.

    Raises:
        rescind.ledger.EffectFenced: The saga has given this call up. Nothing was stored: do not act.
    """
    attempt = _current.get()
    if attempt is None:
        return before
    attempt.before = await attempt.store(_json(before))
    return _read(attempt.before, before)


def remember_blocking(before: Before) -> Before:
    """The same as `remember`, for `def` activities, which run in a thread."""
    attempt = _current.get()
    if attempt is None:
        return before
    stored = asyncio.run_coroutine_threadsafe(_stored(attempt, _json(before)), attempt.loop)
    attempt.before = stored.result()
    return _read(attempt.before, before)


def remembered(model: type[Before]) -> Before | None:
    """The before-image that an attempt of this call stored earlier, or None; for lookups above all.

    Args:
        model: The model that was remembered.
    """
    attempt = _current.get()
    if attempt is None or attempt.before is None:
        return None
    return model.model_validate_json(to_json(attempt.before))


def time_left(default: float = 10.0) -> float:
    """Seconds until the attempt is given up; pass it to the client as its time-out.

    Args:
        default: What is answered outside a saga, in seconds.
    """
    attempt = _current.get()
    return default if attempt is None else max(0.1, attempt.ends - time.monotonic())


async def _stored(attempt: Attempt, image: JsonValue) -> JsonValue:
    return await attempt.store(image)


def _json(before: BaseModel) -> JsonValue:
    image: JsonValue = before.model_dump(mode="json")
    return image


def _read(stored: JsonValue, like: Before) -> Before:
    return type(like).model_validate_json(to_json(stored))
