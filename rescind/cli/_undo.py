"""The command that undoes a saga after the fact, or a part of it; and shows beforehand what that would do."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text
from temporalio.client import WorkflowFailureError, WorkflowHandle
from temporalio.exceptions import ApplicationError, WorkflowAlreadyStartedError
from temporalio.service import RPCError

from rescind._operations_queue import OPERATIONS_QUEUE
from rescind._persons_word import NAME
from rescind._record import Outcome, SagaReport
from rescind._recorded import inner
from rescind._workflow import deepest
from rescind.cli._close import Closed
from rescind.cli._desk import Who, login
from rescind.cli._exit import ExitCode, Stopped
from rescind.cli._follow import follow
from rescind.cli._foreseen import already_undone, foreseen
from rescind.cli._ledger import find, opened
from rescind.cli._server import Server, idle_queues, namespace_id
from rescind.recovery import UndoSagaOrder, start_undo, undo_id
from rescind.recovery._fate import owner_of
from rescind.recovery._orders import UNDO_REFUSED
from rescind.recovery._preview import PREVIEW_UNDO, Preview, PreviewOrder

Connect = Callable[[], Awaitable[Server]]
_FORESEEN_WITHIN = 150.0  # seconds; the lookups that it asks are given less


def undo_command(app: typer.Typer, connect: Connect, ledger: Callable[[], str | None], command: str) -> None:
    """Add the command to an application's command line.

    Args:
        app: The command line.
        connect: Connects to Temporal as the application does.
        ledger: The ledger's connection string, asked for when it is needed.
        command: The program as a person calls it.
    """

    def undo(
        saga: Annotated[
            str, typer.Argument(metavar="SAGA", help="The workflow's id, or the saga's full id.")
        ],
        *,
        step: Annotated[
            str | None, typer.Option(help="Only this step, and the later ones that used its result.")
        ] = None,
        dry_run: Annotated[
            bool, typer.Option("--dry-run", help="Show what it would do, and do nothing.")
        ] = False,
        note: Annotated[str, typer.Option(help="Why, for the report and the journal.")] = "no reason given",
        who: Who = None,
    ) -> None:
        """Undo a saga that is done, or a part of it; what it would do is shown first.

        Exit codes: 0 undone, now or before; 2 bad input or refused, nothing was touched; 3 something is left, or with
        --dry-run would be; 4 server or worker not reached; 130 Ctrl-C, and the undo goes on.
        """
        undoing = _Undoing(
            connect=connect,
            dsn=ledger(),
            named=saga,
            step=step,
            why=note,
            who=_named(who or login()),
            command=command,
        )
        raise typer.Exit(asyncio.run(undoing.run(dry_run=dry_run)))

    app.command()(undo)


@dataclass(frozen=True, kw_only=True)
class _Undoing:
    """One run of the command."""

    connect: Connect
    dsn: str | None
    named: str
    step: str | None
    why: str
    who: str
    command: str
    console: Console = field(default_factory=Console)

    async def run(self, *, dry_run: bool) -> ExitCode:
        """Show what it would do; then do it."""
        server = await self.connect()
        try:
            saga, queue = await self._found(server)
            return await self._foresee_and_undo(server, saga, queue, dry_run=dry_run)
        except RPCError as error:
            raise Stopped(
                f"The Temporal server at {server.where} did not answer: {error.message}. Nothing is lost: an undo that "
                f"was started goes on. Look with: {self.command} show {self.named}",
                ExitCode.UNREACHABLE,
            ) from None

    async def _found(self, server: Server) -> tuple[str, str | None]:
        """The saga's workflow id and first run id, and the queue where its tools are known."""
        async with opened(self.dsn) as ledger:
            view = await find(ledger, self.named, await namespace_id(server.client))
        if view is None:
            raise Stopped(f"The ledger has no saga {self.named!r}. Nothing was touched.", ExitCode.BAD_INPUT)
        saga = inner(view.id)
        queue = (await owner_of(server.client, saga)).task_queue
        await _require_workers(server, queue)
        return saga, queue

    async def _foresee_and_undo(
        self, server: Server, saga: str, queue: str | None, *, dry_run: bool
    ) -> ExitCode:
        while True:
            preview = await self._preview(server, PreviewOrder(saga=saga, step=self.step, task_queue=queue))
            if preview.already is not None:
                self.console.print(already_undone(preview.already, self.step))
                left = preview.already.outcome in (Outcome.LEFT, Outcome.INCOMPLETE) and self.step is None
                return ExitCode.NOT_CLEAN if left else ExitCode.DONE
            self.console.print(foreseen(preview, part=self.step is not None))
            if preview.refused:
                raise Stopped(f"Not undone: {preview.refused}. Nothing was touched.", ExitCode.BAD_INPUT)
            if dry_run:
                self.console.print(Text("\nNothing was touched.", "bold"))
                return ExitCode.DONE if preview.would_be_clean else ExitCode.NOT_CLEAN
            code = await self._undo(server, self._order(saga, queue, preview))
            if code is not None:
                return code

    def _order(self, saga: str, queue: str | None, preview: Preview) -> UndoSagaOrder:
        steps = tuple(step.step for step in preview.steps) if self.step is not None else None
        return UndoSagaOrder(
            saga=saga, who=self.who, why=self.why, committed=True, steps=steps, task_queue=queue
        )

    async def _undo(self, server: Server, order: UndoSagaOrder) -> ExitCode | None:
        """The exit code; None where another undo was followed to its end, and it is to be looked again."""
        part = f" --step {self.step}" if self.step else ""
        again = f"{self.command} undo {self.named}{part}"
        try:
            handle: WorkflowHandle[Any, Any] = await start_undo(server.client, order, join=False)
        except WorkflowAlreadyStartedError:
            self.console.print(Text("\nAn undo of this saga runs already; it is followed first.", "yellow"))
            handle = server.client.get_workflow_handle(undo_id(order.saga), result_type=SagaReport)
            code = await self._follow(server, handle, again)
            return None if code is ExitCode.UNDONE else code
        self.console.print(Text(f"\nStarted {handle.id}."), soft_wrap=True)
        code = await self._follow(server, handle, again)
        return ExitCode.DONE if code is ExitCode.UNDONE else code

    async def _follow(self, server: Server, handle: WorkflowHandle[Any, Any], again: str) -> ExitCode:
        return await follow(server, handle, self.console, again, closing=_closed, command=self.command)

    async def _preview(self, server: Server, order: PreviewOrder) -> Preview:
        try:
            async with asyncio.timeout(_FORESEEN_WITHIN):
                preview: Preview = await server.client.execute_workflow(
                    PREVIEW_UNDO,
                    order,
                    id=f"rescind-preview/{uuid.uuid4()}",
                    task_queue=OPERATIONS_QUEUE,
                    result_type=Preview,
                    static_summary=f"what would the undo of {order.saga} do?"[:200],
                )
        except TimeoutError:
            raise Stopped(
                f"No worker has answered within {_FORESEEN_WITHIN:.0f} seconds. Nothing was touched.",
                ExitCode.UNREACHABLE,
            ) from None
        except WorkflowFailureError as error:
            code = ExitCode.BAD_INPUT if _type(error) == "NoSuchStep" else ExitCode.UNREACHABLE
            raise Stopped(f"Not undone: {deepest(error)}. Nothing was touched.", code) from None
        return preview


