"""The workflow that runs any plan as a saga."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import cast

from pydantic import ValidationError
from pydantic_core import to_json
from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ApplicationError

from rescind._catalogue import Catalogue
from rescind._errors import StepFailed
from rescind._interceptor import CATALOGUE
from rescind.plans._going_on import GoingOn
from rescind.plans._order import CHECK, EXECUTE, PLAN_REFUSED, PlanDone, PlanOrder, StepDone, Verdict
from rescind.plans._run import PlanRun
from rescind.saga import Saga

_NAMED = 10
"""Problems in a refusal's own words; its details have more."""

_RETURNED = 500_000
"""Bytes of JSON of the results that are returned; the ledger has them all."""


@workflow.defn(name=EXECUTE, failure_exception_types=[ValidationError])
class ExecutePlan:
    """The steps of a plan, together or not at all; it is checked again before the first of them."""

    @workflow.run
    async def run(self, order: PlanOrder) -> PlanDone:
        """Run the plan.

        Raises:
            ApplicationError: Of type `PlanRefused`: the check has found problems, and nothing was begun.
            SagaUndone: A step failed, the plan did not go on, and every step before it was undone.
            UndoIncomplete: A step failed, and something stands or may stand; the report says what.
        """
        catalogue = _catalogue()
        stages = await _checked(order)
        async with Saga(
            approved=order.pre_approved,
            approval_within=order.approval_within,
            reference=order.plan.goal or None,
        ) as saga:
            run = PlanRun(saga, order.plan, catalogue)
            going_on = GoingOn(saga, order, run)
            while stages:
                try:
                    await run.stages(stages)
                    break
                except StepFailed as failed:
                    stages = await going_on.after(failed)
            await saga.commit()
        return PlanDone(steps=_returnable(run.done))


async def _checked(order: PlanOrder) -> list[list[str]]:
    """The plan's stages; an activity checks it, so that a later version of check or catalogue changes no replay."""
    verdict: Verdict = await workflow.execute_activity(
        CHECK,
        order,
        result_type=Verdict,
        activity_id="check",
        summary=f"check the plan of {len(order.plan.steps)} steps",
        start_to_close_timeout=timedelta(seconds=20),
        retry_policy=RetryPolicy(maximum_attempts=5),
    )
    if verdict.found:
        listed = "; ".join(map(str, verdict.problems[:_NAMED]))
        more = f"; and {verdict.found - _NAMED} more" if verdict.found > _NAMED else ""
        raise ApplicationError(
            f"the plan was refused, and nothing was begun: {listed}{more}",
            *verdict.problems,
            type=PLAN_REFUSED,
            non_retryable=True,
        )
    return verdict.stages


def _catalogue() -> Catalogue:
    """The tools of the worker, which its plugin hands in from outside the sandbox."""
    functions = cast("Mapping[str, Callable[[], Catalogue]]", workflow.extern_functions())
    given = functions.get(CATALOGUE)
    if given is None:
        raise ApplicationError(
            "this worker has no catalogue, so the plan was not begun; pass RescindPlugin(tools, ...) to its client",
            type="NoCatalogue",
            non_retryable=True,
        )
    return given()


def _returnable(done: dict[str, StepDone]) -> dict[str, StepDone]:
    """What became of the steps, without their results where these are too many to return."""
    if len(to_json(done)) <= _RETURNED:
        return done
    return {name: each.model_copy(update={"result": None}) for name, each in done.items()}
