"""Evidence, the exceptions by which a tool states it itself, and how an error is weighed."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from rescind._states import Outcome


@dataclass(frozen=True, slots=True)
class Evidence:
    """What an error shows about the one attempt that raised it.

    Attributes:
        nothing_happened: True when the attempt is proven to have had no effect. False means
            unknown; no error ever proves that the effect took place.
        try_again: Whether another attempt makes sense.
        retry_after: Seconds that the provider asked to wait, if it did.
    """

    nothing_happened: bool
    try_again: bool
    retry_after: float | None = None

    @property
    def outcome(self) -> Outcome:
        """The outcome that the ledger is told."""
        if not self.nothing_happened:
            return Outcome.UNKNOWN
        return Outcome.NOTHING if self.try_again else Outcome.REFUSED

    def after(self, seconds: float | None) -> "Evidence":
        """The same evidence with the wait that the provider asked for."""
        return replace(self, retry_after=seconds)


REFUSED = Evidence(nothing_happened=True, try_again=False)
NOTHING = Evidence(nothing_happened=True, try_again=True)
UNKNOWN = Evidence(nothing_happened=False, try_again=True)

Proves: TypeAlias = Callable[[BaseException], Evidence | None]
"""Weighs an error of one client library; None when it does not know it."""


class StatedEvidence(Exception):
    """An error by which a tool itself says what it proves."""

    evidence = UNKNOWN


class Refused(StatedEvidence):
    """Raised by a forward activity: nothing happened, and trying again is of no use."""

    evidence = REFUSED


class NothingHappened(StatedEvidence):
    """Raised by a forward activity: nothing happened, and another attempt may succeed.

    Args:
        message: What happened.
        retry_after: Seconds to wait before the next attempt, where the provider said so.
    """

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.evidence = NOTHING.after(retry_after)


class Unproven(StatedEvidence):
    """Raised by a forward activity: the effect may have taken place, and a new attempt is of no use."""

    evidence = Evidence(nothing_happened=False, try_again=False)


class Conflict(StatedEvidence):
    """The world is not as it has to be: undoing would destroy, or doing would claim, someone else's work.

    Raised by a compensation the effect becomes stuck at once, and a person decides. Raised by a
    forward activity it is a refusal.
    """

    evidence = REFUSED


def weigh(error: BaseException, proves: Proves | None) -> Evidence:
    """Weigh an error of an attempt: what the tool states, else what its client's errors prove, else unknown."""
    if isinstance(error, StatedEvidence):
        return error.evidence
    return (proves(error) if proves else None) or UNKNOWN
