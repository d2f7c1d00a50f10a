"""What became of a saga whose workflow is closed, from whoever knows it best."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from temporalio.client import WorkflowFailureError, WorkflowHandle
from temporalio.exceptions import ApplicationError, CancelledError, FailureError

from rescind._record import Compensation, Outcome, SagaReport, StepReport
from rescind._recorded import report_of
from rescind._states import STANDING, RecordState
from rescind._workflow import deepest
from rescind.cli._exit import ExitCode, Stopped
from rescind.cli._ledger import opened
from rescind.cli._look import told_by_history
from rescind.cli._server import Server, namespace_id
from rescind.plans._order import PLAN_REFUSED

CODES: Mapping[Outcome, ExitCode] = {
    Outcome.COMPLETED: ExitCode.DONE,
    Outcome.UNDONE: ExitCode.UNDONE,
    Outcome.CANCELED: ExitCode.UNDONE,
    Outcome.INCOMPLETE: ExitCode.NOT_CLEAN,
    Outcome.LEFT: ExitCode.NOT_CLEAN,
    Outcome.RUNNING: ExitCode.NOT_CLEAN,
}
_NAMED_BY_US = ("SagaUndone", "UndoIncomplete")


@dataclass(frozen=True, slots=True)
class Closed:
    """How a saga ended.

    Attributes:
        report: Its report.
        result: What the workflow returned, as JSON, if it completed.
        remark: What a person should know beside the report.
    """

    report: SagaReport
    result: Any = None
    remark: str | None = None

    @property
    def code(self) -> ExitCode:
        """The exit code that says it."""
        return CODES[self.report.outcome]


async def closed(server: Server, handle: WorkflowHandle[Any, Any]) -> Closed:
    """Wait until the workflow is closed, and tell how its saga ended.

    Raises:
        temporalio.service.RPCError: The server does not answer any more.
        Stopped: It was a plan, and the worker's check has refused it.
    """
    try:
        result = await handle.result()
    except WorkflowFailureError as error:
        return await _failed(server, handle, error.cause)
    report = await _on_record(server, handle)
    return Closed(report.model_copy(update={"outcome": Outcome.COMPLETED}), result)


async def _failed(server: Server, handle: WorkflowHandle[Any, Any], cause: BaseException) -> Closed:
    if isinstance(cause, ApplicationError) and cause.type == PLAN_REFUSED:
        raise Stopped(f"{handle.id}: {cause.message}", ExitCode.BAD_INPUT)
    if isinstance(cause, ApplicationError) and cause.type in _NAMED_BY_US and cause.details:
        try:
            return Closed(SagaReport.model_validate(cause.details[0]))
        except ValidationError:
            pass  # an older or a newer report; the ledger has it, too
    report = await _on_record(server, handle)
    error = report.error or (deepest(cause) if isinstance(cause, FailureError) else str(cause))
    steps = [step.model_copy(update={"compensation": _compensation(step)}) for step in report.steps]
    outcome = _believed(steps, cause)
    known = {"outcome": outcome, "error": error, "steps": steps}
    return Closed(report.model_copy(update=known), remark=_remark(cause, outcome))


def _compensation(step: StepReport) -> Compensation:
    if step.compensation is Compensation.FAILED or (step.state in STANDING and step.changed):
        return Compensation.FAILED
    undone = step.state is RecordState.UNDONE and step.changed
    return Compensation.COMPENSATED if undone else Compensation.NOT_NEEDED


def _believed(steps: list[StepReport], cause: BaseException) -> Outcome:
    """What is said of a saga whose workflow could not say it: undone only where nothing is known to stand."""
    if any(step.compensation is Compensation.FAILED for step in steps):
        return Outcome.INCOMPLETE
    return Outcome.CANCELED if isinstance(cause, CancelledError) else Outcome.UNDONE


def _remark(cause: BaseException, outcome: Outcome) -> str | None:
    if outcome is not Outcome.INCOMPLETE:
        return None
    return (
        f"The workflow was closed before it could undo its steps ({type(cause).__name__}), or somebody else undoes "
        "them now. The table says what is known to stand."
    )


async def _on_record(server: Server, handle: WorkflowHandle[Any, Any]) -> SagaReport:
    """The ledger's report in the history's words; where there is no ledger to read, the history's report."""
    told = await told_by_history(server, handle, await handle.describe())
    kept = await _kept(server, told.saga)
    if kept is None:
        return told
    words = {step.step: step.summary for step in told.steps}
    steps = [step.model_copy(update={"summary": words.get(step.step, step.summary)}) for step in kept.steps]
    return kept.model_copy(update={"steps": steps})


async def _kept(server: Server, saga: str) -> SagaReport | None:
    if not server.ledger:
        return None
    try:
        async with opened(server.ledger) as ledger:
            view = await ledger.show(f"{await namespace_id(server.client)}/{saga}")
    except Stopped:
        return None  # without a ledger the history still tells what was done
    return report_of(view) if view else None
