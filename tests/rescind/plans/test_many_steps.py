"""A plan of a thousand steps is checked in less than a second."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from rescind.plans import check
from rescind.plans._plan import MAX_STEPS
from tests.rescind.plans.yard import TOOLS, step


def side_by_side(count: int) -> list[dict[str, Any]]:
    """Steps that know nothing of each other, at one place each."""
    return [step(f"s{number}") for number in range(count)]


def in_a_row(count: int) -> list[dict[str, Any]]:
    """Each step uses the result of the one before it, and all are at one place: everything meets everything."""
    name: Any = "hut"
    made: list[dict[str, Any]] = []
    for number in range(count):
        uses = {"$join": [{"$ref": f"s{number - 1}.number"}, " again"]} if number else "first"
        made.append(step(f"s{number}", arguments={"place": "hill", "name": name, "labels": {"of": uses}}))
    return made


def in_layers(count: int) -> list[dict[str, Any]]:
    """Thirty steps at a time, each of which needs all thirty before it."""
    return [
        step(
            f"s{number}",
            "site.build",
            *(f"s{need}" for need in range(number // 30 * 30 - 30, number // 30 * 30) if need >= 0),
        )
        for number in range(count)
    ]


def all_wrong(count: int) -> list[dict[str, Any]]:
    """Nothing is right, and each name is looked for among a thousand."""
    return [
        step(
            f"step-{number}",
            "site.biuld",
            f"stepp-{number}",
            arguments={"place": {"$ref": f"stp-{number}.x"}},
        )
        for number in range(count)
    ]


def irrevocable(count: int) -> list[dict[str, Any]]:
    """Points of no return only."""
    return [step(f"s{number}", "radio.say") for number in range(count)]


@pytest.mark.parametrize("shape", [side_by_side, in_a_row, in_layers, all_wrong, irrevocable])
def test_a_thousand_steps(shape: Callable[[int], list[dict[str, Any]]]) -> None:
    """The best of three takes under a second of this process's time, whatever the steps look like."""
    plan: dict[str, Any] = {"steps": shape(MAX_STEPS), "points_of_no_return": MAX_STEPS}
    small: dict[str, Any] = {"steps": shape(2)}
    check(small, TOOLS)  # the schemas are made once for each tool
    took: list[float] = []
    for _ in range(3):
        began = time.process_time()
        check(plan, TOOLS, pre_approved=[])
        took.append(time.process_time() - began)
    assert min(took) < 1, took
