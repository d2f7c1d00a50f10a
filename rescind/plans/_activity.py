"""The activity that checks a plan, so that the verdict is in the history and a replay asks nobody again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from temporalio import activity

from rescind._bench import Bench
from rescind.plans._check import check
from rescind.plans._order import CHECK, TOLD, PlanOrder, Verdict


def plan_activities(bench: Bench) -> list[Callable[..., Any]]:
    """What a worker registers for plans."""

    @activity.defn(name=CHECK)
    async def check_plan(order: PlanOrder) -> Verdict:
        found = check(order.plan, bench.catalogue)
        return Verdict(
            problems=found.problems[:TOLD],
            found=len(found.problems),
            stages=found.stages,
        )

    return [check_plan]
