"""The check and the dry run of the steps that a plan goes on with: by the same rules, over both parts together."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable

from pydantic import JsonValue

from rescind._catalogue import AnyTool
from rescind._visible import visible
from rescind.plans._check import Checked, check
from rescind.plans._in_words import lines
from rescind.plans._preview import preview
from rescind.plans._stand import Stand


def check_rest(
    steps: JsonValue, stand: Stand, tools: Iterable[AnyTool], *, pre_approved: Collection[str]
) -> Checked:
    """Check the steps that a plan would go on with; nothing is started and nothing outside is asked.

    Args:
        steps: Plain data that should be steps.
        stand: Where the plan stands; what it says beside its steps holds for these, too.
        tools: The tools that they may use.
        pre_approved: The tools that may run although they can't be undone.
    """
    plain: JsonValue = {**stand.frame.model_dump(mode="json"), "steps": steps}
    return check(plain, tools, pre_approved=pre_approved, done=[each.step for each in stand.executed])


def rest_in_words(
    found: Checked, stand: Stand, tools: Iterable[AnyTool], *, pre_approved: Collection[str]
) -> str:
    """All of a sound continuation: each step with its arguments in full, what undoes it, and what to know before."""
    assert found.plan is not None  # noqa: S101  (the caller has looked)
    arguments = {step.id: step.model_dump(mode="json", exclude_defaults=True) for step in found.plan.steps}
    done = [each.step for each in stand.executed if not each.skipped]
    said: list[str] = []
    for step in preview(found, tools, pre_approved=pre_approved, done=done):
        said.append(f"{step.step}: {step.tool}")
        said += [f"  {each}" for each in _whole(arguments[step.step])]
        said += [f"  {each}" for each in lines(step)]
    said += [f"Note: {warning}" for warning in found.warnings]
    return visible("\n".join(said))


def _whole(step: JsonValue) -> list[str]:
    """A step as it will be, without what its headline says."""
    beside = (
        {name: value for name, value in step.items() if name not in ("id", "tool")}
        if isinstance(step, dict)
        else step
    )
    return json.dumps(beside, indent=2, ensure_ascii=False).splitlines()
