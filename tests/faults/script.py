"""The part that every faulty provider shares: its plans, its gate and its log."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence

from tests.faults import Fault, Seen

_PATIENCE = 10.0  # seconds that `clear` waits for the end of calls; a provider on loopback needs far less


class Script:
    """The plans, the gate and the log of one provider; a FaultyProvider as soon as something calls it."""

    def __init__(self, operations: Iterable[str], *, late: float = 0.0) -> None:
        self.late = late
        self._plans: dict[str, deque[Fault | None]] = {operation: deque() for operation in operations}
        self._log: list[Seen] = []
        self._gate = asyncio.Event()
        self._standing = 0
        self._clearing = False
        self._changed = asyncio.Condition()

    async def plan(self, operation: str, faults: Sequence[Fault | None]) -> None:
        """See FaultyProvider."""
        if operation not in self._plans:
            raise ValueError(f"no operation {operation!r} here; there are: {', '.join(sorted(self._plans))}")
        self._plans[operation] = deque(faults)

    async def held(self, within: float = 30.0) -> None:
        """See FaultyProvider."""
        try:
            async with asyncio.timeout(within), self._changed:
                await self._changed.wait_for(lambda: self._standing > 0)
        except TimeoutError:
            raise TimeoutError(f"no call came to the gate within {within:g} s; seen: {self._log}") from None

    async def release(self) -> None:
        """See FaultyProvider."""
        self._gate.set()
        self._gate = asyncio.Event()
        await asyncio.sleep(0)

    def calls(self) -> list[Seen]:
        """See FaultyProvider."""
        return list(self._log)

    async def clear(self) -> None:
        """See FaultyProvider."""
        for faults in self._plans.values():
            faults.clear()
        self._clearing = True
        try:
            await self.release()
            async with asyncio.timeout(_PATIENCE), self._changed:
                await self._changed.wait_for(self._is_quiet)
        except TimeoutError:
            raise TimeoutError(f"calls are still under way after {_PATIENCE:g} s: {self._log}") from None
        finally:
            self._clearing = False
        self._log.clear()

    async def arrive(self, operation: str, call: str) -> Seen:
        """A matching call is logged and meets the next fault of its plan; `leave` must follow."""
        faults = self._plans[operation]
        seen = Seen(operation, call, faults.popleft() if faults else None)
        self._log.append(seen)
        return seen

    async def leave(self, seen: Seen) -> None:
        """A call that arrived is over."""
        seen.under_way = False
        async with self._changed:
            self._changed.notify_all()

    async def stand(self, gone: Callable[[], Awaitable[object]]) -> bool:
        """Stands at the gate until it is opened (true) or until `gone` returns (false)."""
        if self._clearing:
            return True
        gate = self._gate
        self._standing += 1
        async with self._changed:
            self._changed.notify_all()
        try:
            return await first(gate.wait(), gone())
        finally:
            self._standing -= 1

    async def may_act(self, fault: Fault | None, gone: Callable[[], Awaitable[object]]) -> bool:
        """Does what comes before the effect; false if the call must not act any more."""
        if fault is Fault.HOLD:
            return await self.stand(gone)
        if fault is Fault.HANG_BEFORE and not await self.stand(gone):
            await self.stand(lambda: asyncio.sleep(self.late))
        return fault not in {Fault.REFUSE, Fault.UNAVAILABLE}

    def _is_quiet(self) -> bool:
        return not any(seen.under_way for seen in self._log)


async def first(one: Awaitable[object], other: Awaitable[object]) -> bool:
    """True if the first of the two ends no later than the second; the one that is left is cancelled."""
    tasks = [asyncio.ensure_future(one), asyncio.ensure_future(other)]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return tasks[0].done()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
