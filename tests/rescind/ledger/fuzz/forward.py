"""The forward half of a fuzzed saga: attempts that die, stall and report late."""

import asyncio
import random
import time
from collections.abc import Awaitable
from dataclasses import dataclass, field

from rescind._states import Outcome, RecordState, Repeat
from rescind.ledger import (
    Busy,
    EffectAddress,
    EffectFenced,
    Go,
    IllegalTransition,
    Ledger,
    Refused,
    Replay,
    TakenOver,
    Wait,
)
from tests.rescind.ledger.fuzz.world import WANTED, Kind, World

TTL = 0.3  # an attempt may act and land within this time, seconds
LATE = 0.06  # of which the provider may take this much after the call was sent
ENDS = ("ok", "refused", "late", "dropped_before", "killed_before", "killed_after", "dropped_after")


@dataclass(slots=True)
class Step:
    """One effect with the world it acts on."""

    key: str
    seq: tuple[int, ...]
    world: World


@dataclass(slots=True)
class Forward:
    """The forward half of a saga: its steps, and how each is tried and settled."""

    ledger: Ledger
    rng: random.Random
    id: str
    deadlines_kept: bool
    steps: list[Step] = field(default_factory=list[Step])
    applied: list[str] = field(default_factory=list[str])
    background: list[asyncio.Task[None]] = field(default_factory=list[asyncio.Task[None]])

    def at(self, step: Step, epoch: int = 0) -> EffectAddress:
        """The address of one step's effect."""
        return EffectAddress(self.id, epoch, step.key, step.seq)

    def plan(self) -> None:
        """Decide which steps there are."""
        self.steps = [self.new_step(number) for number in range(self.rng.randint(1, 3))]

    def new_step(self, number: int) -> Step:
        """A step with a world of its own."""
        seq = (number, self.rng.randint(0, 2)) if self.rng.random() < 0.3 else (number,)
        kind = self.rng.choice(tuple(Kind))
        original = WANTED if kind is Kind.SET and self.rng.random() < 0.25 else "old"
        world = World(
            kind,
            self.rng.choice(tuple(Repeat)),
            value=original,
            original=original,
            forgets_key_with_undo=self.rng.random() < 0.5,
        )
        return Step(f"{self.id}/{number}", seq, world)

    # Forward

    async def go_forward(self) -> None:
        """Try every step, and settle each that did not report."""
        for step in self.steps:
            if await self._tries(step) or await self.settled(step, 0) is RecordState.APPLIED:
                self.applied.append(step.key)
            elif self.rng.random() < 0.7:
                return

    async def _tries(self, step: Step) -> bool:
        for _ in range(3):
            end = self.rng.choices(ENDS, [5, 1, 1, 1, 1, 1, 1])[0]
            attempt = asyncio.ensure_future(self._attempt(step, end))
            # A heartbeat or start-to-close that is over starts the next attempt beside this one.
            patience = self.rng.choice([TTL / 8, TTL / 2, 10 * TTL, 10 * TTL])
            done, _ = await asyncio.wait([attempt], timeout=patience)
            if not done:
                self.background.append(asyncio.ensure_future(swallow(attempt)))
                continue
            answer = attempt.result()
            if answer in {"applied", "refused", "taken"}:
                return answer == "applied"
        return False

    async def _attempt(self, step: Step, end: str) -> str:
        started = time.monotonic()
        at = self.at(step)
        answer = await self._begin(at, step)
        if isinstance(answer, Replay):
            return "applied"
        if isinstance(answer, Busy):
            await asyncio.sleep(min(answer.wait, TTL))
            return "busy"
        if isinstance(answer, Refused):
            return "refused"
        if answer.ask and step.world.stands():
            await self.ledger.finish(at, answer.attempt, Outcome.APPLIED, result={}, found=True)
            return "applied"
        if end == "killed_before":
            return "killed"
        try:
            await self.ledger.remember(at, answer.attempt, step.world.value)
        except (EffectFenced, TakenOver):
            await self.ledger.finish(at, answer.attempt, Outcome.NOTHING)
            return "taken"
        if self.rng.random() < 0.3:
            await asyncio.sleep(self.rng.random() * TTL)
        if not self.deadlines_kept and end in {"ok", "dropped_after"} and self.rng.random() < 0.3:
            await asyncio.sleep(self.rng.random() * 4 * TTL)  # stopped between the last look and the call
        elif time.monotonic() - started > TTL - LATE:
            await self.ledger.finish(at, answer.attempt, Outcome.NOTHING)
            return "too late"
        return await self._call(step, answer.attempt, end)

    async def _begin(self, at: EffectAddress, step: Step) -> Go | Replay | Busy | Refused:
        try:
            return await self.ledger.begin(
                at,
                tool="fuzz.act",
                version=1,
                repeat=step.world.repeat,
                digest=step.key,
                request={"n": 1},
                ttl=TTL,
                owner="run",
            )
        except TakenOver:
            return Busy(0)

    async def _call(self, step: Step, attempt: int, end: str) -> str:
        at = self.at(step)
        if end == "refused":
            await self.ledger.finish(at, attempt, Outcome.REFUSED, error="refused")
            return "refused"
        if end == "late":
            self.background.append(asyncio.ensure_future(self._land_late(step)))
        changed = step.world.act() if end in {"ok", "killed_after", "dropped_after"} else True
        if end == "killed_after":
            return "killed"
        if end != "ok":
            await self.ledger.finish(at, attempt, Outcome.UNKNOWN, late=LATE)
            return "unknown"
        if self.rng.random() < 0.3:
            await asyncio.sleep(self.rng.random() * TTL)  # the report is slow
        await self.ledger.finish(at, attempt, Outcome.APPLIED, result={"r": 1}, changed=changed)
        if self.rng.random() < 0.1:
            await self.ledger.finish(at, attempt, Outcome.APPLIED, result={"r": 1}, changed=changed)
        return "applied"

    async def _land_late(self, step: Step) -> None:
        sent = time.monotonic()
        await asyncio.sleep(self.rng.random() * LATE)
        if time.monotonic() - sent < LATE:  # the provider keeps its word, also where this machine is slow
            step.world.act()

    async def settled(self, step: Step, epoch: int) -> RecordState:
        """Fence one effect and settle it, by a lookup where its tool has one."""
        at = self.at(step, epoch)
        fenced = await self.ledger.fence(at)
        if fenced.state not in {RecordState.INTENDED, RecordState.IN_DOUBT}:
            return fenced.state
        if self.rng.random() < 0.5:  # else too early, and told so
            await asyncio.sleep(fenced.wait)
        while True:
            verdict = RecordState.ABSENT
            if step.world.repeat is Repeat.NEVER:
                verdict = RecordState.IN_DOUBT
            elif step.world.stands():
                verdict = RecordState.APPLIED
            state = await self.ledger.settle(at, verdict, {} if verdict is RecordState.APPLIED else None)
            if not isinstance(state, Wait):
                return state
            await asyncio.sleep(state.wait)


async def swallow(work: Awaitable[object]) -> None:
    """Wait for work in the background."""
    # What somebody who has lost the saga gets is no finding; anything else is.
    try:
        await work
    except (TakenOver, IllegalTransition):
        return
