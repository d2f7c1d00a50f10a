"""The one plugin that gives an existing Temporal application tools and sagas."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Iterable
from datetime import timedelta
from typing import Any

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.contrib.pydantic import PydanticPayloadConverter
from temporalio.converter import DataConverter, DefaultPayloadConverter
from temporalio.plugin import SimplePlugin
from temporalio.worker import Worker, WorkerConfig, WorkflowRunner
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner

from rescind._bench import UNDO_PAGE, Bench
from rescind._catalogue import AnyTool, Catalogue
from rescind._companion import Companion
from rescind._errors import RescindError
from rescind._forward import forward_activity
from rescind._generic import generic_activities
from rescind._interceptor import SagaInterceptor
from rescind._operations_queue import OPERATIONS_QUEUE
from rescind._read import read_activity
from rescind._saga_activities import saga_activities
from rescind._settle import generic_settle_activity, settle_activity
from rescind._undo import undo_activity
from rescind.plans._go_on import GO_ON
from rescind.reconciliation import AlertChannel, Pace, ensure_search_attributes
from rescind.recovery._memory import remembered
from rescind.recovery._sweeping import Sweeping

_PASSED_THROUGH = (
    "rescind",
    "pydantic",
    "pydantic_core",
    "psycopg",
    "stamina",
    "typing_extensions",
)

_EVERY_MINUTE = Sweeping()


class CannotCompose(RescindError):
    """The plugin does not fit to what the client or worker has already. Nothing was started."""


class RescindPlugin(SimplePlugin):
    """Everything that sagas need, passed to a Temporal client: `Client.connect(..., plugins=[RescindPlugin(...)])`.

    It brings the Pydantic data converter, the tools' activities, those of the sagas, an interceptor
    and the sandbox's passthrough of the tools' packages. A codec, a failure converter, interceptors,
    activities, workflows and other plugins stay as they are.

    Args:
        tools: The tools that workers of this client register. Workflows that only start others need none.
        ledger: The ledger's PostgreSQL connection string, for the worker's role.
        ledger_connections: Connections to the ledger at most, for each process.
        threads: `def` activities of tools that run at a time, at most.
        operations: Whether a worker of this client also works on the queue `rescind-operations`: reconciliations,
            undos after the fact and the sweeper. Some worker of the namespace has to.
        sweeping: How the sweeper works, which takes back what a terminated or timed out workflow leaves behind; None
            where other workers of the namespace keep its schedule.
        alerts: The channels by which people are told of what needs them; it is always in the log, too.
        pace: How often they are told, and how often a failed undo is tried again by itself.
        undo_page: Steps that one workflow run undoes at most, so that no history grows long. Where more stand, the
            saga's workflow waits for a workflow on the queue `rescind-operations` that continues as new.

    Raises:
        ToolRefused: A tool breaks the contract.
        CannotCompose: The client has a payload converter that does not read Pydantic models, or the worker a
            workflow runner that is not Temporal's sandbox. Raised when client or worker is made.
    """

    def __init__(
        self,
        tools: Iterable[AnyTool] = (),
        *,
        ledger: str,
        ledger_connections: int = 8,
        threads: int = 32,
        operations: bool = True,
        sweeping: Sweeping | None = _EVERY_MINUTE,
        alerts: Iterable[AlertChannel] = (),
        pace: Pace | None = None,
        undo_page: int = UNDO_PAGE,
    ) -> None:
        self._companion = Companion(sweeping) if operations else None
        self.catalogue = Catalogue(tools)
        self._bench = Bench(
            Catalogue([*self.catalogue, GO_ON]),
            ledger,
            connections=ledger_connections,
            threads=threads,
            alerts=alerts,
            pace=pace,
            page=undo_page,
        )
        super().__init__(
            "rescind.RescindPlugin",
            data_converter=_with_pydantic,
            interceptors=[SagaInterceptor(self.catalogue)],
            activities=_activities(self._bench),
            workflow_runner=self._with_passthrough,
        )

    def configure_worker(self, config: WorkerConfig) -> WorkerConfig:
        """Add the activities, and let running steps end when the worker is told to stop."""
        config = super().configure_worker(config)
        if not config.get("graceful_shutdown_timeout"):
            config["graceful_shutdown_timeout"] = self._longest_attempt()
        return config

    async def run_worker(self, worker: Worker, next: Callable[[Worker], Awaitable[None]]) -> None:  # noqa: A002  (Temporal's own parameter name)
        """Open the ledger for as long as the worker runs.

        Raises:
            rescind.ledger.LedgerBehind: It is older than Temporal remembers it; no activity was started.
        """
        client = worker.client
        described = await client.workflow_service.describe_namespace(
            DescribeNamespaceRequest(namespace=client.namespace)
        )
        await ensure_search_attributes(client)
        async with self._bench.opened(described.namespace_info.id) as bench:
            await bench.ledger.compare(bench.namespace_id, await remembered(client), is_look=False)
            if self._companion is None or worker.task_queue == OPERATIONS_QUEUE:
                await next(worker)
                return
            async with self._companion.beside(client):
                await next(worker)

    def _longest_attempt(self) -> timedelta:
        times = [time for tool in self.catalogue for time in (tool.start_to_close, tool.undo_start_to_close)]
        return max(times, default=timedelta(seconds=10))

    def _with_passthrough(self, runner: WorkflowRunner | None) -> WorkflowRunner:
        if not isinstance(runner, SandboxedWorkflowRunner):
            if runner is None or type(runner).__name__ == "UnsandboxedWorkflowRunner":
                return runner or SandboxedWorkflowRunner()
            raise CannotCompose(
                f"the worker's workflow runner is a {type(runner).__name__}; Rescind passes its modules through "
                "Temporal's SandboxedWorkflowRunner. Use that one, or UnsandboxedWorkflowRunner"
            )
        modules = {*_PASSED_THROUGH, *(tool.forward.__module__.split(".")[0] for tool in self.catalogue)}
        restrictions = runner.restrictions.with_passthrough_modules(*sorted(modules))
        return dataclasses.replace(runner, restrictions=restrictions)


def _activities(bench: Bench) -> list[Callable[..., Any]]:
    activities = [*saga_activities(bench), generic_settle_activity(bench), *generic_activities(bench)]
    for tool in bench.catalogue:
        if tool.read_only:
            activities.append(read_activity(tool, bench))
            continue
        activities.append(forward_activity(tool, bench))
        if tool.compensate:
            activities.append(undo_activity(tool, bench))
        if tool.lookup:
            activities.append(settle_activity(tool, bench))
    return activities


def _with_pydantic(converter: DataConverter | None) -> DataConverter:
    """The client's converter with Pydantic's payload converter, its codec and failure converter kept."""
    converter = converter or DataConverter.default
    kind = converter.payload_converter_class
    if issubclass(kind, PydanticPayloadConverter):
        return converter
    if kind is not DefaultPayloadConverter:
        raise CannotCompose(
            f"the client's payload converter is {kind.__name__}; Rescind's requests, results and reports are Pydantic "
            "models, and whether that class reads them can't be told. Make it a subclass of "
            "temporalio.contrib.pydantic.PydanticPayloadConverter"
        )
    return dataclasses.replace(converter, payload_converter_class=PydanticPayloadConverter)
