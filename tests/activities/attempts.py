"""Attempts of a tool's activities without a worker: what is remembered is kept here."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from pydantic import JsonValue

from rescind._attempt import Attempt, enter

Given = TypeVar("Given")
Answer = TypeVar("Answer")


class Remembering:
    """The part of the ledger that keeps one call's first before-image."""

    def __init__(self) -> None:
        self.image: JsonValue = None

    async def store(self, image: JsonValue) -> JsonValue:
        """Keep the first image, as the ledger does while an earlier attempt is unproven."""
        self.image = self.image or image
        return self.image

    async def run(
        self, activity: Callable[[Given], Answer], given: Given, *, seconds: float = 15.0
    ) -> Answer:
        """Run a blocking activity in a thread, as one attempt that has so many seconds."""

        def attempt() -> Answer:
            enter(Attempt(self.image, self.store, time.monotonic() + seconds, loop))
            return activity(given)

        loop = asyncio.get_running_loop()
        return await asyncio.to_thread(attempt)

    async def run_async(
        self, activity: Callable[[Given], Awaitable[Answer]], given: Given, *, seconds: float = 15.0
    ) -> Answer:
        """Run an activity on the event loop, as one attempt that has so many seconds."""
        loop = asyncio.get_running_loop()

        async def attempt() -> Answer:
            enter(Attempt(self.image, self.store, time.monotonic() + seconds, loop))
            return await activity(given)

        return await asyncio.create_task(attempt())
