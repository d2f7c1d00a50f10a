"""One saga of the fuzzer: what goes forward, and everybody who undoes it."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass

from rescind._states import RecordState, SagaState, UndoOutcome, Verdict
from rescind.ledger import (
    Busy,
    Claimed,
    EffectAddress,
    Extent,
    IllegalTransition,
    Refused,
    TakenOver,
    UndoGo,
    Wait,
    seal_digest,
)
from tests.rescind.ledger.fuzz.forward import LATE, TTL, Forward, Step, swallow
from tests.rescind.ledger.fuzz.world import Kind


@dataclass(slots=True)
class FuzzedSaga(Forward):
    """One saga, run once by `run`; afterwards its worlds and the ledger are to be compared."""

    async def run(self) -> None:
        """Everything that happens to the saga, until nothing is in flight and nobody has anything left to do."""
        self.plan()
        try:
            await self.go_forward()
            await self._end()
        except TakenOver:
            pass
        await asyncio.gather(*self.background)
        await asyncio.sleep(LATE)
        await self._sweep()

    async def unwind(self, epoch: int) -> None:
        """Undo all that stands, as the workflow, the sweeper and the undo command do."""
        standing = {each.key for each in await self.ledger.unwind(self.id, epoch)}
        for step in sorted(self.steps, key=lambda each: each.seq, reverse=True):
            if step.key in standing or self.rng.random() < 0.5:
                await self._undo(step, epoch, whole=True)
        await self.ledger.report(self.id, epoch, {"undone": True})

    async def _undo(self, step: Step, epoch: int, *, whole: bool) -> None:
        await self.settled(step, epoch)
        at = self.at(step, epoch)
        for _ in range(12):
            answer = await self.ledger.undo_begin(at, ttl=TTL, whole=whole)
            if isinstance(answer, Busy):
                await asyncio.sleep(answer.wait)
            elif isinstance(answer, UndoGo):
                await self._undo_try(step, at, answer)
            else:
                return
        await self.ledger.give_up(at, "tries used up")

    async def _undo_try(self, step: Step, at: EffectAddress, go: UndoGo) -> None:
        fate = self.rng.random()
        if fate < 0.1:
            return  # killed before the undo
        if fate < 0.2:
            await self.ledger.undo_finish(at, go.attempt, UndoOutcome.FAILED, error="provider down")
            return
        if fate < 0.25:
            await self.ledger.undo_finish(at, go.attempt, UndoOutcome.CONFLICT, error="changed by others")
            return
        step.world.undo(go.before)
        while go.unproven and step.world.kind is Kind.MAKE and step.world.stands():
            step.world.undo(go.before)
        if fate < 0.35:
            return  # killed after it
        await self.ledger.undo_finish(at, go.attempt, UndoOutcome.UNDONE, {"grade": "exact", "detail": None})

    # The end of the block, and those who come after it

    async def _end(self) -> None:
        match self.rng.choice(["commit", "commit", "savepoint", "fail", "sweep", "race", "seal race"]):
            case "commit":
                await self._commit()
            case "savepoint":
                await self._undo(self.steps[-1], 0, whole=False)
                self.applied = [key for key in self.applied if key != self.steps[-1].key]
                await self._commit()
            case "fail":
                await self.unwind(0)
                self.steps.append(self.new_step(len(self.steps)))  # a branch that goes on after the failure
                await self._tries(self.steps[-1])
            case "sweep":
                await self._claim_and_unwind(0)
            case "race":
                self._beside(self.unwind(0))
                await asyncio.sleep(self.rng.random() * TTL)
                await self._claim_and_unwind(0)
            case _:
                self._beside(self._commit())
                await asyncio.sleep(self.rng.random() * 0.03)
                with suppress(IllegalTransition):  # it is committed by now, so it is not ours to undo
                    await self.unwind(0)

    def _beside(self, work: Coroutine[None, None, None]) -> None:
        self.background.append(asyncio.ensure_future(swallow(work)))

    async def _commit(self) -> None:
        sealed = await self.ledger.seal(self.id, 0, seal_digest(self.applied))
        if isinstance(sealed, Refused):
            await self.unwind(0)
        elif self.rng.random() < 0.5:
            await self.ledger.promote(self.id)
            if self.rng.random() < 0.4:
                await self._claim_and_unwind(0, committed=True)

    async def _claim_and_unwind(self, epoch: int, *, committed: bool = False) -> None:
        extent = Extent.WHOLE if committed else Extent.UNFINISHED
        claimed = await self.ledger.claim(self.id, epoch, "sweeper", extent)
        if isinstance(claimed, Claimed):
            await self.unwind(claimed.epoch)

    async def _sweep(self) -> None:
        for _ in range(10):
            for step in self.steps:
                await self._ask_person(step)
            view = await self.ledger.show(self.id)  # what a person said may have reopened the saga
            if view is None or not await self._swept(view.state, view.epoch):
                return

    async def _swept(self, state: SagaState, epoch: int) -> bool:
        if state is SagaState.OPEN:
            await self._claim_and_unwind(epoch)
            return True
        if state is SagaState.UNWINDING:
            await self.unwind(epoch)
            return True
        return False

    async def _ask_person(self, step: Step) -> None:
        view = await self.ledger.show(self.id)
        row = next((each for each in view.effects if each.key == step.key), None) if view else None
        if view is None or row is None or row.state not in {RecordState.STUCK, RecordState.IN_DOUBT}:
            return
        if row.state is RecordState.STUCK:
            verdict = self.rng.choice([Verdict.RETRY, Verdict.DONE])
        elif self.rng.random() < 0.3:
            verdict = Verdict.DONE
        else:
            verdict = Verdict.CONFIRM if step.world.stands() else Verdict.ABSENT
        if verdict is Verdict.DONE:
            step.world.mend_by_hand()
        answer = await self.ledger.resolve(self.at(step, view.epoch), verdict, who="anna", result={})
        if isinstance(answer, Wait):
            await asyncio.sleep(answer.wait)
            await self._ask_person(step)
