"""Asks a tool's check whether the world still allows a call, just before it is made."""

from __future__ import annotations

import dataclasses
import time
from datetime import timedelta
from typing import Any

from rescind._attempt import Attempt
from rescind._bench import Bench
from rescind._calls import Call
from rescind._catalogue import AnyTool
from rescind.evidence import NothingHappened, Refused, weigh


async def ask_before_the_call(
    tool: AnyTool, bench: Bench, call: Call[Any], attempt: Attempt, *, limit: timedelta
) -> timedelta:
    """Ask the check, which may take half of the time that the attempt has; answers with how long it took.

    Raises:
        Refused: The call can't succeed any more.
        NothingHappened: The world could not be asked; another attempt asks it again.
    """
    assert tool.check is not None  # noqa: S101  (callers have looked)
    half, asked = limit / 2, time.monotonic()
    looking = dataclasses.replace(attempt, ends=attempt.ends - half.total_seconds())
    try:
        await bench.run(tool.check, call, looking, limit=half)
    except Exception as error:  # noqa: BLE001  (whatever it raises, the call is not made)
        evidence = weigh(error, tool.proves)
        said = f"{str(error) or type(error).__name__} (asked before the call, which was not made)"
        if evidence.try_again:
            raise NothingHappened(said, retry_after=evidence.retry_after) from None
        raise Refused(said) from None  # a report shows the deepest cause
    return timedelta(seconds=time.monotonic() - asked)
