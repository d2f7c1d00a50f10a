"""The saga: steps are pushed on one stack, and one `finally` takes them back unless they are committed."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from types import TracebackType
from typing import Any, Self, cast

from pydantic_core import to_json
from temporalio import workflow
from temporalio.api.common.v1 import Payload

from rescind import _schedule
from rescind._calls import Req, Res
from rescind._carried import Carried, handed_to_this_run
from rescind._child import Arg, Out, run_child
from rescind._endings import Ending, ending, raise_alone
from rescind._notice import Tell, tell_failure
from rescind._record import Outcome, SagaReport
from rescind._refusals import (
    accepted,
    refuse_early_commit,
    refuse_lossy_continuation,
    refuse_step,
    refuse_unfit_workflow,
)
from rescind._reversal import reversal_of
from rescind._savepoint import Savepoint
from rescind._sealing import seal
from rescind._stack import Stack
from rescind._steps import in_words, last_part, raise_if_cancelled, take_effect
from rescind._tool import Tool
from rescind._unwind import raise_outcome, unwind, unwind_child
from rescind._wire import ForwardOrder
from rescind._workflow import raise_if_evicted, undisturbed
from rescind.approvals._gates import Gates
from rescind.approvals._words import approvals_for

QUERY = "rescind_report"
"""The query that answers with the saga's report so far, while a worker lives."""


