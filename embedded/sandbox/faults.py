"""What a provider can be told to do to a call, in one vocabulary for HTTP, mail and Stripe."""

import re
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

HEADER = "sandbox-fault"  # the value is a fault's name, or "late; seconds=3"
BALLAST = "x" * 3_000_000


class Fault(StrEnum):
    """What happens to one call; "acts" means that its effect is in the world, for good."""

    REFUSE = "refuse"
    """Does not act, and says so for good: 403; mail 550."""
    UNAVAILABLE = "unavailable"
    """Does not act: 503 with Retry-After; mail 451."""
    THROTTLED = "throttled"
    """Does not act: 429 with Retry-After; mail 421, after which the connection is closed."""
    DROP_BEFORE = "drop_before"
    """Does not act, and cuts the connection without a byte of answer."""
    HANG = "hang"
    """Never acts; the connection stays open until the client has gone."""
    ERROR_AFTER = "error_after"
    """Acts, then answers 503; mail 451."""
    DROP_AFTER = "drop_after"
    """Acts, then cuts the connection without a byte of answer."""
    HANG_AFTER = "hang_after"
    """Acts, then never answers."""
    LATE = "late"
    """Stands still until the client has gone, and acts `seconds` later; nobody is there to be answered."""
    GARBAGE = "garbage"
    """Acts, then answers 200 with a body that is no JSON; mail: a line that is no reply."""
    NO_HTTP = "no_http"
    """Acts, then answers bytes that are no HTTP; mail: as garbage."""
    HUGE = "huge"
    """Acts, then gives its true answer with 3 MB more in it; mail: a reply of 3 MB."""
    STALE = "stale"
    """A read answers what was true `seconds` ago; anything but a read is served as ever."""

    @property
    def acts(self) -> bool:
        """Whether the effect of such a call is in the world in the end."""
        return self not in _HARMLESS


_HARMLESS = frozenset(
    {Fault.REFUSE, Fault.UNAVAILABLE, Fault.THROTTLED, Fault.DROP_BEFORE, Fault.HANG, Fault.STALE}
)


class Plan(BaseModel):
    """Which calls are to go wrong, and how; the oldest plan that matches a call has it."""

    model_config = ConfigDict(extra="forbid")
    operation: str = Field(
        pattern=r"^(\*|[a-z]+(\.[a-z_]+)?)$",
        description="`flights.book`, or a system such as `flights`, or `*`; GET /admin/operations lists them.",
    )
    fault: Fault
    calls: int | None = Field(
        1, ge=1, description="The next N matching calls; null means until it is deleted."
    )
    skip: int = Field(0, ge=0, description="So many matching calls are served before the first fault.")
    key: str | None = Field(None, description="Only calls with this idempotency key.")
    contains: str | None = Field(None, description="Only calls whose path or body contains this text.")
    seconds: float = Field(1.0, ge=0, le=600, description="How late, how stale, or what Retry-After says.")
    among: list[Fault] = Field([], description="Each hit meets one of these instead, drawn by the seed.")
    chance: float = Field(1.0, gt=0, le=1, description="The share of matching calls that are hit.")
    seed: int = Field(
        0, description="Makes `chance` repeatable: the n-th match is always hit or always spared."
    )


class KeptPlan(Plan):
    """A plan as the sandbox keeps it."""

    number: int
    matched: int = Field(description="Calls that matched so far.")
    used: int = Field(description="Calls that were hit so far.")


class Seen(BaseModel):
    """One call, from its arrival on; `status` and `acted` are filled in when the provider has dealt with it."""

    number: int
    operation: str
    key: str | None
    call: str = Field(description="Method and path, or the mail command.")
    fault: Fault | None
    status: int | None = Field(description="The true answer's status, whether or not the client got it.")
    acted: bool
    under_way: bool
    at: float


class Meeting(BaseModel):
    """The fault that one call meets."""

    fault: Fault
    seconds: float = 1.0


Row = dict[str, Any]


def told(value: str) -> Meeting:
    """The fault that a header names, as in `late; seconds=3`; raises ValueError for one that does not exist."""
    name, _, rest = value.partition(";")
    seconds = re.fullmatch(r"\s*seconds=(\d+(\.\d+)?)\s*", rest) if rest else None
    if rest and not seconds:
        raise ValueError(f"{rest.strip()!r} is not of the form seconds=1.5")
    return Meeting(fault=Fault(name.strip()), seconds=float(seconds[1]) if seconds else 1.0)