def _named(who: str) -> str:
    """Who asks for it, as the order takes it."""
    if who.strip() and len(who) <= NAME:
        return who
    raise Stopped(
        f"--who has to name somebody in {NAME} characters at most. Nothing was touched.", ExitCode.BAD_INPUT
    )


async def _require_workers(server: Server, queue: str | None) -> None:
    idle = [OPERATIONS_QUEUE] if "workflow" in await idle_queues(server.client, OPERATIONS_QUEUE) else []
    if queue and "activity" in await idle_queues(server.client, queue):
        idle.append(queue)
    if idle:
        names = " and none ".join(repr(each) for each in idle)
        raise Stopped(
            f"No worker polls the task queue {names} at {server.where}. Nothing was touched. Start a worker of the "
            "application that had the saga.",
            ExitCode.UNREACHABLE,
        )


async def _closed(server: Server, handle: WorkflowHandle[Any, Any]) -> Closed:
    """Wait for the undo's end; its report is its result, or a part of its failure."""
    try:
        return Closed(SagaReport.model_validate(await handle.result()))
    except WorkflowFailureError as error:
        cause = error.cause
        if isinstance(cause, ApplicationError) and cause.type == "UndoIncomplete" and cause.details:
            return Closed(SagaReport.model_validate(cause.details[0]))
        code = ExitCode.BAD_INPUT if _type(error) == UNDO_REFUSED else ExitCode.NOT_CLEAN
        raise Stopped(
            f"The undo has ended before its end: {deepest(error)}. What it had undone is on record; give the command "
            f"again to go on. ({server.where})"
            if code is ExitCode.NOT_CLEAN
            else f"{deepest(error)}.",
            code,
        ) from None


def _type(error: WorkflowFailureError) -> str | None:
    cause: BaseException | None = error.cause
    while cause is not None:
        if isinstance(cause, ApplicationError):
            return cause.type
        cause = cause.__cause__
    return None
