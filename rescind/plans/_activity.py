"""The activities that check a plan, so that the verdict is in the history and a replay asks nobody again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import JsonValue
from temporalio import activity

from rescind._bench import Bench
from rescind._catalogue import AnyTool
from rescind._secrets import without_secrets
from rescind.plans._check import Checked, check
from rescind.plans._go_on import GO_ON
from rescind.plans._order import CHECK, CHECK_REST, CLEAN_STAND, TOLD, PlanOrder, RestOrder, Verdict
from rescind.plans._rest import check_rest, rest_in_words
from rescind.plans._stand import Stand, cleaned


def plan_activities(bench: Bench) -> list[Callable[..., Any]]:
    """What a worker registers for plans."""

    @activity.defn(name=CHECK)
    async def check_plan(order: PlanOrder) -> Verdict:
        return _verdict(check(order.plan, _usable(bench)))

    @activity.defn(name=CLEAN_STAND)
    async def clean_stand(stand: Stand) -> Stand:
        return cleaned(stand, without_secrets)

    @activity.defn(name=CHECK_REST)
    async def check_further(order: RestOrder) -> Verdict:
        allowed = [tool for tool in _usable(bench) if tool.name in order.ask.tools]
        steps: JsonValue = order.plan.model_dump(mode="json")["steps"]
        approved = order.ask.pre_approved
        found = check_rest(steps, order.stand, allowed, pre_approved=approved)
        if found.problems:
            return _verdict(found)
        return _verdict(found, rest_in_words(found, order.stand, allowed, pre_approved=approved))

    return [check_plan, clean_stand, check_further]


def _usable(bench: Bench) -> list[AnyTool]:
    """The tools that a plan may use: a plan can't decide by itself that it goes on."""
    return [tool for tool in bench.catalogue if tool.name != GO_ON.name]


def _verdict(found: Checked, dry_run: str = "") -> Verdict:
    return Verdict(
        problems=found.problems[:TOLD],
        found=len(found.problems),
        stages=found.stages,
        dry_run=dry_run,
    )
