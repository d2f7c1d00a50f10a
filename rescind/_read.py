"""The activity around a read-only tool: nothing is recorded, since there is nothing to undo."""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic_core import to_jsonable_python
from temporalio import activity

from rescind._attempt import Attempt
from rescind._bench import Bench, deadline, limit_of
from rescind._catalogue import AnyTool, activity_names
from rescind._failures import weighed
from rescind._forward import checked_call
from rescind._settle import refuse_to_store
from rescind._states import RecordState
from rescind._wire import ForwardOrder, StepAnswer
from rescind.evidence import weigh


def read_activity(tool: AnyTool, bench: Bench) -> Any:
    """The activity that a worker registers for a read-only tool, under the same name."""

    @activity.defn(name=activity_names(tool)["forward"])
    async def read(order: ForwardOrder) -> StepAnswer:
        limit = limit_of(tool)
        attempt = Attempt(None, refuse_to_store, deadline(limit), asyncio.get_running_loop())
        call = checked_call(tool, order)
        try:
            result = await bench.run(tool.forward, call, attempt, limit=limit)
        except Exception as error:
            raise weighed(error, weigh(error, tool.proves), RecordState.ABSENT) from error
        return StepAnswer(state=RecordState.APPLIED, result=to_jsonable_python(result), changed=False)

    return read
