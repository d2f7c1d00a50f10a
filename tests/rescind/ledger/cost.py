"""What one call costs at the ledger: `python -m tests.rescind.ledger.cost`; nothing asserts on these numbers."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from itertools import count
from statistics import median

import typer

from rescind._states import Outcome
from rescind.ledger import EffectAddress, Ledger, install
from tests.rescind.ledger.postgres import Server
from tests.rescind.ledger.steps import go

CALLS = 500
_numbers = count()


async def _measure(name: str, at_once: int, call: Callable[[], Awaitable[object]]) -> None:
    gate = asyncio.Semaphore(at_once)
    times: list[float] = []

    async def one() -> None:
        async with gate:
            started = time.perf_counter()
            await call()
            times.append(time.perf_counter() - started)

    started = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(CALLS)))
    rate = CALLS / (time.perf_counter() - started)
    typer.echo(f"{name:18} {at_once:3} at once: p50 {median(times) * 1000:6.2f} ms, {rate:7.0f} a second")


async def _compare(dsn: str) -> None:
    async with Ledger(dsn, connections=8) as ledger:

        async def pair() -> None:
            saga = f"n/cost-{next(_numbers)}/r"
            at = EffectAddress(saga, 0, saga, (1,))
            await go(ledger, at)
            await ledger.finish(at, 1, Outcome.APPLIED, result={"id": 1})

        for at_once in (1, 16):
            await _measure("a read", at_once, lambda: ledger.promote("n/none/r"))
            await _measure("begin and finish", at_once, pair)


if __name__ == "__main__":
    with Server(waits_for_disk=True) as server:
        install(server.create_database("ledger"), workers=["worker"])
        asyncio.run(_compare(server.dsn("ledger", "worker")))
