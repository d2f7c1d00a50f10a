"""A savepoint: a part of a saga is taken back when it fails, and the saga tries another way."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Self

from temporalio import workflow

from rescind._endings import ending
from rescind._errors import RollbackIncomplete
from rescind._listing import newest_first
from rescind._part import Part, enter
from rescind._record import Record, is_clean
from rescind._stack import Stack
from rescind._steps import raise_if_cancelled
from rescind._survey import close_children, survey_part
from rescind._unwind import land, take_back_one
from rescind._workflow import raise_if_evicted, undisturbed


class Savepoint(AbstractAsyncContextManager["Savepoint"]):
    """A block of steps that are all undone, last first, when a failure leaves the block; the failure goes on.

    Catch the failure outside the block to try another way: later steps get new keys. Steps of branches that
    run beside the block are not touched. A time limit around the block (`asyncio.timeout`) undoes it, too. When the
    workflow itself is cancelled, the whole saga is undone instead; a bug undoes nothing.

    Raises:
        RollbackIncomplete: On leaving with a failure: a step of the block could not be undone, or nobody can
            tell whether it took effect. The saga can't go on; its cause is the failure.
        SagaTakenOver: On leaving with a failure: somebody else works on this saga now.
        asyncio.CancelledError: The workflow was asked to cancel meanwhile; the block is undone.
    """

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self._part: Part | None = None

    async def __aenter__(self) -> Self:
        """Mark the point; nothing is scheduled and nothing is written."""
        self._part = Part()
        enter(self._part)
        self._stack.points += 1
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Go on, or take the block's steps back."""
        part = self._part
        assert part is not None  # noqa: S101  (entered before it is left)
        if isinstance(error, GeneratorExit):  # thrown away with its worker, outside of any workflow's loop
            return
        raise_if_evicted()
        cause = None if error is None else ending(error, committed=False)
        self._stack.points -= 1
        enter(part.outer)
        if isinstance(cause, BaseException) and not _ends_the_saga(cause):
            part.undone = True
            await self._take_back(part, cause)
        else:
            part.left = True

    async def _take_back(self, part: Part, cause: BaseException) -> None:
        left = await undisturbed(_take_back(self._stack, part))
        if left:
            failure = RollbackIncomplete({record.step: _in_words(record) for record in left})
            self._stack.stopped = failure.message
            raise failure from cause
        raise_if_cancelled()


async def _take_back(stack: Stack, part: Part) -> list[Record]:
    """Take back the steps of one part while the saga stays open; answer with those that stand or may stand.

    The ledger is asked for each, no-ops too: only it has heard every report. Nothing is done when the whole
    saga, or a larger part, is being undone already.
    """
    async with stack.undoing:
        if stack.closed or stack.stopped or part.is_in_undone:
            return []
        await land(stack, part.records)
        for child in [record for record in part.records if record.is_saga]:
            standing = await survey_part(stack, child.step, child.seq)
            stack.parts.pop(child.step, None)
            stack.records += standing
            part.records += standing
        close_children(part.records)
        for record in newest_first(part.records):
            await take_back_one(stack, record, whole=False)
    return [record for record in part.records if not is_clean(record)]


def _ends_the_saga(cause: BaseException) -> bool:
    return isinstance(cause, asyncio.CancelledError) and workflow.cancellation_reason() is not None


def _in_words(record: Record) -> str:
    return f"is {record.state.value.replace('_', ' ')} ({record.error or 'no reason known'})"
