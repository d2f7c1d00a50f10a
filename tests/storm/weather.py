"""What goes wrong in the storm: a seeded share of the providers' calls, and workers that are killed."""

import asyncio
import itertools
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from embedded.sandbox.faults import Fault
from tests.activities.sandbox_world import Sandbox
from tests.application import ROOT
from tests.faults.process import Process

SHARE = 0.3
"""Of the providers' calls; a mail is one call that is hit at one of three commands."""

SEED = 20261130
PLACES = (0, 1)
"""Of the two workers; they are killed in turn."""

KILL_SECONDS = 4.0
"""From the restart of one worker to the death of the other."""

HTTP: list[Fault] = [fault for fault in Fault if fault is not Fault.STALE]
MAIL_EARLY: list[Fault] = [Fault.REFUSE, Fault.UNAVAILABLE, Fault.THROTTLED, Fault.DROP_BEFORE, Fault.HANG]
MAIL_END: list[Fault] = [
    Fault.UNAVAILABLE,
    Fault.DROP_BEFORE,
    Fault.ERROR_AFTER,
    Fault.DROP_AFTER,
    Fault.HANG_AFTER,
]
_MAIL_SHARE = 1 - (1 - SHARE) ** (1 / 3)
PLANS: dict[str, tuple[float, list[Fault]]] = {
    "crm": (SHARE, HTTP),
    "stripe": (SHARE, HTTP),
    "mail.from": (_MAIL_SHARE, MAIL_EARLY),
    "mail.rcpt": (_MAIL_SHARE, MAIL_EARLY),
    "mail.end": (_MAIL_SHARE, MAIL_END),
}


async def break_out(sandbox: Sandbox) -> None:
    """From now on the providers misbehave, until `behave`."""
    for operation, (share, among) in PLANS.items():
        faults = [fault.value for fault in among]
        await sandbox.misbehave(
            operation, faults[0], among=faults, chance=share, seed=SEED, calls=None, seconds=1
        )


@dataclass
class Workers:
    """Two worker processes on one queue, one of which is killed and replaced every few seconds."""

    environment: dict[str, str]
    queue: str
    folder: Path
    killed: int = 0
    _processes: list[Process] = field(default_factory=list[Process])
    _rooms: AsyncExitStack = field(default_factory=AsyncExitStack)
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    async def start(self) -> Process:
        """A worker that polls."""
        log = self.folder / f"worker-{next(self._numbers)}.log"
        command: list[str | Path] = [ROOT / "worker.py", "--task-queue", self.queue]
        process = await self._rooms.enter_async_context(Process(command, self.environment, log, cwd=ROOT))
        await process.line(r"Worker: .* polls", within=120)
        return process

    async def kill_for_ever(self) -> None:
        """Kill them in turn, until it is cancelled."""
        for turn in itertools.cycle(PLACES):
            await asyncio.sleep(KILL_SECONDS)
            await self._processes[turn].kill()
            self.killed += 1
            self._processes[turn] = await self.start()

    @asynccontextmanager
    async def at_work(self) -> AsyncGenerator[None]:
        """Both are at work; all are gone after the block."""
        async with self._rooms:
            self._processes = list(await asyncio.gather(*(self.start() for _ in PLACES)))
            yield
