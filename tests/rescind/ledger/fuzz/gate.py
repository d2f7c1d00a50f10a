"""One point of no return of the fuzzer: runs that ask and begin, people who say anything, and a cancellation."""

import asyncio
import random
import time
from dataclasses import dataclass, field
from itertools import count

from rescind._states import Outcome, Repeat
from rescind.ledger import (
    EffectAddress,
    EffectFenced,
    GateAnswer,
    GateState,
    Go,
    IllegalTransition,
    Ledger,
    TakenOver,
)
from tests.rescind.ledger.fuzz.world import Kind, World

TTL = 0.2  # an attempt may act and land within this time, seconds
LASTS = (0.03, 0.1, 5.0, 5.0)  # people may take so long, and then their approval lasts as long again, seconds
PEOPLE = ("anna", "ben", " ANNA ", "carl")
DIGESTS = ("seen", "changed")
RUNS = ("run-1", "run-2", "run-3")
ENDS = ("ok", "nothing", "refused", "killed_before", "killed_after", "reply_lost")
ANSWERED = (GateState.GRANTED, GateState.USED)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and when its answer was there."""

    digest: str
    answered: float


@dataclass(frozen=True, slots=True)
class Said:
    """A person's word that was taken; `note` is like no other's."""

    verdict: str
    who: str
    note: str
    digest: str
    sent: float
    answered: float


@dataclass(frozen=True, slots=True)
class Begun:
    """An attempt that was let through."""

    run: str
    digest: str
    number: int
    sent: float


@dataclass(slots=True)
class FuzzedGate:
    """One point of no return, run once by `run`; afterwards what was let through and what was said are compared."""

    ledger: Ledger
    rng: random.Random
    id: str
    asked: list[Asked] = field(default_factory=list[Asked])
    said: list[Said] = field(default_factory=list[Said])
    begun: list[Begun] = field(default_factory=list[Begun])
    dead: set[str] = field(default_factory=set[str])
    cancelled: float | None = None
    people: int = field(init=False)
    lasts: float = field(init=False)
    world: World = field(init=False)
    at: EffectAddress = field(init=False)
    words: "count[int]" = field(default_factory=count)

    def __post_init__(self) -> None:
        self.people, self.lasts = self.rng.choice((1, 1, 2)), self.rng.choice(LASTS)
        self.world = World(Kind.MAKE, self.rng.choice(tuple(Repeat)), "old", "old")
        self.at = EffectAddress(self.id, 0, f"{self.id}/0", (0,))

    async def run(self) -> None:
        """Everything that happens at it, all at once."""
        runs = RUNS[: self.rng.choice((1, 1, 2, 3))]
        talk = [self._talks(who) for who in PEOPLE if self.rng.random() < 0.8]
        cancel = [self._cancels()] if self.rng.random() < 0.2 else []
        await asyncio.gather(*(self._works(run, number) for number, run in enumerate(runs)), *talk, *cancel)

    async def _pause(self, longest: float = 0.05) -> None:
        await asyncio.sleep(self.rng.random() * longest)

    async def _works(self, run: str, number: int) -> None:
        """A run of the workflow; the later ones are resets, and the earlier ones do not always know of them."""
        await asyncio.sleep(0.08 * number)
        digest = self.rng.choices(DIGESTS, (9, 1))[0]
        answer = await self.ledger.ask(
            self.at, run=run, digest=digest, people=self.people, seconds=self.lasts, shown={}
        )
        self.asked.append(Asked(digest, time.monotonic()))
        for _ in range(12):
            if not isinstance(answer, GateAnswer) or self._is_dead(answer):
                break
            impatient = self.rng.random() < 0.1  # it does not wait for the answer
            if (impatient or answer.state in ANSWERED) and await self._attempt(run, digest):
                break
            await self._pause()
            answer = await self.ledger.look_at_gate(self.at)
        if self.rng.random() < 0.3:  # somebody who does not know that it is over
            await self._attempt(run, digest)

    def _is_dead(self, answer: GateAnswer) -> bool:
        """Whether a question was rejected or has expired; its words open nothing any more."""
        if answer.state not in (GateState.REJECTED, GateState.EXPIRED):
            return False
        self.dead |= {str(each.note) for each in answer.given}
        return True

    async def _talks(self, who: str) -> None:
        for _ in range(self.rng.randint(1, 4)):
            await self._pause(0.1)
            word = f"{who}-{next(self.words)}"
            verdict = "reject" if self.rng.random() < 0.06 else "approve"
            digest = self.rng.choices(DIGESTS, (9, 1))[0]
            await self._says(verdict, who, word, digest)
            while self.rng.random() < 0.4:  # the answer was lost, and it is said again
                await self._pause(0.15)
                await self._says(verdict, who, word, digest)

    async def _says(self, verdict: str, who: str, word: str, digest: str) -> None:
        sent = time.monotonic()
        answer = await self.ledger.decide(
            self.at, digest=digest, verdict=verdict, who=who, note=word, word=word
        )
        if not isinstance(answer, GateAnswer) or word in {each.note for each in self.said}:
            return
        self.said.append(Said(verdict, who, word, digest, sent, time.monotonic()))
        self._is_dead(answer)

    async def _cancels(self) -> None:
        await self._pause(0.3)
        await self.ledger.unwind(self.id, 0)
        self.cancelled = time.monotonic()

    async def _attempt(self, run: str, digest: str) -> bool:
        """One attempt of a worker; True when no other is needed."""
        sent = time.monotonic()
        answer = await self.ledger.begin(
            self.at,
            tool="fuzz.tell",
            version=1,
            repeat=self.world.repeat,
            digest=digest,
            request={},
            ttl=TTL,
            owner=run,
            approval={"digest": digest},
        )
        if not isinstance(answer, Go):
            return False
        self.begun.append(Begun(run, digest, answer.attempt, sent))
        end = self.rng.choices(ENDS, (4, 1, 1, 1, 1, 1))[0]
        await self._pause()
        if end == "killed_before":
            return False
        try:
            await self.ledger.remember(self.at, answer.attempt, None)  # as the last look before the call does
        except (EffectFenced, TakenOver, IllegalTransition):
            return False
        if end in ("nothing", "refused") or time.monotonic() - sent > TTL / 2:
            outcome = Outcome.REFUSED if end == "refused" else Outcome.NOTHING
            await self.ledger.finish(self.at, answer.attempt, outcome)
            return end == "refused"
        found = answer.ask and self.world.stands()
        if not found:
            self.world.act()
        if end == "killed_after":
            return False
        if end == "reply_lost":
            await self.ledger.finish(self.at, answer.attempt, Outcome.UNKNOWN)
            return False
        await self.ledger.finish(self.at, answer.attempt, Outcome.APPLIED, result={}, found=found)
        return True
