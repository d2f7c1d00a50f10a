"""The saga of the matrix: one step of any tool, looked at from outside, and then the next one is refused."""

from datetime import timedelta
from typing import Any

from pydantic import BaseModel, JsonValue
from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ApplicationError

from rescind import Retries, Saga, StepFailed, Tool

with workflow.unsafe.imports_passed_through():
    from activities.catalogue import CATALOGUE
    from tests.matrix.tools.subjects import DATABASE, FOR_GOOD, Subject

_SECONDS = dict.fromkeys(DATABASE, 5) | {
    **dict.fromkeys(
        (Subject.CRM, Subject.FLIGHT, Subject.ROOM, Subject.SMS, Subject.TRANSFER, Subject.EVENT), 6
    ),
    **dict.fromkeys((Subject.BRANCH, Subject.READ_BRANCH, Subject.NOTICE), 6),
    Subject.FILE: 3,
    Subject.INVOICE: 8,
    Subject.OBJECT: 9,
    Subject.BUCKET: 9,
    **dict.fromkeys((Subject.MACHINE, Subject.NEW_BUCKET), 12),
    **dict.fromkeys((Subject.SERVICE, Subject.CONTAINER), 18),
}
"""What an attempt may take: as long as a client that hangs waits, and a few requests more."""

_TRIES = 8
"""How often a call is tried at most, as most tools have it; a deployment on ECS would be tried thirty times."""


def _impatient(tool: Tool[Any, Any]) -> Tool[Any, Any]:
    """The same tool with shorter waits, where its own would only make a cell last longer."""
    if (seconds := _SECONDS.get(Subject(tool.name))) is None:
        return tool
    limit = timedelta(seconds=seconds)
    return tool.model_copy(
        update={
            "timeout": limit,
            "undo_timeout": limit,
            "late_for": min(tool.late_for, timedelta(seconds=3)),
            "retries": tool.retries.model_copy(update={"tries": min(tool.retries.tries, _TRIES)}),
            "undo_retries": Retries(tries=6, longest_wait=timedelta(seconds=5)),
        }
    )


TOOLS: list[Tool[Any, Any]] = [_impatient(CATALOGUE[tool]) for tool in Subject]


class OneStep(BaseModel):
    """A step of a tool, by its name."""

    tool: str
    request: JsonValue


@workflow.defn
class TakeAndGiveBack:
    """Takes one step and gives it back; the bench plans a side's fault right before that side."""

    @workflow.run
    async def run(self, given: OneStep) -> None:
        """Take the step; then fail, whatever became of it."""
        (tool,) = [tool for tool in TOOLS if tool.name == given.tool]
        await _bench("before_the_call", None)
        async with Saga(approved=FOR_GOOD) as saga:
            try:
                made = await saga.step(tool, tool.request_type.model_validate(given.request))
            except StepFailed:
                await _bench("before_the_undo", None)
                raise
            await _bench("before_the_undo", made.model_dump(mode="json"))
            raise ApplicationError("the step after it is refused", type="Refused", non_retryable=True)


async def _bench(moment: str, result: JsonValue) -> None:
    await workflow.execute_activity(
        moment,
        result,
        start_to_close_timeout=timedelta(seconds=30),
        retry_policy=RetryPolicy(maximum_attempts=1),
    )
