"""Keeps a saga alive through a bad signal and through continue-as-new, and bad input from starting one."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError
from temporalio import worker, workflow
from temporalio.exceptions import ApplicationError
from temporalio.worker import (
    ExecuteWorkflowInput,
    HandleSignalInput,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
    WorkflowOutboundInterceptor,
)

from rescind._arguments import misfit
from rescind._catalogue import Catalogue
from rescind._continuing import HandOn, entered_or_undone, has_saga

CATALOGUE = "rescind_catalogue"
"""The function by which a workflow gets the worker's tools from outside the sandbox."""


class SagaInterceptor(worker.Interceptor):
    """Worker interceptor: bad input and a bad signal neither wedge nor abandon a saga.

    A workflow that declares `failure_exception_types=[ValidationError]` fails at once when it is started with
    no argument, too many, or null, as it does with one of the wrong form; Temporal alone would try its first
    task for ever. A signal handler's failure does not close a workflow that has a saga: Temporal closes it
    without running its main coroutine's `finally`, so that the saga would be neither sealed nor undone. A run
    that continues another as new goes on with its saga.

    Args:
        catalogue: The worker's tools, for workflows that choose them by name.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def workflow_interceptor_class(
        self,
        input: WorkflowInterceptorClassInput,  # noqa: A002  (Temporal's own parameter name)
    ) -> type[WorkflowInboundInterceptor]:
        """See base class."""
        input.unsafe_extern_functions[CATALOGUE] = lambda: self._catalogue
        return _KeepSagas


class _KeepSagas(WorkflowInboundInterceptor):
    def init(self, outbound: WorkflowOutboundInterceptor) -> None:
        super().init(HandOn(outbound))

    async def execute_workflow(self, input: ExecuteWorkflowInput) -> Any:  # noqa: A002  (Temporal's own parameter name)
        return await entered_or_undone(lambda: self._run(input))

    async def _run(self, input: ExecuteWorkflowInput) -> Any:  # noqa: A002  (Temporal's own parameter name)
        if _bad_input_fails() and (said := misfit(workflow.info().workflow_type, input.run_fn, input.args)):
            raise ApplicationError(
                f"{said}. Nothing was started and nothing has changed. Start it anew with the right input.",
                type=ValidationError.__name__,
                non_retryable=True,
            )
        return await super().execute_workflow(input)

    async def handle_signal(self, input: HandleSignalInput) -> None:  # noqa: A002  (Temporal's own parameter name)
        try:
            await super().handle_signal(input)
        except Exception as error:
            if not has_saga() or not workflow.is_failure_exception(error):
                raise
            workflow.logger.error("the signal %s was dropped, the saga goes on: %s", input.signal, error)


def _bad_input_fails() -> bool:
    """Whether this workflow has declared that input of the wrong form is its end."""
    return workflow.is_failure_exception(ValidationError.from_exception_data("", []))
