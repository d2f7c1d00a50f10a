"""Going on after a failure, as a step of the saga: shown, approved, and on record as any other one."""

from __future__ import annotations

from datetime import timedelta

from pydantic import Field
from temporalio import activity

from rescind._calls import Absent, Applied, Call, Receipt, Request, Restoration, Result, Unknown
from rescind._tool import Risk, Tool
from rescind.evidence import Refused
from rescind.plans._plan import Step


class GoOn(Request):
    """Go on with further steps after one has failed.

    Attributes:
        after: The steps that have failed.
        error: Why the first of them did.
        then: The ids of the further steps; or, where there are none, why it does not go on.
        plan: What the further steps would do and undo, in words, for whoever approves it.
        steps: The further steps, whose form the check has found sound.
    """

    after: str
    error: str
    then: str
    plan: str = ""
    steps: list[Step] = Field(default=[])


class Continuation(Result):
    """The saga goes on; nothing in the world is changed by that alone."""


@activity.defn(name="plan.go_on")
async def go_on(call: Call[GoOn]) -> Continuation:
    """Go on, if there is anything to go on with."""
    if not call.request.steps:
        raise Refused(call.request.then)
    return Continuation(changed=False)


@activity.defn(name="plan.go_back")
async def go_back(_: Receipt[GoOn, Continuation]) -> Restoration:
    """Undo the decision: the steps that it led to are undone each by itself."""
    return Restoration.nothing("it was a decision; its steps are undone by themselves")


@activity.defn(name="plan.find_going_on")
async def find_going_on(_: Call[GoOn]) -> Applied[Continuation] | Absent | Unknown:
    """Say that it has changed nothing: a decision is nowhere but in the saga."""
    return Absent()


GO_ON = Tool(
    name="plan.go_on",
    description="Go on with further steps after one has failed; each of them has an undo of its own.",
    forward=go_on,
    compensate=go_back,
    lookup=find_going_on,
    is_reversible=True,
    risk=Risk.MEDIUM,
    timeout=timedelta(seconds=5),
    undo_timeout=timedelta(seconds=5),
)
"""Every worker of the plugin has it; no plan may use it."""
