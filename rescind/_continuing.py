"""How a saga gets from one run to the one that continues it, and what becomes of it if nobody enters it there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NoReturn

from pydantic_core import to_jsonable_python
from temporalio.worker import ContinueAsNewInput, StartChildWorkflowInput, WorkflowOutboundInterceptor
from temporalio.workflow import ChildWorkflowHandle

from rescind._carried import HEADER, Carried, handed_to_this_run, header_of_this_run
from rescind._child import ChildAnswer, handed_down
from rescind._errors import SagaRefused
from rescind.saga import Saga, saga_of_this_workflow


class HandOn(WorkflowOutboundInterceptor):
    """Gives the next run the header, from wherever in the workflow it is asked for."""

    def continue_as_new(self, input: ContinueAsNewInput) -> NoReturn:  # noqa: A002  (Temporal's own parameter name)
        """See base class."""
        saga = saga_of_this_workflow()
        header = header_of_this_run() if saga is None else saga.hand_on()
        if header is not None:
            input.headers = {**input.headers, HEADER: header}
        super().continue_as_new(input)

    async def start_child_workflow(self, input: StartChildWorkflowInput) -> ChildWorkflowHandle[Any, Any]:  # noqa: A002  (Temporal's own parameter name)
        """See base class."""
        if header := handed_down.get():
            input.headers = {**input.headers, HEADER: header}
        return await super().start_child_workflow(input)


async def entered_or_undone(run: Callable[[], Awaitable[Any]]) -> Any:
    """Run a workflow; a saga that was handed to it and that it ends without entering is undone.

    A child saga's workflow answers with its result and the steps that stand, and undoes them when it fails.
    """
    carried = handed_to_this_run()
    if carried is None:
        return await run()
    if carried.under is not None:
        return await _as_a_part(run, carried)
    return await _as_an_heir(run)


async def _as_a_part(run: Callable[[], Awaitable[Any]], carried: Carried) -> ChildAnswer:
    try:
        result = await run()
    except GeneratorExit:  # thrown away with its worker, outside of any workflow's loop
        raise
    except BaseException as error:  # whatever ends the workflow: `Saga` tells it from bugs and evictions
        if saga := saga_of_this_workflow():
            await saga.undo_after(error)
        await _undo_if_not_entered(error)
        raise
    if carried.steps:
        await _undo_if_not_entered(_not_entered())
    saga = saga_of_this_workflow()
    return ChildAnswer(result=to_jsonable_python(result), part=saga.part() if saga else Carried())


async def _as_an_heir(run: Callable[[], Awaitable[Any]]) -> Any:
    try:
        result = await run()
    except GeneratorExit:  # thrown away with its worker, outside of any workflow's loop
        raise
    except BaseException as error:  # whatever ends the workflow: `Saga` tells it from bugs and evictions
        await _undo_if_not_entered(error)
        raise
    await _undo_if_not_entered(_not_entered())
    return result


def _not_entered() -> SagaRefused:
    return SagaRefused(
        "the run before has handed its saga to this one, which has not entered it: `async with Saga()` is "
        "missing. So the saga can't be committed, and what it did is undone"
    )


def has_saga() -> bool:
    """Whether this run has a saga: entered, or handed to it and not entered yet."""
    return saga_of_this_workflow() is not None or header_of_this_run() is not None


async def _undo_if_not_entered(error: BaseException) -> None:
    if saga_of_this_workflow() is None:
        async with Saga():
            raise error
