"""Runs the whole matrix: one picture of the world before, all cells at the same time, one picture after."""

import asyncio
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter

from embedded.world import World, difference, snapshot
from rescind.ledger import Ledger, SagaView, install
from tests.matrix.bench import Ended, run_bench
from tests.matrix.cells import Cell, Step, Trouble
from tests.matrix.places import Places, places_of
from tests.matrix.verdict import Verdict, judge, normalised

AT_A_TIME = 36
"""Sagas that run at a time, unless RESCIND_MATRIX_AT_A_TIME says otherwise; they mostly wait for time-outs.

With more of them than the machine can carry, time-outs strike that no cell is about.
"""

SHARED = 6
"""Sagas on one worker at most."""


@dataclass(frozen=True)
class Outcome:
    """What became of a matrix.

    Attributes:
        verdicts: One for each cell.
        strays: Changes of the world that belong to no cell.
    """

    verdicts: list[Verdict]
    strays: list[str]

    @property
    def false_clean(self) -> int:
        """Cells that were called clean and are not."""
        return sum(verdict.false_clean for verdict in self.verdicts)

    @property
    def doubles(self) -> int:
        """Cells in which an effect happened twice."""
        return sum(verdict.double for verdict in self.verdicts)


async def run_matrix(
    cells: Sequence[Cell],
    stack: dict[str, str],
    folder: Path,
    engine: Path | None,
    tell: Callable[[Ended], None] = lambda _: None,
) -> Outcome:
    """Run these cells, and the two that nothing happens to where they are not among them; `tell` hears of each.

    A cell that did not meet its trouble, as on a busy machine, and is right otherwise, is run once more by itself.
    """
    first = await _run_once(cells, SHARED, stack, folder, engine, tell)
    missed = [verdict.cell for verdict in first.verdicts if verdict.only_missed]
    if not missed:
        return first
    again = [replace(cell, run=f"{cell.run}-again") for cell in missed]
    return with_second(first, await _run_once(again, 1, stack, folder, engine, tell))


def with_second(first: Outcome, second: Outcome) -> Outcome:
    """The first outcome, with the verdicts of cells that were run once more in place of theirs."""
    better = {replace(verdict.cell, run=""): verdict for verdict in second.verdicts}

    def best(old: Verdict) -> Verdict:
        new = better[replace(old.cell, run="")] if old.only_missed else old
        return replace(new, ended=replace(new.ended, cell=old.cell))

    return Outcome([best(verdict) for verdict in first.verdicts], [*first.strays, *second.strays])


async def _run_once(
    cells: Sequence[Cell],
    shared: int,
    stack: dict[str, str],
    folder: Path,
    engine: Path | None,
    tell: Callable[[Ended], None],
) -> Outcome:
    cells = [*cells, *_references(cells)]
    install(stack["RESCIND_LEDGER_ADMIN_DSN"], workers=["rescind_ledger_worker"])
    client = await Client.connect(stack["TEMPORAL_ADDRESS"], data_converter=pydantic_data_converter)
    places = await asyncio.to_thread(places_of, cells, stack, folder, engine)
    before = await asyncio.to_thread(snapshot, places.environment)
    ended = await _run_all(benches(cells, shared), places, client, folder, tell)
    after = await asyncio.to_thread(snapshot, places.environment)
    return await judge_all(ended, before, after, client, stack)


async def judge_all(
    ended: Sequence[Ended], before: World, after: World, client: Client, stack: dict[str, str]
) -> Outcome:
    """Share the differences out among the cells, and judge each."""
    changes = shared_out(difference(before, after), [one.cell for one in ended])
    whole = {
        one.cell.deployment: normalised(changes[one.cell.name], one.cell)
        for one in ended
        if one.cell.trouble is Trouble.NONE
    }
    verdicts: list[Verdict] = []
    async with Ledger(stack["RESCIND_LEDGER_DSN"], connections=2) as ledger:
        for one in ended:
            view = await saga_view(ledger, client, one.saga)
            assert view is None or (await ledger.verify(view.id)).differences == []
            verdicts.append(judge(one, changes[one.cell.name], whole[one.cell.deployment], view))
    return Outcome(verdicts, changes[""])


async def saga_view(ledger: Ledger, client: Client, saga: str) -> SagaView | None:
    """What is on record of a saga, given by workflow id and first run id."""
    request = DescribeNamespaceRequest(namespace=client.namespace)
    namespace = await client.workflow_service.describe_namespace(request)
    return await ledger.show(f"{namespace.namespace_info.id}/{saga}")


def shared_out(lines: Iterable[str], cells: Iterable[Cell]) -> dict[str, list[str]]:
    """The lines by the name of the cell that they are about; those of no cell under the empty name."""
    found: dict[str, list[str]] = {name: [] for name in ("", *(cell.name for cell in cells))}
    named = re.compile("|".join(sorted((name for name in found if name), key=len, reverse=True)))
    posts: dict[str, str] = {}
    told = list(lines)
    for line in told:
        if (post := re.search(r"messages / \d+", line)) and (match := named.search(line)):
            posts[post.group()] = match.group()
    for line in told:
        post = re.search(r"messages / \d+", line)
        match = named.search(line)
        found[match.group() if match else posts.get(post.group(), "") if post else ""].append(line)
    return found


def benches(cells: Iterable[Cell], most: int = SHARED) -> list[list[Cell]]:
    """Cells that may share a worker: of one trouble, and where that strikes the worker of different steps.

    Those that take longest come first.
    """
    shared: dict[tuple[object, ...], list[Cell]] = {}
    for cell in cells:
        strikes = (cell.operation, cell.doomed) if cell.trouble.strikes_the_worker else ()
        shared.setdefault((cell.trouble, *strikes), []).append(cell)
    parts = [bench[n : n + most] for bench in shared.values() for n in range(0, len(bench), most)]
    return sorted(
        parts,
        key=lambda bench: (bench[0].trouble is not Trouble.STOPPED, not bench[0].trouble.strikes_the_worker),
    )


async def _run_all(
    parts: Sequence[list[Cell]], places: Places, client: Client, folder: Path, tell: Callable[[Ended], None]
) -> list[Ended]:
    limit = asyncio.Semaphore(int(os.environ.get("RESCIND_MATRIX_AT_A_TIME", AT_A_TIME)) // SHARED)

    async def one(bench: list[Cell]) -> list[Ended]:
        async with limit:
            try:
                done = await run_bench(bench, places, client, folder)
            except Exception as error:  # noqa: BLE001 - a bench that breaks must not hide what the others show
                done = [Ended(cell, trouble=f"{type(error).__name__}: {error}") for cell in bench]
            for ended in done:
                tell(ended)
            return done

    return [ended for done in await asyncio.gather(*map(one, parts)) for ended in done]


def _references(cells: Sequence[Cell]) -> list[Cell]:
    there = {cell.deployment for cell in cells if cell.trouble is Trouble.NONE and not cell.doomed}
    wanted = {cell.deployment for cell in cells} - there
    return [Cell(step, Trouble.NONE, run=cells[0].run) for step in Step if step in wanted]
