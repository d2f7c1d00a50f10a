"""The seal: the ledger agrees that exactly the steps stand that the workflow knows to stand."""

from __future__ import annotations

from temporalio.exceptions import ActivityError, ApplicationError

from rescind import _schedule
from rescind._endings import Ending
from rescind._errors import SagaTakenOver
from rescind._failures import TAKEN_OVER
from rescind._stack import Stack
from rescind._wire import SealOrder
from rescind._workflow import deepest, type_of_failure
from rescind.ledger import seal_digest


async def seal(stack: Stack) -> Ending | BaseException:
    """Seal the saga; a refusal is an error that unwinds it."""
    keys = stack.standing_keys()
    stack.show("done")
    order = SealOrder(saga=stack.saga, epoch=stack.epoch, digest=seal_digest(keys), table=stack.table("done"))
    stack.closed = True
    try:
        await _schedule.seal(order, f"done: {len(keys)} steps stand")
    # A local activity's failure comes without an ActivityError around it.
    except (ActivityError, ApplicationError) as error:
        if type_of_failure(error) == TAKEN_OVER:
            raise SagaTakenOver(deepest(error)) from error
        return error
    return Ending.LEAVE
