"""The activity around a tool's forward activity: begin, call, finish."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, NoReturn, assert_never

import stamina
from pydantic import JsonValue, ValidationError
from pydantic_core import to_json, to_jsonable_python
from temporalio import activity

from rescind._attempt import Attempt
from rescind._bench import Bench, deadline, limit_of, undisturbed
from rescind._calls import Absent, Applied, Call, Result, Unknown
from rescind._catalogue import AnyTool, activity_names
from rescind._failures import contract_broken, in_flight, refused_by_ledger, taken_over, too_large, weighed
from rescind._keys import approval_digest, provider_key, provider_undo_key, request_digest
from rescind._precondition import ask_before_the_call
from rescind._states import Outcome, RecordState, Repeat
from rescind._tool import SLACK
from rescind._wire import PAYLOAD_LIMIT, ForwardOrder, StepAnswer, says_changed
from rescind.evidence import REFUSED, Evidence, NothingHappened, Unproven, weigh
from rescind.ledger import Busy, EffectFenced, Finished, Go, LedgerUnavailable, Refused, Replay, TakenOver

_RETRYING = stamina.AsyncRetryingCaller(attempts=5, timeout=SLACK).on(LedgerUnavailable)


def forward_activity(tool: AnyTool, bench: Bench) -> Any:
    """The activity that a worker registers for a tool's forward activity, under the same name."""

    @activity.defn(name=activity_names(tool)["forward"])
    async def forward(order: ForwardOrder) -> StepAnswer:
        return await undisturbed(_Forward(tool, bench, order).run())

    return forward


def call_of(tool: AnyTool, key: str, request: JsonValue) -> Call[Any]:
    """Build the call that a tool is given, with its request read as the tool's model.

    Raises:
        pydantic.ValidationError: The request is not of that model.
    """
    model = tool.request_type.model_validate_json(to_json(request))
    call: Call[Any] = Call[tool.request_type].model_construct(  # type: ignore[name-defined]
        request=model, key=provider_key(key), undo_key=provider_undo_key(key)
    )
    return call


def checked_call(tool: AnyTool, order: ForwardOrder) -> Call[Any]:
    """The same for an order from a workflow, whose request may be of another version of the model.

    Raises:
        ApplicationError: Of type `ContractBroken`; nothing was begun.
    """
    try:
        return call_of(tool, order.key, order.request)
    except ValidationError as error:
        message = f"{tool.name}: the request does not fit its model; nothing was begun: {error}"
        raise contract_broken(message, state=None) from None


def misfit(tool: AnyTool, result: JsonValue) -> str | None:
    """Why a result on record can't be given to the workflow as the tool's, if it can't."""
    try:
        tool.result_type.model_validate_json(to_json(result))
    except ValidationError as error:
        return f"answered something that is not its result: {error}"
    return None


