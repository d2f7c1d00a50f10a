"""The names that a person or a model may have meant."""

import heapq
from collections.abc import Iterable
from difflib import get_close_matches

_CANDIDATES = 50
"""Names that are compared in detail; of more, those that begin alike and are about as long."""

_FEW = 8


def nearest(name: str, known: Iterable[str]) -> str:
    """A sentence that names the nearest of the known names, or what is known where none is near and few are."""
    names = sorted(known)
    short = name[:100]
    near = get_close_matches(short, _alike(short, names), n=3, cutoff=0.5)
    if near:
        return f" Nearest: {', '.join(near)}."
    return f" Known: {', '.join(names)}." if 0 < len(names) <= _FEW else ""


class Nearest:
    """The same for so many names and then no more: a plan in which everything is wrong is checked as quickly.

    Args:
        times: How often names are looked for.
    """

    def __init__(self, times: int = 40) -> None:
        self._left = times

    def __call__(self, name: str, known: Iterable[str]) -> str:
        """As `nearest`, or nothing when it was asked too often."""
        self._left -= 1
        return nearest(name, known) if self._left >= 0 else ""


def _alike(name: str, names: list[str]) -> list[str]:
    if len(names) <= _CANDIDATES:
        return names
    return heapq.nsmallest(
        _CANDIDATES, names, key=lambda each: (-_common(each, name), abs(len(each) - len(name)))
    )


def _common(one: str, other: str) -> int:
    """How many characters two names have in common from the beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((number for number, (a, b) in pairs if a != b), min(len(one), len(other)))