class Saga:
    """An all-or-nothing block of steps in a workflow.

    ```python
    async with Saga() as saga:
        room = await saga.step(RESERVE_ROOM, ReserveRoom(...))
        await saga.commit()
    ```

    Leaving the block with a failure or a cancellation, or without a commit, undoes every step, last
    first, and then raises: the cancellation itself when all is undone without residue, otherwise
    `SagaUndone`, or `UndoIncomplete` when anything stands or may stand. A bug (an exception that
    only fails the workflow task) undoes nothing: the workflow waits for the fixed code. Do all
    that may fail inside the block; what fails after it finds a sealed saga.

    A long saga calls `workflow.continue_as_new(...)` inside the block, between two steps: the saga is neither
    sealed nor undone, and the next run's `async with Saga()` goes on with it.

    Args:
        approved: Names of irreversible tools that may run without asking anybody; the ledger's journal
            records that they were approved by the workflow's input. Any other one waits until people have said
            `approve` or `reject` by an Update; one of critical risk takes two different people.
        approval_within: How long people may take, and then how long their approval may wait until it is used; after
            that the step has failed, and nothing of it was begun.
        reference: What the business calls the case; those who are told of a failure get it.
        tell: Activities that tell somebody when the saga has failed, also when all was undone. They run once
            each, with a few retries, after the report is in the ledger; they never change the outcome.

    Raises:
        SagaRefused: On entry, when the workflow has a retry policy or a cron schedule (its runs would share
            their keys), or has had a saga before; also when a run before has ended its saga.
    """

    def __init__(
        self,
        *,
        approved: Iterable[str] = (),
        approval_within: timedelta = timedelta(days=1),
        reference: str | None = None,
        tell: Iterable[Tell] = (),
    ) -> None:
        self._approved = frozenset(approved)
        self._reference, self._tell = reference, tuple(tell)
        self._stack = Stack(earlier=handed_to_this_run())
        self._stack.reference = reference
        self._gates = Gates(self._stack, approval_within)
        self._left = False
        self._block: AbstractAsyncContextManager[Self] | None = None

    async def __aenter__(self) -> Self:
        """Begin the saga; nothing is scheduled and nothing is written."""
        refuse_unfit_workflow(had_saga=workflow.get_query_handler(QUERY) is not None)
        workflow.set_query_handler(QUERY, self.report)
        self._gates.listen()
        self._block = self._scope()
        return await self._block.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        """Seal or unwind."""
        assert self._block is not None  # noqa: S101  (entered before it is left)
        return await self._block.__aexit__(kind, error, trace)

    @asynccontextmanager
    async def _scope(self) -> AsyncGenerator[Self]:
        try:
            yield self
        finally:
            await self._leave(sys.exception())

    async def step(
        self, tool: Tool[Req, Res], request: Req, *, name: str | None = None, ask: bool = False
    ) -> Res:
        """Do one step and push its record on the stack.

        Args:
            tool: The tool.
            request: What it is asked to do.
            name: The step's name; by default the tool's last part. Steps of one name are numbered.
            ask: Wait for people's approval also where the tool can be undone, or is approved beforehand. One that
                only reads asks nobody.

        Returns:
            The tool's result; from its lookup when the call's own answer was lost.

        Raises:
            SagaRefused: The step was refused before anything was scheduled for it.
            StepFailed: It did not succeed; its cause ends in the provider's own words. Also when people have rejected
                it, or have not approved it in time: then nothing of it was begun.
            SagaTakenOver: The saga belongs to somebody else now.
            asyncio.CancelledError: The workflow was asked to cancel; the step has settled before that.
        """
        plain = accepted(self._stack, tool, request)
        summary = in_words(tool.name, request)
        if tool.read_only:
            order = self._stack.order_of(name or last_part(tool.name), tool.name)
            answer = await _schedule.read(tool, ForwardOrder(**order.model_dump(), request=plain), summary)
            return tool.result_type.model_validate_json(to_json(answer.result))
        asked = ask or not (tool.is_reversible or tool.name in self._approved)
        if asked:
            self._gates.refuse_deaf(tool.name)
        if not tool.is_reversible:
            raise_if_cancelled()
        record = self._stack.push(
            name or last_part(tool.name), tool.name, summary, request=plain, reversal=reversal_of(tool)
        )
        approval = None if tool.is_reversible or asked else "pre-approved in the workflow's input"
        with self._stack.running(record):
            if asked:
                await self._gates.wait(record, risk=tool.risk, people=approvals_for(tool) or 1)
                raise_if_cancelled()
            await take_effect(self._stack, tool, record, approval=approval, asked=asked)
        raise_if_cancelled()
        return tool.result_type.model_validate_json(to_json(record.result))

    async def child(
        self,
        run: Callable[[Any, Arg], Awaitable[Out]],
        arg: Arg,
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002  (Temporal's own parameter name)
    ) -> Out:
        """Run another workflow whose saga is a part of this one: one commit, and one undo in reverse order.

        Its steps are undone with this saga's, also after it has completed. Its own `commit` seals nothing by
        itself. When it fails it undoes its part first, and then fails.

        Args:
            run: The workflow's run method; its worker has the plugin, too.
            arg: The workflow's input.
            name: The step's name; by default the workflow's. Steps of one name are numbered.
            id: The workflow's id; by default this workflow's and the step's, joined by '/'.

        Raises:
            SagaRefused: It was refused before anything was scheduled for it.
            StepFailed: It has failed. Only where nothing of it is left (`absent`) this saga may go on.
            SagaTakenOver: The saga belongs to somebody else now.
            asyncio.CancelledError: The workflow was asked to cancel; the child has closed before that.
        """
        refuse_step(self._stack, str(name or "a child saga"))
        result = await run_child(self._stack, run, arg, name=name, id=id)
        raise_if_cancelled()
        return result

    async def commit(self) -> None:
        """Say that the saga is done: at the end of its block it is sealed instead of undone.

        Raises:
            SagaRefused: A step is still running, or is not proven to stand or to be absent.
            asyncio.CancelledError: The workflow was asked to cancel; everything is undone.
        """
        raise_if_cancelled()
        refuse_early_commit(self._stack)
        self._stack.committed = True

    def savepoint(self) -> Savepoint:
        """A part of the saga that is undone by itself when a failure leaves it, so that another way can be tried.

        ```python
        try:
            async with saga.savepoint():
                seat = await saga.step(BOOK_FLIGHT, ...)
                await saga.step(BOOK_TRANSFER, ...)
        except StepFailed:
            seat = await saga.step(BOOK_TRAIN, ...)
        ```
        """
        return Savepoint(self._stack)

    def report(self) -> SagaReport:
        """What the saga has done so far; the answer to the query `rescind_report`."""
        return self._stack.report(Outcome.RUNNING)

    def hand_on(self) -> Payload | None:
        """What the next run has to know, for `workflow.continue_as_new`; None when the saga has ended.

        Raises:
            SagaRefused: The workflow can't continue as new now. The saga stays as it is.
            asyncio.CancelledError: The workflow was asked to cancel, which the next run would not hear of.
        """
        if self._left and self._stack.under is None:
            return None
        raise_if_cancelled()
        refuse_lossy_continuation(self._stack)
        header = self._stack.handed_on().payload()
        self._stack.stopped = "the workflow has continued as new"
        return header

    async def _leave(self, error: BaseException | None) -> None:
        """Seal what is committed, take back what has failed; leave bugs, evictions and continued runs alone."""
        if isinstance(error, GeneratorExit):  # thrown away with its worker, outside of any workflow's loop
            return
        raise_if_evicted()
        end = ending(error, committed=self._stack.committed)
        if end is Ending.SEAL:
            end = await undisturbed(self._end())
        if isinstance(end, Ending):
            self._left = True
            raise_alone(error)
            return
        self._stack.closed = True
        report = await undisturbed(self._unwind(end))
        self._left = True
        await undisturbed(tell_failure(self._tell, self._reference, report))
        raise_outcome(report, end, error)

    def part(self) -> Carried:
        """Which steps of a child saga stand, for the saga around it."""
        return self._stack.handed_on()

    async def undo_after(self, error: BaseException) -> None:
        """Undo a child saga that was left well, whose workflow has failed after it; then raise as its block would."""
        end = ending(error, committed=False)
        if isinstance(end, Ending) or not self._left or self._stack.closed:
            return
        self._stack.closed = True
        raise_outcome(await undisturbed(self._unwind(end)), end, error)

    async def _unwind(self, error: BaseException) -> SagaReport:
        return await (unwind if self._stack.under is None else unwind_child)(self._stack, error)

    async def _end(self) -> Ending | BaseException:
        """Seal a saga of its own; a child saga is sealed with its root."""
        if self._stack.under is None:
            return await seal(self._stack)
        self._stack.show("done, as a part of another saga")
        return Ending.LEAVE


def saga_of_this_workflow() -> Saga | None:
    """The saga that this run has entered, whichever task asks; its query is what a workflow has one of."""
    owner = getattr(cast("object", workflow.get_query_handler(QUERY)), "__self__", None)
    return owner if isinstance(owner, Saga) else None
