"""How long a committed step can still be undone."""

from __future__ import annotations

from collections.abc import Iterable

from rescind._catalogue import Catalogue
from rescind._states import STANDING, SagaState
from rescind.ledger import EffectOutline, SagaOutline


def window_left(catalogue: Catalogue, saga: SagaOutline, effect: EffectOutline) -> float | None:
    """Seconds in which a step can still be undone, below 0 when they are over; None is for ever.

    It is counted from the seal, by the database's clock. A saga that was never sealed can be undone at any time, and
    an undo that has begun goes on to its end.
    """
    begun = saga.state is SagaState.UNWINDING or effect.key in saga.part
    if effect.tool not in catalogue or saga.since_seal is None or begun:
        return None
    within = catalogue[effect.tool].undo_within
    return None if within is None else within.total_seconds() - saga.since_seal


def over(catalogue: Catalogue, saga: SagaOutline, effects: Iterable[EffectOutline]) -> list[str]:
    """The steps that stand and can't be undone any more, in words."""
    late: list[str] = []
    for effect in effects:
        left = window_left(catalogue, saga, effect)
        if left is not None and left < 0 and effect.state in STANDING and not effect.no_op:
            step = effect.key.rpartition("/")[2]
            late.append(f"{step} ({effect.tool}) could be undone until {in_time(-left)} ago")
    return late


def in_time(seconds: float) -> str:
    """A duration as people say it: its two largest units."""
    rest, words = round(seconds), list[str]()
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        count, rest = divmod(rest, size)
        if count or (unit == "s" and not words):
            words.append(f"{count} {unit}")
    return " ".join(words[:2])
