"""What the laws of one check share: fresh calls, looks at the world, and how two looks are compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

from temporalio.exceptions import ApplicationError

from rescind._calls import Grade, Request, Restoration
from rescind._catalogue import AnyTool
from rescind._states import RecordState
from rescind._wire import StepAnswer
from rescind.testing._certificate import CertifiedGrade
from rescind.testing._laws import Broken
from rescind.testing._step import Step
from rescind.testing._stopping import Point, StoppingBench
from rescind.testing._world import Meaningful, World

_SHOWN = 300
"""Characters of a difference that is shown."""


class Trial:
    """One tool, its world, and what is known of its undo so far.

    Attributes:
        grade: The grade to which the plain undo was seen to restore; `unverified` until then.
        left: What that undo says is left, without what differs from run to run.
    """

    def __init__(
        self, tool: AnyTool, bench: StoppingBench, world: World, request: Callable[[], Request]
    ) -> None:
        self.tool, self.bench, self.world = tool, bench, world
        self._request = request
        self.grade = CertifiedGrade.UNVERIFIED
        self.left: str | None = None

    def step(self) -> Step:
        """A fresh call of the tool."""
        return Step(self.tool, self.bench, self._request())

    async def look(self) -> Any:
        """The world as it is."""
        return await self.world.snapshot()

    async def done(self, step: Step) -> StepAnswer:
        """Make the call.

        Raises:
            Broken: It did not take effect.
        """
        answer = await step.do()
        if answer.state is not RecordState.APPLIED or not answer.changed:
            raise Broken(
                f"the call did not take effect: it is {answer.state.value}, {answer.why or 'and changed nothing'}"
            )
        return answer

    async def acted(self, step: Step) -> None:
        """Make the call, and let the worker die before that is reported.

        Raises:
            Broken: It did not take effect.
        """
        if not await step.dies(Point.ACTED, step.attempts):
            raise Broken("the call ended without an effect that it could report")

    async def undone(self, step: Step) -> Restoration:
        """Undo the call.

        Raises:
            Broken: It is stuck.
        """
        try:
            return await step.undo()
        except ApplicationError as error:
            raise Broken(f"it could not be undone: {error.message}") from error

    def same(self, one: Any, other: Any) -> bool:
        """Whether two looks are equal, or mean the same where the tool claims no more."""
        if one == other:
            return True
        if self.grade is CertifiedGrade.EXACT or not isinstance(self.world, Meaningful):
            return False
        return bool(self.world.meaning(one) == self.world.meaning(other))

    def require_same(self, one: Any, other: Any, otherwise: str) -> None:
        """Compare two looks.

        Raises:
            Broken: They differ.
        """
        if not self.same(one, other):
            raise Broken(f"{otherwise}: {differing(one, other)}")

    def require_restored(self, before: Any, after: Any, restoration: Restoration) -> None:
        """Compare with the grade that was claimed; not where the plain undo has failed to keep it already.

        Raises:
            Broken: The world is not as claimed.
        """
        if self.grade is not CertifiedGrade.UNVERIFIED:
            self.verify(before, after, restoration)

    def verify(self, before: Any, after: Any, restoration: Restoration) -> CertifiedGrade:
        """The grade that was claimed, if the world bears it out.

        Raises:
            Broken: It does not.
        """
        match restoration.grade:
            case Grade.EXACT if before == after:
                return CertifiedGrade.EXACT
            case Grade.EQUIVALENT if before == after or self._means(before, after):
                return CertifiedGrade.EQUIVALENT
            case Grade.RESIDUE if before != after and restoration.detail:
                return CertifiedGrade.RESIDUE
            case Grade.NOTHING:
                raise Broken("the undo says that there was nothing to undo, and the call had taken effect")
            case Grade.RESIDUE:
                raise Broken(
                    "the undo says that something is left, and "
                    + ("not what" if before != after else "the world does not show it")
                )
            case grade:
                raise Broken(
                    f"the undo says {grade.value!r}, and the world {_verdict(self, grade)}: "
                    f"{differing(before, after)}"
                )

    def _means(self, before: Any, after: Any) -> bool:
        world = self.world
        return isinstance(world, Meaningful) and bool(world.meaning(before) == world.meaning(after))


def _verdict(trial: Trial, grade: Grade) -> str:
    if grade is Grade.EQUIVALENT and not isinstance(trial.world, Meaningful):
        return "is not equal; give it a `meaning(snapshot)` that leaves out what nobody depends on"
    return "is not as it was before"


def differing(before: object, after: object) -> str:
    """Where two snapshots differ, in a few words."""
    if _is_mapping(before) and _is_mapping(after):
        keys = [key for key in {**before, **after} if before.get(key) != after.get(key)]
        return "; ".join(f"{key}: {differing(before.get(key), after.get(key))}" for key in keys)[:_SHOWN]
    return f"{str(before)[:_SHOWN]} became {str(after)[:_SHOWN]}"


def _is_mapping(value: object) -> TypeGuard[Mapping[Any, Any]]:
    return isinstance(value, Mapping)
