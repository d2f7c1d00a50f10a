"""The saga's shape: what can be undone comes first, then points of no return, then what is tried until it succeeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rescind.plans._graph import Graph, bits, numbers


@dataclass(frozen=True, slots=True)
class Nature:
    """What a step is in the saga's shape, with all its alternatives together.

    Attributes:
        is_final: It can't be undone.
        may_fail: It is not tried until it succeeds.
    """

    is_final: bool
    may_fail: bool

    @property
    def is_pivot(self) -> bool:
        """Whether it is a point of no return that may fail."""
        return self.is_final and self.may_fail

    @property
    def comes_first(self) -> bool:
        """Whether it has to come before a point of no return: it may fail, and can be undone."""
        return self.may_fail and not self.is_final


def stages(graph: Graph, natures: Sequence[Nature]) -> list[list[int]]:
    """The steps in stages, of which each one begins when the one before is over.

    A step that can't be undone is alone in its stage, and it is as late as what needs it allows; steps of one
    stage run side by side, so far as they do not need each other. What is tried until it succeeds comes last.
    """
    line = _Line(graph, natures)
    made: list[list[int]] = []
    while line.left:
        made.append(line.undoable() or line.next_final())
    return made


def early(
    graph: Graph, natures: Sequence[Nature], made: Sequence[Sequence[int]]
) -> Iterator[tuple[int, list[int]]]:
    """The steps that can't be undone and come before ones that may fail, each with those that need it so."""
    later = 0
    found: list[tuple[int, list[int]]] = []
    for stage in reversed(made):
        forced = later
        found.extend(
            (step, numbers(forced & graph.after[step] or forced))
            for step in stage
            if natures[step].is_final and forced
        )
        later |= bits(step for step in stage if natures[step].comes_first)
    return reversed(found)


class _Line:
    """The steps that are not in a stage yet."""

    def __init__(self, graph: Graph, natures: Sequence[Nature]) -> None:
        self.graph, self.natures = graph, natures
        self.left = list(graph.order)
        self._done = 0
        first = bits(step for step, nature in enumerate(natures) if nature.comes_first)
        pivots = bits(step for step, nature in enumerate(natures) if nature.is_pivot)
        needed = bits(step for step in self.left if graph.after[step] & (first | pivots))
        finals = bits(step for step, nature in enumerate(natures) if nature.is_final)
        self._early = (first | needed) & ~finals
        self._wanted = [
            finals & bits(step for step in self.left if graph.after[step] & waiting)
            for waiting in (first, pivots)
        ]

    def undoable(self) -> list[int]:
        """Take all that can be undone and can run now, one after the other or side by side."""
        stage: list[int] = []
        if self._early & ~self._done:
            for step in self.left:
                if self._early >> step & 1 and not self._waits(step):
                    stage.append(step)
                    self._done |= 1 << step
        return self._taken(stage)

    def next_final(self) -> list[int]:
        """Take the step that can't be undone which others wait for most, or, after all of them, what is left."""
        for wanted in self._wanted:
            if wanted & ~self._done:
                ready = (step for step in self.left if wanted >> step & 1 and not self._waits(step))
                if (step := next(ready, None)) is not None:
                    return self._taken([step])
        pivots = (step for step in self.left if self.natures[step].is_pivot and not self._waits(step))
        if (step := next(pivots, None)) is not None:
            return self._taken([step])
        return self._taken([step for step in self.left if not self._waits(step)])

    def _waits(self, step: int) -> bool:
        return bool(self.graph.before[step] & ~self._done)

    def _taken(self, stage: list[int]) -> list[int]:
        self._done |= bits(stage)
        chosen = set(stage)
        self.left = [step for step in self.left if step not in chosen]
        return stage
