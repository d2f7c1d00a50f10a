"""The activity around a tool's compensation: begin the undo, build the receipt, compensate, finish."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any, NoReturn

from pydantic import JsonValue, ValidationError
from pydantic_core import to_json
from temporalio import activity
from temporalio.exceptions import ApplicationError

from rescind._attempt import Attempt
from rescind._bench import Bench, Found, deadline, undisturbed
from rescind._calls import Absent, Applied, Call, Receipt, Restoration
from rescind._catalogue import AnyTool, activity_names
from rescind._failures import in_flight, refused_by_ledger, taken_over
from rescind._forward import call_of
from rescind._settle import refuse_to_store
from rescind._states import RecordState, Repeat, UndoOutcome
from rescind._tool import SLACK
from rescind._wire import FailedAttempt, UndoOrder
from rescind.evidence import Conflict, weigh
from rescind.ledger import Busy, IllegalTransition, Refused, TakenOver, UndoDone, UndoGo


def undo_activity(tool: AnyTool, bench: Bench) -> Any:
    """The activity that a worker registers for a tool's compensation, under the same name."""

    @activity.defn(name=activity_names(tool)["compensate"])
    async def compensate(order: UndoOrder) -> Restoration:
        return await undisturbed(_Undo(tool, bench, order).run())

    return compensate


