"""Runs one scenario on a real server until nothing of it needs anybody, and looks what is wrong with it then."""

import asyncio
import time
import uuid
from collections import Counter
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError, CancelledError
from temporalio.service import RPCError

from rescind import RecordState, SagaState
from rescind.ledger import SagaView
from rescind.reconciliation import reconciliation_id
from rescind.reconciliation._case import Case, OpenStep, Verb
from tests.model.history import histories
from tests.model.programs import RunProgram
from tests.model.strategies import Scenario
from tests.model.world import ModelWorld
from tests.rescind.sagas import Handle, Sagas, event_name
from tests.rescind.toy_world import WORLDS

PATIENCE = 120.0
"""Seconds without a further event after which a saga counts as hanging."""

TAKEN_OVER = "SagaTakenOver"

ENDS: dict[str, set[SagaState | None]] = {
    "COMPLETED": {SagaState.COMMITTED},
    "SagaUndone": {SagaState.CLOSED, None},
    "UndoIncomplete": {SagaState.CLOSED},
    "CANCELED": {SagaState.CLOSED, None},
    "TERMINATED": {SagaState.CLOSED, None},
    TAKEN_OVER: {SagaState.CLOSED, SagaState.COMMITTED},
}
"""How its last run closed, and what a saga may be in the ledger when all is done; None: it never came to a step.

Only a run that was reset may find its saga taken over: undone, or committed by what it did before.
"""

CLEAN = ("SagaUndone", "CANCELED")


@dataclass
class Counts:
    """What a run came to, in numbers."""

    sagas: int = 0
    steps: int = 0
    calls: int = 0
    words: Counter[str] = field(default_factory=Counter[str])
    ends: Counter[str] = field(default_factory=Counter[str])
    resets: Counter[str] = field(default_factory=Counter[str])

    def add(self, end: str, steps: int, calls: int) -> None:
        """Count one more."""
        self.sagas += 1
        self.steps += steps
        self.calls += calls
        self.ends[end] += 1

    def __str__(self) -> str:
        """One line."""
        return (
            f"{self.sagas} sagas of {self.steps} steps, {self.calls} calls: {_listed(self.ends)}; "
            f"people said {_listed(self.words)}; reset were {_listed(self.resets)}"
        )


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{number} {what}" for what, number in sorted(counts.items())) or "nothing"


