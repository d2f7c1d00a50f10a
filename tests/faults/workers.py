"""Two workers in processes of their own that are killed in turn."""

import asyncio
import itertools
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.application import ROOT
from tests.faults.process import Process

PLACES = (0, 1)
"""Of the two workers; they are killed in turn."""

KILL_SECONDS = 4.0
"""The pause where nothing else is said."""


@dataclass
class Workers:
    """Two worker processes, one of which is killed and replaced every few seconds.

    Attributes:
        command: What starts one; it says that it polls.
        environment: Their whole environment.
        folder: Where their logs are.
        pause: Seconds from the restart of one worker to the death of the other.
    """

    command: Sequence[str | Path]
    environment: dict[str, str]
    folder: Path
    pause: Callable[[], float] = lambda: KILL_SECONDS
    killed: int = 0
    _processes: list[Process] = field(default_factory=list[Process])
    _rooms: AsyncExitStack = field(default_factory=AsyncExitStack)
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    async def start(self) -> Process:
        """A worker that polls."""
        log = self.folder / f"worker-{next(self._numbers)}.log"
        process = await self._rooms.enter_async_context(
            Process(self.command, self.environment, log, cwd=ROOT)
        )
        await process.line(r"Worker: .* polls", within=120)
        return process

    async def kill_for_ever(self) -> None:
        """Kill them in turn, until it is cancelled; they can't be used any more then."""
        while True:
            await self.kill_next()

    async def kill_next(self) -> None:
        """After a pause kill the one whose turn it is; returns when another one polls in its place."""
        await asyncio.sleep(self.pause())
        turn = self.killed % len(PLACES)
        await self._processes[turn].kill()
        self.killed += 1
        self._processes[turn] = await self.start()

    @asynccontextmanager
    async def at_work(self) -> AsyncGenerator[None]:
        """Both are at work; all are gone after the block."""
        async with self._rooms:
            self._processes = list(await asyncio.gather(*(self.start() for _ in PLACES)))
            yield
