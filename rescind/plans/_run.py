"""Runs the steps of a plan inside a saga: side by side where they may, each with what it does on a failure."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import to_json
from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

from rescind._catalogue import AnyTool, Catalogue
from rescind._errors import StepFailed
from rescind._workflow import deepest
from rescind.plans._needs import needed
from rescind.plans._order import Became, StepDone
from rescind.plans._plan import Arguments, Frame, Plan, Step
from rescind.plans._stand import Executed, Failure, Stand, shortened, told_error
from rescind.plans._values import Unresolvable, resolve
from rescind.saga import Saga


class PlanRun:
    """The steps of one plan, as they are done one stage after the other.

    Attributes:
        done: What became of each step, in the order in which they ended.
    """

    def __init__(self, saga: Saga, plan: Plan, catalogue: Catalogue) -> None:
        self._saga, self._plan, self._catalogue = saga, plan, catalogue
        self._steps = {step.id: step for step in plan.steps}
        self._results: dict[str, JsonValue] = {}
        self._running: dict[asyncio.Task[None], str] = {}
        self.done: dict[str, StepDone] = {}

    async def stages(self, stages: Iterable[Iterable[str]]) -> None:
        """Run stage after stage; return when all of their steps are done or skipped.

        Raises:
            StepFailed: One has failed and has no further alternative. Others may still run: the saga, whose block
                is left by it, waits for them.
            asyncio.CancelledError: The workflow was asked to cancel.
        """
        for stage in stages:
            await self._stage([self._steps[each] for each in stage])

    async def failures(self) -> dict[str, StepFailed]:
        """Wait for the steps that still run beside one that has failed; those that have failed, by their ids.

        Raises:
            SagaTakenOver: The saga belongs to somebody else now.
            asyncio.CancelledError: The workflow was asked to cancel.
        """
        await workflow.wait(self._running)
        ended, self._running = self._running, {}
        failed: dict[str, StepFailed] = {}
        for task, step in ended.items():
            try:
                task.result()
            except StepFailed as error:
                failed[step] = error
        return failed

    def stand(self, failed: Mapping[str, StepFailed]) -> Stand:
        """Where the plan stands when these steps have failed and no other one runs."""
        results = shortened([each.result for each in self.done.values()])
        over = zip(self.done.items(), results, strict=True)
        return Stand(
            frame=Frame(**{name: getattr(self._plan, name) for name in Frame.model_fields}),
            executed=[self._executed(self._steps[name], done, result) for (name, done), result in over],
            failed=[
                Failure(step=self._steps[name], error=told_error(deepest(error)))
                for name, error in failed.items()
            ],
            not_begun=[
                step for name, step in self._steps.items() if name not in self.done and name not in failed
            ],
        )

    def add(self, steps: Iterable[Step]) -> None:
        """Take further steps; one that has not been done gives its id to a further one of that name."""
        self._steps = {name: self._steps[name] for name in self.done} | {step.id: step for step in steps}

    @staticmethod
    def _executed(step: Step, done: StepDone, result: JsonValue) -> Executed:
        if done.became is Became.SKIPPED:
            return Executed(step=step, skipped=True)
        _, tool, arguments = list(step.tries())[done.tries - 1]
        as_done = step.model_copy(update={"tool": tool, "arguments": arguments, "on_failure": []})
        return Executed(step=as_done, result=result)

    async def _stage(self, steps: Sequence[Step]) -> None:
        waiting = _Waiting(steps)
        while waiting.ready or self._running:
            while waiting.ready and len(self._running) < self._plan.parallel:
                step = waiting.ready.popleft()
                task = asyncio.create_task(self._do(step))
                task.add_done_callback(_looked_at)
                self._running[task] = step.id
            ended, _ = await workflow.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                task.result()
                waiting.over(self._running.pop(task))

    async def _do(self, step: Step) -> None:
        """Do a step by the first of its alternatives that succeeds."""
        failed: StepFailed | None = None
        tool, tries = step.tool, 0
        for _, tool, arguments in step.tries():
            tries += 1
            try:
                result = await self._try(step, self._catalogue[tool], arguments)
            except StepFailed as error:
                if not error.absent:
                    raise
                failed = error
            else:
                self._results[step.id] = result
                error_before = deepest(failed) if failed else None
                self.done[step.id] = StepDone(
                    became=Became.DONE, tool=tool, tries=tries, result=result, error=error_before
                )
                return
        assert failed is not None  # noqa: S101  (there is at least one try, and none has succeeded)
        if not step.can_be_skipped:
            raise failed
        self.done[step.id] = StepDone(became=Became.SKIPPED, tool=tool, tries=tries, error=deepest(failed))

    async def _try(self, step: Step, tool: AnyTool, arguments: Arguments) -> JsonValue:
        request = self._request(step, tool, arguments)
        if step.timeout is not None:
            tool = tool.model_copy(update={"timeout": timedelta(seconds=step.timeout)})
        try:
            result: BaseModel = await self._saga.step(tool, request, name=step.id)
        except ActivityError as error:
            if is_cancelled_exception(error):
                raise
            words = f"{step.id} failed: {deepest(error)} (it only reads)"
            raise StepFailed(words, step=step.id, absent=True) from error
        plain: JsonValue = result.model_dump(mode="json")
        return plain

    def _request(self, step: Step, tool: AnyTool, arguments: Arguments) -> BaseModel:
        """The request with the results that it refers to; one that the tool does not take is a step not begun."""
        try:
            plain = resolve(arguments, self._results)
            request: BaseModel = tool.request_type.model_validate_json(to_json(plain))
        except (Unresolvable, ValidationError) as error:
            words = f"{step.id} was not begun, since {tool.name} does not take its arguments: {error}"
            raise StepFailed(words, step=step.id, absent=True) from None
        return request


class _Waiting:
    """The steps of a stage that have not begun, in the plan's order, and what each of them still waits for."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = {step.id: step for step in steps}
        self._for = {step.id: {each for each in needed(step) if each in self._steps} for step in steps}
        self._behind: dict[str, list[str]] = {each: [] for each in self._steps}
        for each, needs in self._for.items():
            for need in sorted(needs):
                self._behind[need].append(each)
        self.ready = deque(step for step in self._steps.values() if not self._for[step.id])

    def over(self, ended: str) -> None:
        """Let those begin that have waited for this one last."""
        for each in self._behind[ended]:
            self._for[each].discard(ended)
            if not self._for[each]:
                self.ready.append(self._steps[each])


def _looked_at(task: asyncio.Task[None]) -> None:
    """Take note of a failure that nobody waits for any more: the first one has ended the plan."""
    if not task.cancelled():
        task.exception()