@dataclass(eq=False)
class Run:
    """One saga, from its start until nothing of it needs anybody; `handle` is of its workflow, `runs` of each run.

    It is `lossy` where the ledger's database is killed meanwhile.
    """

    sagas: Sagas
    scenario: Scenario
    counts: Counts
    lossy: bool = False
    world: ModelWorld = field(default_factory=ModelWorld)
    runs: list[Handle] = field(default_factory=list[Handle])
    end: str = ""
    said: str = ""
    asked: int = 0
    _troubling: "asyncio.Future[None] | None" = None

    async def start(self) -> None:
        """Start it, with its trouble laid out."""
        self.world.name = f"model-{uuid.uuid4()}"
        WORLDS[self.world.name] = self.world
        for step in self.scenario.program.steps():
            self.world.prepare(step)
        program = self.scenario.program.model_copy(update={"world": self.world.name})
        self.handle = await self.sagas.start(RunProgram.run, program, id=self.world.name)
        first = self.handle.first_execution_run_id
        self.runs.append(self.sagas.client.get_workflow_handle(self.handle.id, run_id=first))
        loop = asyncio.get_running_loop()  # a tool may be at work in a thread
        self.world.at = self.scenario.at
        self.world.trouble = lambda: loop.call_soon_threadsafe(self._trouble)

    def _trouble(self) -> None:
        work = {"cancel": self.handle.cancel, "terminate": self.handle.terminate, "reset": self._reset}
        if self.scenario.trouble in work:
            self._troubling = asyncio.ensure_future(_harmless(work[self.scenario.trouble]()))

    async def _reset(self) -> None:
        """Reset its last run to one of the workflow tasks that it has completed."""
        last = self.runs[-1]
        tasks = [
            event.event_id
            async for event in last.fetch_history_events()
            if event_name(event) == "workflow_task_completed"
        ]
        if not tasks:
            return
        with suppress(RPCError):  # it has closed meanwhile, or the server's answer is lost
            await self.sagas.reset_to(last, tasks[self.scenario.back % len(tasks)])
        await self._see_new_run()

    async def _see_new_run(self) -> None:
        """Keep the run that a reset has started, whatever the server has answered."""
        now = (await self.handle.describe()).run_id
        if now != self.runs[-1].run_id:
            self.runs.append(self.sagas.client.get_workflow_handle(self.handle.id, run_id=now))
            self.counts.resets[self.end or "running"] += 1

    async def finish(self) -> list[str]:
        """Wait until nothing of it needs anybody; everything that is wrong with it then."""
        await self._close()
        hangs = False
        for after in ("closed", "done"):
            if after == "done":
                hangs = not await self._is_done_in_time()
            if self.scenario.again == after:
                await _harmless(self._reset())
                await self._close()
        hangs = hangs or not await self._is_at_rest()
        found = await self._problems() + ["nobody brings it to an end"] * hangs
        self.counts.add(self.end, len(list(self.scenario.program.steps())), len(self.world.log))
        del WORLDS[self.world.name]
        return found

    async def _is_at_rest(self) -> bool:
        """Wait until it is done; what people have had tried again may have been its trouble, and have reset it."""
        while True:
            await self._close()
            last = self.runs[-1]
            if not await self._is_done_in_time():
                return False
            if self._troubling:
                await self._troubling
            if last is self.runs[-1]:
                return True

    async def _close(self) -> None:
        """Wait for its last run to close."""
        closed: Handle | None = None
        while closed is not self.runs[-1]:
            closed = self.runs[-1]
            self.end = await self._ended(closed)
            if self._troubling:
                await self._troubling

    async def _ended(self, run: Handle) -> str:
        seen = 0
        while (end := await self._end_within(run, PATIENCE)) is None:
            length = (await run.describe()).history_length
            if length == seen:
                return f"hanging after {length} events"
            seen = length
        return end

    async def _end_within(self, run: Handle, seconds: float) -> str | None:
        try:
            async with asyncio.timeout(seconds):
                await run.result()
        except TimeoutError:
            return None
        except WorkflowFailureError as failure:
            self.said = str(failure.cause)
            match failure.cause:
                case ApplicationError(type=kind):
                    return str(kind)
                case CancelledError():
                    return "CANCELED"
                case _:
                    return "TERMINATED"
        return "COMPLETED"

    async def _is_done_in_time(self) -> bool:
        lines, ends = 0, time.monotonic() + PATIENCE
        while not await self._is_done():
            if time.monotonic() > ends:
                return False
            await asyncio.sleep(0.5)
            view = await self._view()
            if view and len(view.journal) > lines:
                lines, ends = len(view.journal), time.monotonic() + PATIENCE
        return True

    async def _view(self) -> SagaView | None:
        """What is on record."""
        return await self.sagas.ledger.show(await self.sagas.saga_id(self.handle))

    async def _is_done(self) -> bool:
        """Whether nothing of it needs anybody; a person says one word to each open step where something does."""
        view = await self._view()
        if view is None:
            return True
        if any(row.state in {RecordState.STUCK, RecordState.IN_DOUBT} for row in view.effects):
            await self._ask_person()
            return False
        return view.state in {SagaState.CLOSED, SagaState.COMMITTED}

    async def _ask_person(self) -> None:
        saga = f"{self.handle.id}/{self.handle.first_execution_run_id}"
        desk: Handle = self.sagas.client.get_workflow_handle(reconciliation_id(saga))
        try:
            case: Case | None = await desk.query("rescind_open", result_type=Case)
        except RPCError:
            return  # not there yet, or no more: the sweeper opens it, or the time is up
        for step in case.steps if case else []:
            word = self._word(step)
            with suppress(WorkflowUpdateFailedError, RPCError):
                await desk.execute_update(word["verb"], word["says"])
                self.counts.words[word["verb"]] += 1

    def _word(self, step: OpenStep) -> dict[str, Any]:
        """What a person who looks and tells the truth says of a step, after they have done what they say."""
        name = step.summary.partition("name=")[2].partition(" ")[0]
        stands = self.world.ours(name)
        fits: list[Verb] = [
            verb
            for verb in step.can
            if not (verb is Verb.ABSENT and stands) and not (verb is Verb.CONFIRM and not stands)
        ]
        chosen = self.scenario.words[self.asked % 4] if self.asked < 8 else fits.index(Verb.RESOLVE)
        self.asked += 1
        verb = fits[chosen % len(fits)]
        says: dict[str, Any] = {"step": step.step, "who": "anna"}
        if verb in (Verb.RESOLVE, Verb.WAIVE):
            says["note"] = "seen to"
        if verb is Verb.CONFIRM:
            says["result"] = {"name": name}
        if verb is Verb.RESOLVE and stands:
            del self.world.things[name]
            self.world.by_hand.add(name)
        self.world.plan[f"unmake {name}"] = []
        return {"verb": verb.value, "says": says}

    async def _problems(self) -> list[str]:
        """Everything that is wrong with it."""
        view = await self._view()
        state = view.state if view else None
        rows = list(view.effects) if view else []
        steps = list(self.scenario.program.steps())
        found = list(self.world.wrong(steps, rows, committed=state is SagaState.COMMITTED))
        if state not in ENDS.get(self.end, set()) or (self.end == TAKEN_OVER and len(self.runs) == 1):
            found.append(f"it ended as {self.end}, and the ledger says {state}")
        if self.end == TAKEN_OVER and "start a new workflow" not in self.said:
            found.append(f"its error names no way out: {self.said}")
        last = await self.handle.describe()
        if last.status is WorkflowExecutionStatus.RUNNING:
            known = [run.run_id for run in self.runs]
            found.append(f"run {last.run_id} hangs at {last.history_length} events; known are {known}")
        if self.end in CLEAN and any(self.world.ours(step.name) for step in steps):
            found.append(f"it ended as {self.end}, and something of it stands")
        told = await histories(self.sagas.client, self.runs, "RunProgram")
        found += told.wrong(
            rows,
            committed=self.end == "COMPLETED",
            taken_over=view is not None and view.epoch > 0,
            lossy=self.lossy,
        )
        verified = await self.sagas.ledger.verify(await self.sagas.saga_id(self.handle))
        return found + [each.what for each in verified.differences]


async def _harmless(work: Awaitable[None]) -> None:
    """What is said to a workflow that has closed meanwhile is said in vain."""
    with suppress(RPCError):
        await work
