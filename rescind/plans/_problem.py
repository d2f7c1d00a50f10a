"""What the check finds in a plan: what is wrong, where, and what to do about it."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

from pydantic import BaseModel, ConfigDict

Path: TypeAlias = tuple[str | int, ...]
"""A place in a plan, as the names and numbers that lead to it."""


class Fault(StrEnum):
    """The kind of a problem, for programs."""

    NOT_A_PLAN = "not_a_plan"
    TOO_LARGE = "too_large"
    DUPLICATE = "duplicate"
    UNKNOWN_TOOL = "unknown_tool"
    UNKNOWN_STEP = "unknown_step"
    UNKNOWN_FIELD = "unknown_field"
    BAD_ARGUMENTS = "bad_arguments"
    BAD_REFERENCE = "bad_reference"
    WRONG_TYPE = "wrong_type"
    MAY_BE_MISSING = "may_be_missing"
    CYCLE = "cycle"
    POINTS_OF_NO_RETURN = "points_of_no_return"
    EARLY_POINT_OF_NO_RETURN = "early_point_of_no_return"
    NO_ORDER = "no_order"
    TAKES_UNDO_AWAY = "takes_undo_away"
    UNDO_WINDOW = "undo_window"
    NOT_APPROVED = "not_approved"
    SAME_STEP = "same_step"


class Problem(BaseModel):
    """One thing that the check has to say about a plan.

    Attributes:
        fault: Its kind.
        place: Where, as a JSON pointer (RFC 6901) into the plan.
        message: What is wrong.
        remedy: What to do about it.
    """

    model_config = ConfigDict(frozen=True)

    fault: Fault
    place: str
    message: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.place or '/'}: {self.message}. {self.remedy}"


def problem(fault: Fault, place: Path, message: str, remedy: str) -> Problem:
    """A problem at a place."""
    return Problem(fault=fault, place=pointer(place), message=message, remedy=remedy)


def pointer(place: Path) -> str:
    """A place as a JSON pointer."""
    return "".join(f"/{str(each).replace('~', '~0').replace('/', '~1')}" for each in place)
