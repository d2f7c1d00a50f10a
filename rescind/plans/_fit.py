"""The check of how a plan's steps fit together: the saga's shape, the things they meet at, the time for an undo."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic_core import to_json

from rescind._catalogue import AnyTool
from rescind.plans._entry import is_final
from rescind.plans._graph import Graph, bits, numbers
from rescind.plans._plan import Arguments, Step
from rescind.plans._problem import Fault, Path, Problem, problem
from rescind.plans._read import Read
from rescind.plans._shape import Nature, early, stages
from rescind.plans._things import Meetings, Thing, things

_NAMED = 5
"""Steps that one sentence names at most."""


@dataclass(slots=True)
class Fit:
    """What was found, and the order in which the steps run, by their numbers."""

    problems: list[Problem] = field(default_factory=list[Problem])
    warnings: list[Problem] = field(default_factory=list[Problem])
    stages: list[list[int]] = field(default_factory=list[list[int]])


def fit_problems(
    looked: Read, order: Graph, tools: Mapping[str, AnyTool], pre_approved: Collection[str] | None
) -> Fit:
    """Check how the steps fit together; what is wrong with each one alone is known already."""
    places, steps = list(looked.steps), list(looked.steps.values())
    tried = [_tried(step, tools) for step in steps]
    together = _Together([("steps", number) for number in places], steps, tried, order)
    found = Fit()
    natures = [_nature(each) for each in tried]
    found.stages = stages(order, natures)
    found.problems += together.meetings(found.stages)
    if looked.frame is not None:
        found.problems += together.pivots(natures, looked.frame.points_of_no_return)
        found.problems += together.windows(looked.frame.undo_within)
    found.problems += together.unapproved(pre_approved)
    found.warnings += together.early(natures, found.stages)
    found.warnings += together.same()
    return found


def _tried(step: Step, tools: Mapping[str, AnyTool]) -> list[tuple[Path, AnyTool, Arguments]]:
    return [(inner, tools[name], arguments) for inner, name, arguments in step.tries() if name in tools]


def _nature(tried: Sequence[tuple[Path, AnyTool, Arguments]]) -> Nature:
    """What a step is, by the worst of what it may do; one with no known tool can be undone and may fail."""
    return Nature(
        is_final=any(is_final(tool) for _, tool, _ in tried),
        may_fail=not tried or not tried[0][1].retriable,
    )


def _writes(tool: AnyTool) -> bool:
    return not tool.read_only


def _is_undoable(tool: AnyTool) -> bool:
    return tool.is_reversible


@dataclass(frozen=True, slots=True)
class _Together:
    places: Sequence[Path]
    steps: Sequence[Step]
    tried: Sequence[Sequence[tuple[Path, AnyTool, Arguments]]]
    order: Graph

    def pivots(self, natures: Sequence[Nature], most: int) -> Iterator[Problem]:
        """The points of no return beyond those that the plan allows."""
        pivots = [step for step, nature in enumerate(natures) if nature.is_pivot]
        for step in pivots[most:]:
            words = (
                f"{self.steps[step].id} is a point of no return too, and the plan allows {most}: if it fails, "
                f"{self._named(pivots[:most]) or 'what it has begun'} can't be taken back"
            )
            remedy = (
                f"Leave it out, put it into a plan of its own, or write points_of_no_return: {len(pivots)}"
            )
            yield problem(Fault.POINTS_OF_NO_RETURN, self.places[step], words, remedy)

    def early(self, natures: Sequence[Nature], made: Sequence[Sequence[int]]) -> Iterator[Problem]:
        """Points of no return that come before steps that may fail, since those need them."""
        for step, forcing in early(self.order, natures, made):
            words = (
                f"{self.steps[step].id} can't be undone and comes before {self._named(forcing)}, which may fail: "
                "it then stands, and a person has to deal with it"
            )
            remedy = "Let them not need it, so that it comes last, or accept it"
            yield problem(Fault.EARLY_POINT_OF_NO_RETURN, self.places[step], words, remedy)

    def meetings(self, made: Sequence[Sequence[int]]) -> Iterator[Problem]:
        """Steps that act on one thing in no order, or in one that takes an undo away."""
        meet, undoable, earlier = Meetings(self._acting(_writes)), Meetings(self._acting(_is_undoable)), 0
        for_good = self._acting(is_final)
        for each in made:
            beside = bits(each)
            for step in each:
                before, after = self.order.before[step], self.order.after[step]
                unordered = meet.of(step) & beside & ~(before | after) & ((1 << step) - 1)
                if unordered:
                    yield self._no_order(step, numbers(unordered))
                taken = undoable.at(for_good[step]) & (before | earlier)
                if taken:
                    yield self._takes_away(step, numbers(taken))
            earlier |= beside

    def _no_order(self, step: int, met: list[int]) -> Problem:
        words = (
            f"{self.steps[step].id} acts on the same thing as {self._named(met)}, and neither needs the other: they "
            "run side by side, and undone in the order of their start they may take each other for somebody else"
        )
        remedy = f'Say which comes first, for example by "needs": ["{self.steps[met[0]].id}"]'
        return problem(Fault.NO_ORDER, (*self.places[step], "needs"), words, remedy)

    def _takes_away(self, step: int, taken: list[int]) -> Problem:
        words = (
            f"{self.steps[step].id} changes for good what {self._named(taken)} made or changed before: whose "
            "undo would then find something else than it left"
        )
        remedy = "Leave it out, or put it into a plan of its own that runs when this one is done"
        return problem(Fault.TAKES_UNDO_AWAY, self.places[step], words, remedy)

    def windows(self, wanted: float | None) -> Iterator[Problem]:
        """Steps that can be undone for a shorter time than the plan asks for, or not at all."""
        for place, tried in zip(self.places, self.tried, strict=True):
            for inner, tool, _ in tried:
                within = tool.undo_within.total_seconds() if tool.undo_within else None
                if (
                    wanted is None
                    or tool.read_only
                    or (tool.is_reversible and (within is None or within >= wanted))
                ):
                    continue
                can = f"can be undone for {within:g} s" if tool.is_reversible else "can't be undone"
                words = f"{tool.name} {can}, and the plan has to be undoable for {wanted:g} s"
                remedy = "Ask for less in undo_within, or use another tool"
                yield problem(Fault.UNDO_WINDOW, (*place, *inner), words, remedy)

    def unapproved(self, pre_approved: Collection[str] | None) -> Iterator[Problem]:
        """Points of no return that nobody has approved."""
        for place, tried in zip(self.places, self.tried, strict=True):
            for inner, tool, _ in tried:
                final = not (tool.read_only or tool.is_reversible)
                if pre_approved is not None and final and tool.name not in pre_approved:
                    words = f"{tool.name} can't be undone, and nobody has approved it"
                    remedy = f"Approve it beforehand: name {tool.name} among the pre-approved tools"
                    yield problem(Fault.NOT_APPROVED, (*place, *inner, "tool"), words, remedy)

    def same(self) -> Iterator[Problem]:
        """Steps that do what another one does already."""
        seen: dict[bytes, int] = {}
        for number, step in enumerate(self.steps):
            if all(tool.read_only for _, tool, _ in self.tried[number]):
                continue
            first = seen.setdefault(to_json([step.tool, step.arguments]), number)
            if first != number:
                words = f"{step.id} does the same as {self.steps[first].id}, with the same arguments"
                yield problem(
                    Fault.SAME_STEP, self.places[number], words, "Leave one out, unless it is to happen twice"
                )

    def _acting(self, chosen: Callable[[AnyTool], bool]) -> list[list[Thing]]:
        """What each step acts on by those of its tools that are chosen."""
        return [
            [thing for _, tool, arguments in each if chosen(tool) for thing in things(tool, arguments)]
            for each in self.tried
        ]

    def _named(self, steps: Sequence[int]) -> str:
        names = [self.steps[step].id for step in steps]
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        return ", ".join(names[:_NAMED]) + more
