"""A worker that dies or stands still at a chosen point, on a ledger whose time can be moved on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import timedelta
from enum import Enum, auto
from typing import Any

from pydantic import JsonValue

from rescind._attempt import Attempt
from rescind._bench import Bench
from rescind._catalogue import Catalogue
from rescind._errors import RescindError
from rescind._states import Outcome, RecordState, UndoOutcome
from rescind._tool import SLACK
from rescind.ledger import Busy, EffectAddress, Finished, Go, Ledger, LedgerError, Refused, Replay
from rescind.ledger._errors import LedgerNotInstalled, LedgerUnavailable

_SKIP = (
    "with landed as (update rescind.effect set landing = '-infinity', undo_landing = '-infinity'"
    " where saga = %s returning 1) select jsonb_build_object('effects', count(*)) from landed"
)


class Point(Enum):
    """Where a worker dies, seen from the ledger."""

    BEGUN = auto()
    REMEMBERED = auto()
    ACTED = auto()
    UNDONE = auto()


class Killed(BaseException):
    """The worker is gone: nothing after this point is run, as after SIGKILL."""


class Pause:
    """An attempt that stands still after it has begun; it goes on when `go_on` is set."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.go_on = asyncio.Event()


class NoTestLedger(RescindError):
    """The check has no ledger of its own. Nothing was called."""


class StoppingLedger(Ledger):
    """The real ledger, at whose statements the worker that uses it dies or stands still, once."""

    def __init__(self, dsn: str, *, connections: int) -> None:
        super().__init__(dsn, connections=connections)
        self.kill_at: Point | None = None
        self.pause: Pause | None = None

    async def begin(self, at: EffectAddress, **rest: Any) -> Go | Replay | Busy | Refused:
        """Begin, and die or stand still before anything is called."""
        answer = await super().begin(at, **rest)
        if isinstance(answer, Go):
            self._reach(Point.BEGUN)
            await self._stand_still()
        return answer

    async def remember(self, at: EffectAddress, attempt: int, before: JsonValue) -> JsonValue:
        """Remember, and die before the call."""
        stored = await super().remember(at, attempt, before)
        self._reach(Point.REMEMBERED)
        return stored

    async def finish(self, at: EffectAddress, attempt: int, outcome: Outcome, **rest: Any) -> Finished:
        """Die before the report of an effect, or report."""
        if outcome is Outcome.APPLIED:
            self._reach(Point.ACTED)
        return await super().finish(at, attempt, outcome, **rest)

    async def undo_finish(
        self,
        at: EffectAddress,
        attempt: int,
        outcome: UndoOutcome,
        restoration: JsonValue = None,
        error: str | None = None,
    ) -> RecordState:
        """Die before the report of an undo that succeeded, or report."""
        if outcome is UndoOutcome.UNDONE:
            self._reach(Point.UNDONE)
        return await super().undo_finish(at, attempt, outcome, restoration, error)

    async def skip_flight(self, saga: str) -> None:
        """Let so much time pass for this saga that nothing of it can be in flight any more."""
        try:
            await self._call(_SKIP, (saga,))
        except (LedgerUnavailable, LedgerNotInstalled):
            raise
        except LedgerError as error:
            raise NoTestLedger(
                f"a check moves the time of its ledger on, and this role may not: {error} Give it an "
                "administrator's connection string of a database that is there for tests"
            ) from error

    def _reach(self, point: Point) -> None:
        if self.kill_at is point:
            self.kill_at = None
            raise Killed(point.name)

    async def _stand_still(self) -> None:
        pause, self.pause = self.pause, None
        if pause is not None:
            pause.reached.set()
            await pause.go_on.wait()


class StoppingBench(Bench):
    """The worker's side with such a ledger; here an attempt is never too late, since its clock stood still too."""

    async def _reached(self) -> Ledger:
        return await StoppingLedger(self._dsn, connections=self._connections).__aenter__()

    @property
    def ledger(self) -> StoppingLedger:
        """The open ledger."""
        opened = super().ledger
        assert isinstance(opened, StoppingLedger)  # noqa: S101  (it is the only kind that this opens)
        return opened

    async def run(
        self, function: Callable[[Any], Any], argument: object, attempt: Attempt, *, limit: timedelta
    ) -> Any:
        """Run a tool's function with all of its time left."""
        attempt.ends = max(attempt.ends, time.monotonic() + (limit + SLACK).total_seconds())
        return await super().run(function, argument, attempt, limit=limit)


def stopping_bench(catalogue: Catalogue, dsn: str) -> StoppingBench:
    """A bench for one check at a time."""
    return StoppingBench(catalogue, dsn, connections=4, threads=4)
