"""What a saga refuses before anything is scheduled, each with the state of the world and the way out."""

from __future__ import annotations

from pydantic import JsonValue
from pydantic_core import to_json
from temporalio import workflow

from rescind._calls import Request
from rescind._carried import header_of_this_run
from rescind._catalogue import AnyTool
from rescind._errors import SagaRefused
from rescind._part import is_undone_here
from rescind._stack import Stack
from rescind._wire import PAYLOAD_LIMIT


def refuse_unfit_workflow(*, had_saga: bool) -> None:
    """Refuse a saga whose keys another run, or another saga of this run, would have as well."""
    info = workflow.info()
    if info.cron_schedule or info.retry_policy:
        raise SagaRefused(
            "a saga can't run in a workflow with a cron schedule or a workflow retry policy: its runs would share "
            "their idempotency keys. Nothing was done. Use a Temporal Schedule, and let the steps be retried"
        )
    if info.continued_run_id and header_of_this_run() is None:
        raise SagaRefused(
            "a saga can't begin in a run that continues another as new: its steps would share the keys of the run "
            "before. Nothing was done. Continue as new inside the saga's block, or start a child workflow for each "
            "saga"
        )
    if had_saga:
        raise SagaRefused(
            "this workflow has had a saga already; put all steps into one `async with Saga()` block"
        )


def accepted(stack: Stack, tool: AnyTool, request: Request) -> JsonValue:
    """The request as JSON; a step that is refused has scheduled nothing."""
    refuse_step(stack, tool.name)
    if not isinstance(request, tool.request_type):
        raise SagaRefused(
            f"{tool.name} takes a {tool.request_type.__name__} and was given a {type(request).__name__}; "
            "nothing was done"
        )
    plain: JsonValue = request.model_dump(mode="json")
    if len(to_json(plain)) > PAYLOAD_LIMIT:
        raise SagaRefused(
            f"{tool.name}: the request has more than {PAYLOAD_LIMIT} bytes of JSON, which Temporal does not "
            "carry; nothing was done. Pass a reference to the data instead"
        )
    return plain


def refuse_step(stack: Stack, what: str) -> None:
    """Refuse a step of a saga that can only be sealed or undone from here on."""
    if why := _refuses_steps(stack):
        raise SagaRefused(f"{what} was refused: {why}; nothing was done")


def refuse_early_commit(stack: Stack) -> None:
    """Refuse a commit of what may still be taken back, or of which nobody knows whether it stands."""
    if stack.points or stack.undoing.locked():
        raise SagaRefused("the saga can't be committed inside a savepoint's block; commit after it")
    if stack.stopped:
        raise SagaRefused(f"the saga can't be committed: {stack.stopped}")
    if unsettled := stack.unsettled():
        raise SagaRefused(
            f"the saga can't be committed: nobody knows yet whether {', '.join(unsettled)} took effect; "
            "let the failure leave the block, everything else is then undone"
        )


def refuse_lossy_continuation(stack: Stack) -> None:
    """Refuse to continue as new where the next run could not go on with the saga as it is."""
    if why := _loses_by_continuing(stack):
        raise SagaRefused(f"the workflow can't continue as new: {why}")


def _refuses_steps(stack: Stack) -> str | None:
    if stack.closed or stack.committed:
        return "the saga is committed or is being undone"
    if is_undone_here():
        return "the part of the saga that it is in has been taken back"
    return stack.stopped


def _loses_by_continuing(stack: Stack) -> str | None:
    if stack.committed or stack.closed:
        return "the saga is committed or is being undone; leave its block first"
    if stack.points or stack.undoing.locked():
        return (
            "it is inside a savepoint's block, which the next run could not take back; leave the block first"
        )
    if unsettled := stack.unsettled():
        return f"nobody knows yet whether {', '.join(unsettled)} took effect; wait for the steps that are running"
    return stack.stopped
