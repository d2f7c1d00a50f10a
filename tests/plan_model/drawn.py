"""A plan as it is drawn: its steps with the troubles that their calls meet, and a name that it gets when it runs."""

from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, JsonValue

from tests.plan_model.kinds import KINDS, Kind, Met

NAME = "PLAN"
"""Stands for the plan's name, with which every try's token begins."""

T = TypeVar("T")


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class Trouble(_Part):
    """What a try's calls meet.

    Attributes:
        side: The call or its undo.
        fault: By its provider's name for it.
        times: How many calls in a row meet it; None is all of them.
    """

    side: Literal["do", "undo"]
    fault: str
    times: int | None


class Try(_Part):
    """A step's first request, or one of its alternatives.

    Attributes:
        token: What all that comes of it is known by.
        tool: The tool.
        arguments: The request.
        sound: Whether the provider has what is asked for.
        there: Whether there is something already that is changed.
        troubles: What goes wrong.
    """

    token: str
    tool: str
    arguments: dict[str, JsonValue]
    sound: bool
    there: bool
    troubles: list[Trouble]

    @property
    def kind(self) -> Kind:
        """What the tool is like."""
        return KINDS[self.tool]

    def met(self, provider: str) -> Iterator[tuple[Trouble, Met]]:
        """What goes wrong at this provider, and where."""
        for trouble in self.troubles:
            met = self.kind.do if trouble.side == "do" else self.kind.undo
            if met is not None and met.provider == provider:
                yield trouble, met


class Step(_Part):
    """One step with its alternatives; `skip` is the last of them."""

    id: str
    needs: list[str]
    timeout: float | None
    skip: bool
    tries: list[Try]


class Drawn(_Part):
    """A whole plan; `instead` is what is handed over in its place where it is damaged."""

    parallel: int
    steps: list[Step]
    instead: JsonValue = None

    def tries(self) -> Iterator[Try]:
        """All of them."""
        for step in self.steps:
            yield from step.tries

    def named(self, name: str, constants: dict[str, str]) -> "Drawn":
        """The same with its name, and other constants, in place of what stands for them."""
        text = self.model_dump_json()
        for old, new in {NAME: name, **constants}.items():
            text = text.replace(old, new)
        return Drawn.model_validate_json(text)

    def plan(self) -> dict[str, Any]:
        """The plan as people write it."""
        final = sum(any(each.kind.is_final for each in step.tries) for step in self.steps)
        return {
            "parallel": self.parallel,
            "points_of_no_return": final,
            "steps": [_written(step) for step in self.steps],
        }


def _written(step: Step) -> dict[str, Any]:
    first, *others = step.tries
    on_failure: list[dict[str, Any]] = [
        {"action": "retry", "arguments": each.arguments}
        if each.tool == first.tool
        else {"action": "substitute", "tool": each.tool, "arguments": each.arguments}
        for each in others
    ]
    if step.skip:
        on_failure.append({"action": "skip"})
    whole = {
        "id": step.id,
        "tool": first.tool,
        "arguments": first.arguments,
        "needs": step.needs,
        "on_failure": on_failure,
    }
    return whole | ({"timeout": step.timeout} if step.timeout else {})


def each(strategy: "st.SearchStrategy[T]", number: int, chosen: int, take: Callable[[T], None]) -> None:
    """Call this for so many drawn ones, which are the same for the same seed."""

    @seed(chosen)
    @settings(
        max_examples=number,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    @given(drawn=strategy)
    def one(drawn: T) -> None:
        take(drawn)

    one()
