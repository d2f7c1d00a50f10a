"""The saga of the matrix: one step of any tool, looked at from outside, and then the next one is refused."""

from datetime import timedelta
from typing import Any

from pydantic import BaseModel, JsonValue
from temporalio import workflow
from temporalio.exceptions import ApplicationError

from rescind import Saga, StepFailed, Tool

with workflow.unsafe.imports_passed_through():
    from activities.billing import CREATE_INVOICE
    from activities.crm import SET_STATUS
    from activities.flights import BOOK_FLIGHT
    from activities.hotels import BOOK_ROOM, BOOK_ROOM_BLIND
    from activities.mail import SEND_EMAIL
    from activities.s3_object import PUT_OBJECT

TOOLS: list[Tool[Any, Any]] = [
    SET_STATUS,
    CREATE_INVOICE,
    SEND_EMAIL,
    BOOK_FLIGHT,
    BOOK_ROOM,
    BOOK_ROOM_BLIND,
    PUT_OBJECT,
]


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
        async with Saga() as saga:
            try:
                made = await saga.step(tool, tool.request_type.model_validate(given.request))
            except StepFailed:
                await _bench("before_the_undo", None)
                raise
            await _bench("before_the_undo", made.model_dump(mode="json"))
            raise ApplicationError("the step after it is refused", type="Refused", non_retryable=True)


async def _bench(moment: str, result: JsonValue) -> None:
    await workflow.execute_activity(moment, result, start_to_close_timeout=timedelta(seconds=30))
