"""One call of a tool in a saga of its own, driven by hand as a workflow and Temporal drive it."""

from __future__ import annotations

import asyncio
import dataclasses
import uuid
from collections.abc import Callable, Coroutine
from datetime import timedelta
from itertools import count
from typing import Any, TypeVar

from pydantic import BaseModel
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from rescind._attempt import Attempt
from rescind._bench import Found, deadline
from rescind._calls import Request, Restoration
from rescind._catalogue import AnyTool
from rescind._failures import lookup_failed
from rescind._forward import call_of, forward_activity
from rescind._settle import generic_settle_activity, refuse_to_store, settle_activity
from rescind._states import RecordState
from rescind._tool import Retries
from rescind._undo import undo_activity
from rescind._wire import FailedAttempt, ForwardOrder, StepAnswer, UndoOrder
from rescind.ledger import EffectView
from rescind.testing._stopping import Killed, Pause, Point, StoppingBench

T = TypeVar("T")

_LONGEST_WAIT = timedelta(seconds=1)
"""Between two attempts, whatever the tool says: nobody else has to be spared."""

_MOST_ATTEMPTS = 200
_FINAL = frozenset({RecordState.ABSENT, RecordState.UNDONE})


class Step:
    """One call, with a key that no other has.

    Args:
        tool: The tool.
        bench: An open bench.
        request: What is asked for.
    """

    def __init__(self, tool: AnyTool, bench: StoppingBench, request: Request) -> None:
        self.tool, self.bench = tool, bench
        last = tool.name.rpartition(".")[2]
        self.order = ForwardOrder(
            saga=f"rescind-laws-{uuid.uuid4()}/run",
            epoch=0,
            step=f"{last}#1",
            seq=(1,),
            tool=tool.name,
            request=request.model_dump(mode="json"),
            approval=None if tool.is_reversible else "the check of the tool's laws",
        )
        self.call = call_of(tool, self.order.key, self.order.request)

    async def attempt(self, number: int = 1) -> StepAnswer:
        """One attempt of the forward activity.

        Raises:
            ApplicationError: It failed.
            Killed: The worker died in it.
        """
        answer: StepAnswer = await _in_activity(forward_activity(self.tool, self.bench), self.order, number)
        return answer

    async def attempts(self) -> StepAnswer:
        """Attempts as Temporal makes them.

        Raises:
            ApplicationError: The last one failed, and no other is made.
            Killed: The worker died in one.
        """
        return await self._until_final(self.attempt, self.tool.retries)

    async def do(self) -> StepAnswer:
        """Attempts until one succeeds or says that no other is made; settled where that leaves open what happened.

        Returns:
            What became of the step: applied, absent or in doubt.
        """
        try:
            return await self.attempts()
        except ApplicationError as error:
            if _left(error) in _FINAL:
                return StepAnswer(state=RecordState.ABSENT, why=error.message)
            settled = await self.settle()
            return settled.model_copy(update={"why": settled.why or error.message})

    async def settle(self) -> StepAnswer:
        """Fence the call, wait out what is in flight, and ask the lookup where there is one."""
        settling = settle_activity if self.tool.lookup else _generic
        order = UndoOrder(**self._address())
        activity = settling(self.tool, self.bench)

        async def attempt(number: int) -> StepAnswer:
            answer: StepAnswer = await _in_activity(activity, order, number)
            return answer

        return await self._until_final(attempt, self.tool.undo_retries)

    async def undo(self) -> Restoration:
        """Tries until one succeeds or the step is stuck.

        Raises:
            ApplicationError: Of type `Conflict` or `Stuck`; the step is stuck.
            Killed: The worker died in it.
        """
        activity = undo_activity(self.tool, self.bench)

        async def attempt(number: int) -> Restoration:
            answer: Restoration = await _in_activity(activity, UndoOrder(**self._address()), number)
            return answer

        return await self._until_final(attempt, self.tool.undo_retries)

    async def look_up(self) -> Found:
        """Ask the tool's lookup, with what the call remembered at hand; nothing is decided by it.

        Raises:
            ApplicationError: It failed.
        """
        view = await self.view()
        limit = self.tool.undo_timeout
        loop = asyncio.get_running_loop()
        attempt = Attempt(view.before if view else None, refuse_to_store, deadline(limit), loop)

        async def ask(_: object) -> Found:
            try:
                return await self.bench.look_up(self.tool, self.call, attempt, limit=limit)
            except Exception as error:
                raise lookup_failed(error) from error

        found: Found = await _in_activity(ask, None, 1)
        return found

    async def dies(self, point: Point, work: Callable[[], Coroutine[Any, Any, object]]) -> bool:
        """Let the worker die at a point of some work; False if it never came there, and the work was done."""
        self.bench.ledger.kill_at = point
        try:
            await work()
        except Killed:
            return True
        finally:
            self.bench.ledger.kill_at = None
        return False

    async def paused(self) -> tuple[Pause, asyncio.Task[StepAnswer]]:
        """An attempt that has begun and stands still before its call."""
        pause = self.bench.ledger.pause = Pause()
        running = asyncio.create_task(self.attempt())
        reached = asyncio.create_task(pause.reached.wait())
        await asyncio.wait({running, reached}, return_when=asyncio.FIRST_COMPLETED)
        reached.cancel()
        self.bench.ledger.pause = None
        return pause, running

    async def view(self) -> EffectView | None:
        """What is on record of the call."""
        saga = await self.bench.ledger.show(self.bench.saga(self.order.saga))
        return next(iter(saga.effects), None) if saga else None

    async def state(self) -> RecordState | None:
        """In which state the call is on record."""
        view = await self.view()
        return view.state if view else None

    async def land(self) -> None:
        """Let so much time pass that nothing is in flight any more."""
        await self.bench.ledger.skip_flight(self.bench.saga(self.order.saga))

    def _address(self) -> dict[str, Any]:
        return self.order.model_dump(exclude={"request", "approval"})

    async def _until_final(self, attempt: Callable[[int], Coroutine[Any, Any, T]], retries: Retries) -> T:
        """Try again as Temporal does, but for waiting for what is in flight: that is skipped."""
        wait = retries.first_wait
        for number in count(1):
            try:
                return await attempt(number)
            except ApplicationError as error:
                if error.non_retryable or number >= _MOST_ATTEMPTS:
                    raise
                if error.type == "InFlight":
                    await self.land()
                    continue
                longest = min(retries.longest_wait, _LONGEST_WAIT)
                await asyncio.sleep(min(error.next_retry_delay or wait, longest).total_seconds())
                wait *= 2
        raise AssertionError("count does not end")


def _generic(_: AnyTool, bench: StoppingBench) -> Any:
    return generic_settle_activity(bench)


async def _in_activity(function: Callable[[Any], Any], argument: BaseModel | None, number: int) -> Any:
    """Run a function as an activity's attempt, in a context of its own as on a worker."""
    environment = ActivityEnvironment()
    environment.info = dataclasses.replace(environment.info, attempt=number)
    return await asyncio.create_task(_awaited(environment, function, argument))


async def _awaited(environment: ActivityEnvironment, function: Any, argument: object) -> Any:
    return await environment.run(function, argument)


def _left(error: ApplicationError) -> RecordState | None:
    detail = next(iter(error.details), None)
    return detail.state if isinstance(detail, FailedAttempt) else None
