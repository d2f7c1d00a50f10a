"""The time and the dice of localstripe, set for each request, so that a repetition gives the same ids and times."""

import random


class Clock:
    """Stands where localstripe has the module `time`."""

    def __init__(self) -> None:
        self.at = 0.0

    def time(self) -> float:
        """Seconds since 1970 at the present request."""
        return self.at


CLOCK = Clock()
DICE = random.Random()  # noqa: S311 - ids of a stand-in


def now() -> int:
    """The present request's time in whole seconds since 1970."""
    return int(CLOCK.at)


def set_for(number: int, at: float) -> None:
    """What the request of this number, come at this time, will see."""
    CLOCK.at = at
    DICE.seed(number)
