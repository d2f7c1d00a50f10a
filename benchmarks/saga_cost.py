"""What a saga costs beside a hand-written workflow: `python -m benchmarks.saga_cost`.

Both run on the same server, in the same worker process, in turns within one run, so that only the
ratios mean something; the machine's own speed does not.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
import uuid
from typing import Any

from temporalio.client import Client
from temporalio.worker import Worker

from benchmarks.workloads import WORK, ByHand, WithSaga, Work, bare_work
from embedded import Stack, adopt, environment
from rescind import RescindPlugin
from rescind.ledger._install import install

QUEUE = "benchmark"


async def _one(client: Client, workflow: Any, order: Work) -> float:
    started = time.perf_counter()
    await client.execute_workflow(workflow, order, id=f"bench-{uuid.uuid4()}", task_queue=QUEUE)
    return time.perf_counter() - started


async def _round(
    client: Client, workflow: Any, order: Work, runs: int, at_a_time: int
) -> tuple[float, float]:
    """Run so many, so many at a time; answer with the rate a second and the median seconds."""
    gate = asyncio.Semaphore(at_a_time)

    async def gated() -> float:
        async with gate:
            return await _one(client, workflow, order)

    started = time.perf_counter()
    times = await asyncio.gather(*(gated() for _ in range(runs)))
    return runs / (time.perf_counter() - started), statistics.median(times)


async def _compare(client: Client, seconds: float, at_a_time: int, runs: int, rounds: int) -> None:
    order = Work(seconds=seconds)
    rates: list[float] = []
    medians: list[float] = []
    for number in range(rounds + 1):
        bare_rate, bare_p50 = await _round(client, ByHand.run, order, runs, at_a_time)
        saga_rate, saga_p50 = await _round(client, WithSaga.run, order, runs, at_a_time)
        if number:  # the first round warms both up
            rates.append(saga_rate / bare_rate)
            medians.append(saga_p50 / bare_p50)
            print(f"    {bare_p50 * 1000:7.1f} ms by hand, {saga_p50 * 1000:7.1f} ms as a saga", flush=True)
    print(
        f"{seconds * 1000:3.0f} ms tools, {at_a_time:2} at a time: "
        f"rate {statistics.median(rates):.2f} of by hand, p50 {statistics.median(medians):.2f} times",
        flush=True,
    )


async def _measure(settings: dict[str, str], runs: int, rounds: int) -> None:
    plugin = RescindPlugin([WORK], ledger=settings["RESCIND_LEDGER_DSN"], sweeping=None)
    client = await Client.connect(settings["TEMPORAL_ADDRESS"], plugins=[plugin])
    async with Worker(client, task_queue=QUEUE, workflows=[WithSaga, ByHand], activities=[bare_work]):
        for seconds in (0.02, 0.0):
            for at_a_time in (1, 16):
                await _compare(client, seconds, at_a_time, runs * (4 if at_a_time > 1 else 1), rounds)


def main() -> None:
    """Start stand-ins of its own, measure, and print the ratios."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=20, help="workflows a round, one at a time")
    options.add_argument("--rounds", type=int, default=5, help="rounds of each")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as directory, Stack(directory, ui_port=0) as stack:
        settings = environment(stack.description)
        adopt(settings)
        install(settings["RESCIND_LEDGER_ADMIN_DSN"], workers=["rescind_ledger_worker"])
        asyncio.run(_measure(settings, chosen.runs, chosen.rounds))


if __name__ == "__main__":
    main()
