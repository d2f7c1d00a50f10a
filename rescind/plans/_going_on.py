"""Goes on after a failure with what a model proposes, what the check lets pass, and what people have approved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from pydantic import BaseModel
from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import (
    ActivityError,
    ApplicationError,
    TimeoutError,  # noqa: A004  (Temporal's own)
    TimeoutType,
    is_cancelled_exception,
)

from rescind._errors import StepFailed
from rescind._visible import visible
from rescind._workflow import deepest
from rescind.approvals import NOT_APPROVED
from rescind.plans._ask import Proposal, Question
from rescind.plans._asking import TAKEN_UP, proposed
from rescind.plans._go_on import GO_ON, GoOn
from rescind.plans._order import CHECK_REST, CLEAN_STAND, Continuing, PlanOrder, RestOrder, Verdict
from rescind.plans._plan import Step
from rescind.plans._problem import Problem
from rescind.plans._run import PlanRun
from rescind.plans._stand import Stand, told_error
from rescind.saga import Saga

_NAMED = 3
"""Problems that are named where no continuation was sound."""


@dataclass(frozen=True, slots=True)
class _Rest:
    """What the plan goes on with: the steps in words, or why there are none."""

    words: str
    steps: list[Step]
    stages: list[list[str]]
    shown: str = ""


class GoingOn:
    """What becomes of a plan of which a step has failed: it goes on, as often as its order allows, or is undone.

    Args:
        saga: The saga.
        order: The order, which says whether and how often.
        run: The run of the plan.
    """

    def __init__(self, saga: Saga, order: PlanOrder, run: PlanRun) -> None:
        self._saga, self._continuing, self._run = saga, order.continuing, run
        self._times = 0
        self._first: StepFailed | None = None

    async def after(self, failed: StepFailed) -> list[list[str]]:
        """The stages of the steps that the plan goes on with; what it has done is kept.

        Raises:
            StepFailed: It does not go on. This is the first failure, whichever the last one was.
            SagaTakenOver: The saga belongs to somebody else now.
            asyncio.CancelledError: The workflow was asked to cancel.
        """
        self._first = self._first or failed
        stages = await self._stages(failed)
        if not stages:
            raise self._first
        return stages

    async def _stages(self, failed: StepFailed) -> list[list[str]]:
        continuing = self._continuing
        if continuing is None or self._times >= continuing.times or not _may_go_on(failed):
            return []
        failures = await self._run.failures()
        if not all(map(_may_go_on, failures.values())):
            return []
        self._times += 1
        rest = await self._rest(continuing, self._run.stand(failures))
        return await self._agreed(rest, failures, ask=not continuing.approved)

    async def _rest(self, continuing: Continuing, stand: Stand) -> _Rest:
        try:
            told = await self._in_activity(
                CLEAN_STAND, stand, Stand, "take secrets out of what a model is told"
            )
            question = Question(ask=continuing.ask, stand=told)
            name = f"go-on-{self._times}/answer"
            proposal = await proposed(question, name=name, queue=continuing.task_queue)
            if proposal.plan is None:
                return _none(_why_none(proposal))
            order = RestOrder(plan=proposal.plan, stand=stand, ask=continuing.ask)
            verdict = await self._in_activity(CHECK_REST, order, Verdict, "check how the plan would go on")
        except ActivityError as error:
            if is_cancelled_exception(error):
                raise
            return _none(_not_asked(error))
        if verdict.found:
            return _none(f"this worker refuses how it would go on: {_listed(verdict.problems)}")
        steps = proposal.plan.steps
        return _Rest(", ".join(step.id for step in steps), steps, verdict.stages, verdict.dry_run)

    async def _agreed(self, rest: _Rest, failures: Mapping[str, StepFailed], *, ask: bool) -> list[list[str]]:
        """Put it on record that the saga goes on, or why it does not; empty also where people don't want it to."""
        first = next(iter(failures.values()))
        going = GoOn(
            after=", ".join(failures),
            error=told_error(deepest(first)),
            then=rest.words,
            plan=rest.shown,
            steps=rest.steps,
        )
        try:
            await self._saga.step(GO_ON, going, name="go_on", ask=ask and bool(rest.steps))
        except StepFailed:
            return []
        self._run.add(rest.steps)
        return rest.stages

    async def _in_activity(self, name: str, order: BaseModel, answer: Any, summary: str) -> Any:
        return await workflow.execute_activity(
            name,
            order,
            result_type=answer,
            activity_id=f"go-on-{self._times}/{name.rpartition('.')[2]}",
            summary=summary,
            start_to_close_timeout=timedelta(seconds=20),
            retry_policy=RetryPolicy(maximum_attempts=5),
        )


def _may_go_on(failed: StepFailed) -> bool:
    """Whether it has done nothing, and not by a person's word, which nobody is to work around."""
    cause = failed.__cause__
    return failed.absent and not (isinstance(cause, ApplicationError) and cause.type == NOT_APPROVED)


def _none(why: str) -> _Rest:
    return _Rest(why, [], [])


def _why_none(proposal: Proposal) -> str:
    if proposal.declined is not None:
        return f"the model sees no way to go on: {visible(proposal.declined)}"
    return f"the model gave nothing sound to go on with in {proposal.answers} answers: {_listed(proposal.problems)}"


def _listed(problems: Sequence[Problem]) -> str:
    return visible("; ".join(map(str, problems[:_NAMED])))


def _not_asked(error: ActivityError) -> str:
    cause = error.cause
    if isinstance(cause, TimeoutError) and cause.type is TimeoutType.SCHEDULE_TO_START:
        seconds = TAKEN_UP.total_seconds()
        return f"nobody was there to ask the model within {seconds:.0f} seconds; the command that would has ended"
    return f"the model could not be asked how to go on: {visible(deepest(error))}"
