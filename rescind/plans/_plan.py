"""A plan: steps as data, with the tools they use, their arguments, what they need, and what to do on a failure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, JsonValue

MAX_STEPS = 1_000
"""Steps of a plan: with their undos some 8,000 events of a history, of which the server warns from 10,000 on."""

MAX_ALTERNATIVES = 5
MAX_PARALLEL = 100
MAX_SECONDS = 3_600.0

StepId: TypeAlias = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")]
"""A step's name in its plan; it becomes a part of keys and of references, so it has no dot, slash or '#'."""

Arguments: TypeAlias = dict[str, JsonValue]
"""Literals, and references to earlier results: `{"$ref": "step.field"}`, `{"$join": [...]}`, `{"$literal": ...}`."""

ToolName: TypeAlias = Annotated[str, Field(min_length=1, max_length=200)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Retry(_Part):
    """Try the tool again with these arguments, all of them; it is a new step with a key of its own."""

    action: Literal["retry"]
    arguments: Arguments


class Substitute(_Part):
    """Use another tool in its place."""

    action: Literal["substitute"]
    tool: ToolName
    arguments: Arguments


class Skip(_Part):
    """Go on without it; only the last alternative, and never for a step in doubt."""

    action: Literal["skip"]


Alternative: TypeAlias = Annotated[Retry | Substitute | Skip, Field(discriminator="action")]


class Step(_Part):
    """One step of a plan.

    Attributes:
        id: Its name, unique in the plan.
        tool: A tool of the catalogue.
        arguments: The tool's request.
        needs: Steps that have to be over before it; those whose results its arguments use are needed anyway.
        timeout: Seconds that one attempt's calls may take, instead of the tool's own time.
        on_failure: What to try, in this order, when it is proven to have done nothing; after the last one, and for
            a step that may have done something, the whole plan is undone.
    """

    id: StepId
    tool: ToolName
    arguments: Arguments = {}
    needs: list[StepId] = Field(default=[], max_length=MAX_STEPS)
    timeout: float | None = Field(default=None, gt=0, le=MAX_SECONDS)
    on_failure: list[Alternative] = Field(default=[], max_length=MAX_ALTERNATIVES)

    @property
    def can_be_skipped(self) -> bool:
        """Whether the plan may go on without it."""
        return any(isinstance(each, Skip) for each in self.on_failure)

    def tries(self) -> Iterator[tuple[tuple[str | int, ...], str, Arguments]]:
        """What it may do: the place within the step, the tool and the arguments of each try, in order."""
        yield (), self.tool, self.arguments
        for number, each in enumerate(self.on_failure):
            if isinstance(each, Retry):
                yield ("on_failure", number), self.tool, each.arguments
            elif isinstance(each, Substitute):
                yield ("on_failure", number), each.tool, each.arguments


class Frame(_Part):
    """What a plan says beside its steps.

    Attributes:
        goal: What it is for, in words.
        parallel: Steps that run at a time, at most.
        points_of_no_return: Irreversible steps at most. From the second on one may fail after another has happened.
        undo_within: Seconds for which the whole has to be undoable after it is done; None asks for nothing.
    """

    goal: str = Field(default="", max_length=2_000)
    parallel: int = Field(default=10, ge=1, le=MAX_PARALLEL)
    points_of_no_return: int = Field(default=1, ge=0, le=MAX_STEPS)
    undo_within: float | None = Field(default=None, gt=0)


class Plan(Frame):
    """Steps that are done together or not at all."""

    steps: list[Step] = Field(min_length=1, max_length=MAX_STEPS)
