"""What a tool's three activities are given and what they answer."""

from __future__ import annotations

from enum import StrEnum
from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue
from pydantic_core import to_json


class Request(BaseModel):
    """What a tool is asked to do; unknown fields are refused and nothing is converted silently.

    It is written to the Temporal history and to the ledger, so it never carries a secret: a
    request names a connection that the worker knows, and the worker holds its address and key.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Result(BaseModel):
    """What a tool did.

    Attributes:
        changed: False when the world was already as wanted. The step is then a no-op, and a
            no-op is never undone.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    changed: bool = True


Req = TypeVar("Req", bound=Request)
Res = TypeVar("Res", bound=Result)
Before = TypeVar("Before", bound=BaseModel)


class Call(BaseModel, Generic[Req]):
    """A request with its idempotency keys; the same for every attempt, replay and reset.

    Attributes:
        request: What is asked for.
        key: The idempotency key of the forward call: at most 40 of a-z, 0-9 and '-'.
        undo_key: The idempotency key of the compensation; another one, of the same form.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    request: Req
    key: str
    undo_key: str


class Receipt(BaseModel, Generic[Req, Res]):
    """Everything that a compensation needs; it is built from the ledger, never from memory.

    Attributes:
        call: The call that is undone.
        before: What the attempt remembered of the world before it acted, as JSON.
        result: What the call answered.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    call: Call[Req]
    before: JsonValue = None
    result: Res

    def before_as(self, model: type[Before]) -> Before | None:
        """Read the before-image as the model that was remembered, or None if there is none.

        Raises:
            pydantic.ValidationError: The stored image is not of this model any more.
        """
        return None if self.before is None else model.model_validate_json(to_json(self.before))


class Applied(BaseModel, Generic[Res]):
    """A lookup's answer: the call took effect, with this result.

    Attributes:
        result: The result, as far as it is known.
        partial: True when the call takes several requests and not all of them took effect. The saga does not go
            on with such a step: another attempt completes it, or it has failed and is undone.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    result: Res
    partial: bool = False


class Absent(BaseModel):
    """A lookup's answer: the call took no effect. Only from a read that is consistent after a write."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Unknown(BaseModel):
    """A lookup's answer: it cannot be told whether the call took effect."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    why: str


class Grade(StrEnum):
    """How well a compensation restored the world."""

    EXACT = "exact"
    EQUIVALENT = "equivalent"
    RESIDUE = "residue"
    NOTHING = "nothing"


class Restoration(BaseModel):
    """A compensation's answer: how well the world was restored, and what is left.

    Attributes:
        grade: `exact`, `equivalent`, `residue`, or `nothing` when there was nothing to undo.
        detail: What differs or is left; needed for `residue`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    grade: Grade
    detail: str | None = None

    @classmethod
    def exact(cls) -> Restoration:
        """The world is exactly as it was before the call."""
        return cls(grade=Grade.EXACT)

    @classmethod
    def equivalent(cls, difference: str) -> Restoration:
        """The world means the same as before, with a difference that nobody depends on."""
        return cls(grade=Grade.EQUIVALENT, detail=difference)

    @classmethod
    def residue(cls, left: str) -> Restoration:
        """Something of the call is left in the world, and this says what."""
        return cls(grade=Grade.RESIDUE, detail=left)

    @classmethod
    def nothing(cls, why: str | None = None) -> Restoration:
        """There was nothing to undo."""
        return cls(grade=Grade.NOTHING, detail=why)
