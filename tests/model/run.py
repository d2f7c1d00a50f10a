"""Runs scenarios at once on a real server, until nothing of any of them needs anybody; then looks what is wrong."""

import asyncio
import time
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
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
from tests.model.programs import RunProgram
from tests.model.strategies import Scenario
from tests.model.world import ModelWorld
from tests.rescind.sagas import Handle, Sagas
from tests.rescind.toy_world import WORLDS

PATIENCE = 120.0
"""Seconds after which a saga counts as hanging."""

ENDS: dict[str, set[SagaState | None]] = {
    "COMPLETED": {SagaState.COMMITTED},
    "SagaUndone": {SagaState.CLOSED, None},
    "UndoIncomplete": {SagaState.CLOSED},
    "CANCELED": {SagaState.CLOSED, None},
    "TERMINATED": {SagaState.CLOSED, None},
}
"""How a workflow closed, and what its saga may be in the ledger when all is done; None: it never came to a step."""

CLEAN = ("SagaUndone", "CANCELED")


@dataclass
class Counts:
    """What a run came to, in numbers."""

    sagas: int = 0
    steps: int = 0
    calls: int = 0
    words: Counter[str] = field(default_factory=Counter[str])
    ends: Counter[str] = field(default_factory=Counter[str])

    def add(self, end: str, steps: int, calls: int) -> None:
        """Count one more."""
        self.sagas += 1
        self.steps += steps
        self.calls += calls
        self.ends[end] += 1

    def __str__(self) -> str:
        """One line."""
        ends = ", ".join(f"{number} {end}" for end, number in sorted(self.ends.items()))
        words = ", ".join(f"{number} {verb}" for verb, number in sorted(self.words.items()))
        told = f"people said {words or 'nothing'}"
        return f"{self.sagas} sagas of {self.steps} steps, {self.calls} calls: {ends}; {told}"


@dataclass(eq=False)
class Run:
    """One saga of a batch."""

    sagas: Sagas
    scenario: Scenario
    counts: Counts
    world: ModelWorld = field(default_factory=ModelWorld)
    end: str = ""
    asked: int = 0

    async def start(self) -> None:
        """Start it, with its trouble laid out."""
        self.world.name = f"model-{uuid.uuid4()}"
        WORLDS[self.world.name] = self.world
        for step in self.scenario.program.steps():
            self.world.prepare(step)
        program = self.scenario.program.model_copy(update={"world": self.world.name})
        self.handle = await self.sagas.start(RunProgram.run, program, id=self.world.name)
        loop = asyncio.get_running_loop()  # a tool may be at work in a thread
        self.world.at = self.scenario.at
        self.world.trouble = lambda: loop.call_soon_threadsafe(self._trouble)

    def _trouble(self) -> None:
        match self.scenario.trouble:
            case "cancel":
                self._troubling = asyncio.ensure_future(_harmless(self.handle.cancel()))
            case "terminate":
                self._troubling = asyncio.ensure_future(_harmless(self.handle.terminate()))
            case _:
                pass

    async def close(self) -> None:
        """Wait for the workflow to close."""
        try:
            async with asyncio.timeout(PATIENCE):
                await self.handle.result()
            self.end = "COMPLETED"
        except TimeoutError:
            self.end = "hanging"
        except WorkflowFailureError as failure:
            match failure.cause:
                case ApplicationError(type=kind):
                    self.end = str(kind)
                case CancelledError():
                    self.end = "CANCELED"
                case _:
                    self.end = "TERMINATED"

    async def view(self) -> SagaView | None:
        """What is on record."""
        return await self.sagas.ledger.show(await self.sagas.saga_id(self.handle))

    async def is_done(self) -> bool:
        """Whether nothing of it needs anybody; a person says one word to each open step where something does."""
        view = await self.view()
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

    async def problems(self) -> list[str]:
        """Everything that is wrong with it."""
        view = await self.view()
        state = view.state if view else None
        rows = list(view.effects) if view else []
        found = list(
            self.world.wrong(
                list(self.scenario.program.steps()), rows, committed=state is SagaState.COMMITTED
            )
        )
        if state not in ENDS.get(self.end, set()):
            found.append(f"it ended as {self.end}, and the ledger says {state}")
        if await self.sagas.status(self.handle) is WorkflowExecutionStatus.RUNNING:
            found.append("its workflow hangs")
        if self.end in CLEAN and any(self.world.ours(step.name) for step in self.scenario.program.steps()):
            found.append(f"it ended as {self.end}, and something of it stands")
        verified = await self.sagas.ledger.verify(await self.sagas.saga_id(self.handle))
        return found + [each.what for each in verified.differences]


async def run_batch(
    sagas: Sagas,
    scenarios: Sequence[Scenario],
    look: Callable[[], Awaitable[object]],
    counts: Counts,
    *,
    meanwhile: Awaitable[None] | None = None,
) -> list[list[str]]:
    """Run these at once, do something to all of them meanwhile, and answer with what is wrong with each."""
    runs = [Run(sagas, scenario, counts) for scenario in scenarios]
    await asyncio.gather(*(run.start() for run in runs))
    if meanwhile is not None:
        await meanwhile
    await asyncio.gather(*(run.close() for run in runs))
    hanging = await _finished(runs, look)
    problems = await asyncio.gather(*(run.problems() for run in runs))
    for run, found in zip(runs, problems, strict=True):
        if run in hanging:
            found.append("nobody brings it to an end")
        counts.add(run.end, len(list(run.scenario.program.steps())), len(run.world.log))
        del WORLDS[run.world.name]
    return problems


async def _finished(runs: Sequence[Run], look: Callable[[], Awaitable[object]]) -> list[Run]:
    """Let the sweeper look and people speak until nothing is open; those that are then."""
    ends = time.monotonic() + PATIENCE
    rest = list(runs)
    while time.monotonic() < ends:
        await look()
        done = await asyncio.gather(*(run.is_done() for run in rest))
        rest = [run for run, is_done in zip(rest, done, strict=True) if not is_done]
        if not rest:
            break
        await asyncio.sleep(0.5)
    return rest


async def _harmless(work: Awaitable[None]) -> None:
    """What is said to a workflow that has closed meanwhile is said in vain."""
    with suppress(RPCError):
        await work
