"""Faults that a provider can show, in one vocabulary that is the same at every provider."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Fault(StrEnum):
    """What a provider does to one call; "acts" means that the effect is in the world, for good."""

    REFUSE = "refuse"
    """Never acts, and says so for good: 403, a hook that declines, a statement that raises."""
    UNAVAILABLE = "unavailable"
    """Does not act; the same call may succeed later: 429 with Retry-After, a backend shut down."""
    ERROR_AFTER = "error after"
    """Acts, then answers with an error that proves nothing, such as 503."""
    DROP_AFTER = "drop after"
    """Acts, then cuts the connection without a byte of answer."""
    HANG_AFTER = "hang after"
    """Acts, then stands at the gate; released, it answers as if nothing had been."""
    HANG_BEFORE = "hang before"
    """Stands at the gate; released, or with its client gone for `late` seconds, it acts."""
    HOLD = "hold"
    """Stands at the gate; released, it goes on; with its client gone by then, it never acts."""
    GARBAGE = "garbage"
    """Acts, then answers bytes that do not parse."""

    @property
    def acts(self) -> bool:
        """Whether the effect is in the world in the end, if the gate opens while the client is there."""
        return self not in {Fault.REFUSE, Fault.UNAVAILABLE}

    @property
    def gated(self) -> bool:
        """Whether the call stands at the gate, so that `held` and `release` apply to it."""
        return self in {Fault.HANG_AFTER, Fault.HANG_BEFORE, Fault.HOLD}


@dataclass
class Seen:
    """One call that belonged to a named operation; it is in the log from its arrival on, and is filled in."""

    operation: str
    call: str
    """The call in the provider's words: request line, statement, or pushed refs."""
    fault: Fault | None
    answer: str = ""
    """The provider's true answer, whether or not the client got it; empty if it was never asked."""
    acted: bool = False
    """Whether the provider says that the call took effect."""
    under_way: bool = True
    """Whether the call can still change anything; false once neither side waits for the other."""


class FaultyProvider(Protocol):
    """What git, PostgreSQL, S3, ECS, Docker and the chat all offer, so that one test can drive them all.

    A provider runs in the test's event loop: blocking clients belong in a thread or in another process.
    """

    late: float
    """Seconds between the going of a client and the effect of its call under HANG_BEFORE; default 0."""

    async def plan(self, operation: str, faults: Sequence[Fault | None]) -> None:
        """The n-th matching call from now on meets the n-th fault, None meaning none; later ones are served.

        Replaces what is left of an earlier plan for this operation. An operation that the provider does
        not have raises ValueError.
        """

    async def held(self, within: float = 30.0) -> None:
        """Returns once a call stands at the gate; after `within` seconds raises TimeoutError with the log."""

    async def release(self) -> None:
        """Lets every call go on that stands at the gate now, and none that comes later."""

    def calls(self) -> list[Seen]:
        """Every matching call since the last `clear`, in order of arrival, with what became of it."""
        ...

    async def clear(self) -> None:
        """Drops all plans, opens the gate, waits until no call is under way, and empties the log.

        A call that does not end, such as a transaction left open, raises TimeoutError after 10 seconds.
        """
