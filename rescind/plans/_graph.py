"""The order that a plan's steps have among each other: what each one needs, directly or by way of others."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Graph:
    """Steps by their number in the plan, and what each one needs; sets of steps are bits of a number.

    Attributes:
        needs: What each step needs directly.
        order: The steps so that each one comes after what it needs, else as in the plan.
        before: All that has to be over before each step, as bits.
        after: All that has to wait for each step, as bits.
    """

    needs: Sequence[frozenset[int]]
    order: Sequence[int]
    before: Sequence[int]
    after: Sequence[int]

    def ordered(self, one: int, other: int) -> bool:
        """Whether one of two steps has to wait for the other."""
        return bool((self.before[one] | self.after[one]) >> other & 1)


def bits(steps: Iterable[int]) -> int:
    """Steps as the bits of a number."""
    made = 0
    for step in steps:
        made |= 1 << step
    return made


def numbers(steps: int) -> list[int]:
    """The steps that are bits of a number, in order."""
    found: list[int] = []
    while steps:
        found.append((steps & -steps).bit_length() - 1)
        steps &= steps - 1
    return found


def graph(needs: Sequence[frozenset[int]]) -> Graph | list[list[int]]:
    """The graph of what the steps need, or the cycles that it has, each as a way round.

    In a cycle each step needs the next one, and the last one the first.
    """
    order, left = _sorted(needs)
    if left:
        return _cycles(needs, left)
    before, after = [0] * len(needs), [0] * len(needs)
    for step in order:
        for need in needs[step]:
            before[step] |= before[need] | 1 << need
    for step in reversed(order):
        for need in needs[step]:
            after[need] |= after[step] | 1 << step
    return Graph(needs, order, before, after)


def _sorted(needs: Sequence[frozenset[int]]) -> tuple[list[int], set[int]]:
    """The steps in order, and those that are in a cycle or behind one."""
    waiting = [len(each) for each in needs]
    dependents: list[list[int]] = [[] for _ in needs]
    for step, each in enumerate(needs):
        for need in each:
            dependents[need].append(step)
    ready = [step for step, count in enumerate(waiting) if not count]
    order: list[int] = []
    while ready:
        step = heapq.heappop(ready)
        order.append(step)
        for dependent in dependents[step]:
            waiting[dependent] -= 1
            if not waiting[dependent]:
                heapq.heappush(ready, dependent)
    return order, set(range(len(needs))) - set(order)


def _cycles(needs: Sequence[frozenset[int]], left: set[int]) -> list[list[int]]:
    """One way round through each knot of steps that need each other; steps in several cycles are named once."""
    found: list[list[int]] = []
    while left:
        way: list[int] = []
        step: int | None = min(left)
        while step is not None and step not in way:
            way.append(step)
            step = min(needs[step] & left, default=None)
        if step is not None:
            found.append(way[way.index(step) :])
        left = left - set(way)
    return found
