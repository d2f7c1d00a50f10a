"""What deployments have in common, whatever they run on: what ran before, and what a failed one leaves."""

from collections.abc import Callable

from pydantic import BaseModel, ConfigDict

from rescind.evidence import NothingHappened, Proves, Refused, weigh


class Before(BaseModel):
    """What ran for the service, a container's id or a task definition; None if nothing did."""

    model_config = ConfigDict(frozen=True)

    previous: str | None


class Unhealthy(Exception):
    """A deployment that failed, did not stay up, or was not healthy within its limit."""


class Unfinished(Exception):
    """A deployment that stopped half way; what it left is found by the lookup, and taken back there."""


def failed(
    shown: str, error: Exception, proves: Proves, take_back: Callable[[], object], *, now: str
) -> Exception:
    """Take back what was begun where no request is in flight any more; the error to raise says what is left.

    Args:
        shown: Which deployment failed, in words.
        error: Why. An unhealthy one is refused; it would be unhealthy again.
        proves: Weighs the error of a client.
        take_back: Lets what ran before run again, and removes the new.
        now: How things are after it, in words.

    Returns:
        NothingHappened or Refused once all is taken back, else Unfinished.
    """
    evidence = weigh(error, proves)
    shown = f"{shown} failed: {error}"
    if not (isinstance(error, Unhealthy) or evidence.nothing_happened):
        return Unfinished(f"{shown}. It is looked up what of it took effect")
    try:
        take_back()
    except Exception as again:  # noqa: BLE001  (whatever it was, the half-made deployment is still there)
        return Unfinished(f"{shown}. It could not be taken back at once ({again}); that is tried again")
    retry = evidence.try_again and not isinstance(error, Unhealthy)
    shown = f"{shown}. {now}"
    return NothingHappened(shown, retry_after=evidence.retry_after) if retry else Refused(shown)
