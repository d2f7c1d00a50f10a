"""Random plans are taken by the check, and each is refused once there is a mistake in it."""

import copy
import random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from activities.catalogue import CATALOGUE
from rescind.plans import check, preview
from tests.plan_model.damages import DAMAGES, Damage, damaged
from tests.plan_model.drawn import Drawn
from tests.plan_model.requests import CUSTOMER, IMAGE
from tests.plan_model.run import PRE_APPROVED
from tests.plan_model.strategies import drawn_plans

KNOWN = {CUSTOMER: "cus_1", IMAGE: "ami-12345678"}
SETTINGS = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@SETTINGS
@given(drawn_plans())
def test_a_valid_plan_is_taken(drawn: Drawn) -> None:
    """Nothing is wrong with it, each step has its place in the order, and the dry run tells of every one."""
    plan = drawn.named("p0n0", KNOWN).plan()
    found = check(plan, CATALOGUE, pre_approved=PRE_APPROVED)
    assert found.problems == []
    assert sorted(name for stage in found.stages for name in stage) == sorted(each.id for each in drawn.steps)
    assert len(preview(found, CATALOGUE)) == len(drawn.steps)


@SETTINGS
@given(drawn_plans(), st.sampled_from(DAMAGES), st.randoms(use_true_random=False))
def test_a_damaged_plan_is_refused(drawn: Drawn, damage: Damage, chance: random.Random) -> None:
    """Every problem has a place that is in the plan, says what is wrong there and what to do; nothing has an order."""
    plan = damaged(drawn.named("p0n0", KNOWN).plan(), damage, chance)
    found = check(copy.deepcopy(plan), CATALOGUE, pre_approved=PRE_APPROVED)
    assert found.problems, damage
    assert found.stages == []
    for problem in found.problems:
        assert problem.message, problem
        assert problem.remedy, problem
        assert is_in(plan, problem.place), problem


def is_in(plan: dict[str, Any], pointer: str) -> bool:
    """Whether a JSON pointer leads into the plan; its last name may be one that is missing there."""
    named: dict[str, JsonValue] = plan
    for name in pointer.split("/")[1:-1]:
        inner = named.get(name.replace("~1", "/").replace("~0", "~"))
        if isinstance(inner, list):
            inner = {str(number): each for number, each in enumerate(inner)}
        if not isinstance(inner, dict):
            return False
        named = inner
    return True