class _Forward:
    """One attempt of one step."""

    def __init__(self, tool: AnyTool, bench: Bench, order: ForwardOrder) -> None:
        self.tool, self.bench, self.order = tool, bench, order
        self.at = bench.address(order)
        self.limit = limit_of(tool)
        self.ends = deadline(self.limit)
        self.number = 0

    async def run(self) -> StepAnswer:
        call = checked_call(self.tool, self.order)
        begun = await self._begin()
        match begun:
            case Replay():
                return self._answer(begun.result)
            case Busy():
                raise in_flight(begun.wait)
            case Refused():
                raise refused_by_ledger(begun, self.order.step)
            case Go():
                return await self._act(call, begun)
        assert_never(begun)

    async def _begin(self) -> Go | Replay | Busy | Refused:
        order = self.order
        try:
            return await self.bench.ledger.begin(
                self.at,
                tool=self.tool.name,
                version=self.tool.version,
                repeat=self.tool.repeats,
                digest=request_digest(self.tool.name, order.request),
                request=order.request,
                ttl=(self.limit + SLACK + self.tool.late_for).total_seconds(),
                owner=activity.info().workflow_run_id or "",
                approval=self._approval(),
            )
        except TakenOver as error:
            raise taken_over(error) from error

    def _approval(self) -> JsonValue:
        """Who has approved it beforehand, or the digest of what people were asked for."""
        order = self.order
        if not order.asked:
            return order.approval
        return {"digest": approval_digest(self.tool.name, order.request, order.key)}

    async def _act(self, call: Call[Any], begun: Go) -> StepAnswer:
        self.number = begun.attempt
        attempt = Attempt(begun.before, self._store, self.ends, asyncio.get_running_loop())
        try:
            self._refuse_past_the_tries()
            result, recovered = await self._result(call, attempt, begun)
        except Exception as error:  # noqa: BLE001  (whatever a tool raises is weighed, recorded and passed on)
            await self._failed(error)
        return await self._applied(result, recovered=recovered)

    async def _result(self, call: Call[Any], attempt: Attempt, begun: Go) -> tuple[Any, bool]:
        """The call's result, and whether it is that of an earlier attempt, recovered by the lookup."""
        untouched, limit = begun.proven, self.limit
        if begun.ask:
            found = await self._found(call, attempt)
            if isinstance(found, Applied) and not found.partial:
                return found.result, True
            untouched = isinstance(found, Absent)
        if untouched and self.tool.check:
            limit -= await ask_before_the_call(self.tool, self.bench, call, attempt, limit=limit)
        return await self.bench.run(self.tool.forward, call, attempt, limit=limit), False

    async def _found(self, call: Call[Any], attempt: Attempt) -> Applied[Any] | Absent:
        """Ask what became of the earlier attempts."""
        limit = min(self.limit, self.tool.undo_timeout)
        answer = await self.bench.look_up(self.tool, call, attempt, limit=limit)
        if isinstance(answer, Unknown):
            raise Unproven(
                f"an earlier attempt may have taken effect, and the lookup can't tell: {answer.why}"
            )
        return answer

    async def _store(self, before: JsonValue) -> JsonValue:
        return await self.bench.ledger.remember(self.at, self.number, before)

    async def _applied(self, result: Any, *, recovered: bool) -> StepAnswer:
        plain: JsonValue = to_jsonable_python(result, fallback=repr)
        changed = not isinstance(result, Result) or result.changed
        await self._finish(Outcome.APPLIED, result=plain, changed=changed, found=recovered)
        return self._answer(plain, changed=changed, recovered=recovered)

    def _answer(self, result: JsonValue, *, changed: bool = True, recovered: bool = False) -> StepAnswer:
        if why := misfit(self.tool, result):
            raise contract_broken(
                f"{self.tool.name} has acted and {why}; the effect is on record and is undone or handed to a person",
                state=RecordState.APPLIED,
            )
        if len(to_json(result)) > PAYLOAD_LIMIT:
            raise too_large(self.tool.name)
        changed = changed and says_changed(result)
        return StepAnswer(state=RecordState.APPLIED, result=result, changed=changed, recovered=recovered)

    async def _failed(self, error: Exception) -> NoReturn:
        evidence = REFUSED if isinstance(error, EffectFenced) else weigh(error, self.tool.proves)
        last = not evidence.try_again or self._is_last(evidence)
        evidence = Evidence(evidence.nothing_happened, not last, evidence.retry_after)
        finished = await self._finish(evidence.outcome, error=f"{type(error).__name__}: {error}")
        raise weighed(error, evidence, finished.state) from error

    def _refuse_past_the_tries(self) -> None:
        """The attempt that was to be the last one has not reported, so nothing has ended the step with it.

        A step that is begun anew, as after a reset, has a number from before, and all of its attempts to come.
        """
        tries = self.tool.retries.tries
        if min(self.number, activity.info().attempt) > tries and not self.tool.retriable:
            raise NothingHappened(
                f"all {tries} attempts have begun, and the last one has not reported. Nothing was sent this time; what "
                "became of them is asked next"
            )

    def _is_last(self, evidence: Evidence) -> bool:
        """Whether no further attempt is made: the tries are used up, or the tool is never called twice."""
        if self.tool.repeats is Repeat.NEVER and not evidence.nothing_happened:
            return True
        return self.number >= self.tool.retries.tries and not self.tool.retriable

    async def _finish(
        self,
        outcome: Outcome,
        *,
        result: JsonValue = None,
        changed: bool = True,
        found: bool = False,
        error: str | None = None,
    ) -> Finished:
        """Tell the ledger, and try again while it is away: a lost report leaves the attempt unproven."""

        async def report() -> Finished:
            return await self.bench.ledger.finish(
                self.at,
                self.number,
                outcome,
                result=result,
                changed=changed,
                found=found,
                late=self.tool.late_for.total_seconds(),
                error=error,
            )

        with suppress(LedgerUnavailable):
            return await report()
        return await _RETRYING(report)