class _Undo:
    """One try to undo one step."""

    def __init__(self, tool: AnyTool, bench: Bench, order: UndoOrder) -> None:
        self.tool, self.bench, self.order = tool, bench, order
        self.at = bench.address(order)
        self.time = tool.undo_timeout * (2 if order.look_first else 1)
        self.ends = deadline(self.time)
        self.before: JsonValue = None
        self.last_try = order.last_try or tool.undo_retries.tries

    async def run(self) -> Restoration:
        ttl = (self.time + SLACK).total_seconds()
        try:
            begun = await self.bench.ledger.undo_begin(self.at, ttl=ttl, whole=self.order.whole)
        except (TakenOver, IllegalTransition) as error:
            raise taken_over(error) from error
        match begun:
            case UndoDone():
                return Restoration.model_validate(begun.restoration)
            case Busy():
                raise in_flight(begun.wait)
            case Refused():
                raise refused_by_ledger(begun, self.order.step)
            case UndoGo():
                return await self._within_budget(begun)

    async def _within_budget(self, begun: UndoGo) -> Restoration:
        if begun.attempt > self.last_try:
            why = f"{self.last_try} tries were begun and none reported success"
            await self._give_up_unsent(begun, why, None)
        try:
            receipt = await self._receipt(begun)
        except (ValidationError, ValueError) as error:
            why = f"its receipt can't be read by {self.tool.name} of today: {error}"
            await self._give_up_unsent(begun, why, error)
        return await self._compensate(receipt, begun)

    async def _compensate(self, receipt: Receipt[Any, Any], begun: UndoGo) -> Restoration:
        try:
            restoration = await self._undone(receipt, begun)
        except Conflict as error:
            await self._finish(begun, UndoOutcome.CONFLICT, error=str(error))
            raise _stuck(f"conflict, nothing was touched: {error}", "Conflict") from error
        except Exception as error:  # noqa: BLE001  (whatever a compensation raises is recorded and tried again)
            await self._failed(begun, error)
        state = await self._finish(begun, UndoOutcome.UNDONE, restoration.model_dump(mode="json"))
        if state is RecordState.APPLIED:
            raise ApplicationError("the effect had happened twice; it is undone once more", type="UndoneOnce")
        return restoration

    async def _undone(self, receipt: Receipt[Any, Any], begun: UndoGo) -> Restoration:
        """Compensate; where an attempt never reported, look again: it may have acted beside the known one."""
        if self.order.look_first and await self._is_gone(receipt.call):
            return Restoration.nothing("its lookup finds nothing of it any more")
        while True:
            answer = await self._restored(receipt)
            if not begun.unproven or self.tool.repeats is not Repeat.LOOKED_UP:
                return answer
            found = await self._look_up(receipt.call)
            if not isinstance(found, Applied):
                return answer
            receipt = receipt.model_copy(update={"result": found.result})

    async def _restored(self, receipt: Receipt[Any, Any]) -> Restoration:
        assert self.tool.compensate is not None  # noqa: S101  (only tools with one are registered)
        limit = self.tool.undo_timeout
        answer = await self.bench.run(self.tool.compensate, receipt, self._attempt(), limit=limit)
        if not isinstance(answer, Restoration):
            raise TypeError(
                f"{self.tool.name}: its compensation answered {type(answer).__name__}, no Restoration"
            )
        return answer

    async def _is_gone(self, call: Call[Any]) -> bool:
        """Whether the lookup is sure; one that can't answer leaves it to the compensation, which compares itself."""
        if self.tool.lookup is None:
            return False
        try:
            return isinstance(await self._look_up(call), Absent)
        except Exception as error:  # noqa: BLE001  (whatever a lookup raises is no answer)
            activity.logger.warning("%s: its lookup did not answer: %s", self.order.step, error)
            return False

    async def _look_up(self, call: Call[Any]) -> Found:
        return await self.bench.look_up(self.tool, call, self._attempt(), limit=self.tool.undo_timeout)

    def _attempt(self) -> Attempt:
        return Attempt(self.before, refuse_to_store, self.ends, asyncio.get_running_loop())

    async def _receipt(self, begun: UndoGo) -> Receipt[Any, Any]:
        """Build the receipt from the ledger; a result that can't be read is asked for again."""
        if begun.version > self.tool.version:
            raise ValueError(
                f"it was written by version {begun.version}, and this worker has {self.tool.version}"
            )
        self.before = begun.before
        call = call_of(self.tool, self.order.key, begun.request)
        try:
            result = self.tool.result_type.model_validate_json(to_json(begun.result))
        except ValidationError:
            result = await self._found_result(call)
        return Receipt[self.tool.request_type, self.tool.result_type].model_construct(  # type: ignore[name-defined]
            call=call, before=begun.before, result=result
        )

    async def _found_result(self, call: Call[Any]) -> Any:
        found = await self._look_up(call) if self.tool.lookup else None
        if not isinstance(found, Applied):
            raise ValueError("the result on record breaks the contract, and no lookup gives a better one")
        return found.result

    async def _failed(self, begun: UndoGo, error: Exception) -> NoReturn:
        words = f"{type(error).__name__}: {error}"
        await self._finish(begun, UndoOutcome.FAILED, error=words)
        if begun.attempt >= self.last_try:
            await self._give_up(f"all {begun.attempt} tries failed, the last with {words}", error)
        evidence = weigh(error, self.tool.proves)
        raise ApplicationError(
            str(error) or type(error).__name__,
            FailedAttempt(state=RecordState.UNDOING),
            type=type(error).__name__,
            next_retry_delay=None
            if evidence.retry_after is None
            else timedelta(seconds=evidence.retry_after),
        ) from error

    async def _give_up_unsent(self, begun: UndoGo, why: str, error: Exception | None) -> NoReturn:
        """Give up a try that has sent nothing; it reports, so that the next one need not wait for it."""
        await self._finish(begun, UndoOutcome.FAILED, error=why)
        await self._give_up(why, error)

    async def _give_up(self, why: str, error: Exception | None) -> NoReturn:
        await self.bench.ledger.give_up(self.at, why)
        raise _stuck(f"{self.order.step} stands and could not be undone: {why}", "Stuck") from error

    async def _finish(
        self, begun: UndoGo, outcome: UndoOutcome, restoration: JsonValue = None, error: str | None = None
    ) -> RecordState:
        return await self.bench.ledger.undo_finish(
            self.at, begun.attempt, outcome, restoration=restoration, error=error
        )


def _stuck(message: str, kind: str) -> ApplicationError:
    return ApplicationError(message, FailedAttempt(state=RecordState.STUCK), type=kind, non_retryable=True)
