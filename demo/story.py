"""Runs the cases one after the other, each between two full snapshots of the outside world."""

import asyncio
import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from demo.case import Case, Place
from demo.workers import run_starter
from embedded.world import World, difference, snapshot
from rescind.cli import ExitCode, recorded

NOTICE = ", notice rsc-"
SHOWN = 12  # values that a successful run has made, of some thirty; of what is left behind all are shown


@dataclass(frozen=True, slots=True)
class Told:
    """What came of one case.

    Attributes:
        case: The case.
        code: The starter's exit code.
        failed_at: The step that failed, as the ledger has it.
        changes: Every difference between the worlds before and after.
    """

    case: Case
    code: int
    failed_at: str | None
    changes: Sequence[str]

    @property
    def right(self) -> bool:
        """A run that works has changed the world; one that fails has left it exactly as it was."""
        if self.case.fails_at is None:
            return self.code == ExitCode.DONE and bool(self.changes)
        return self.code == ExitCode.UNDONE and self.failed_at == self.case.fails_at and not self.changes


def tell(place: Place, story: Sequence[Case], console: Console) -> list[Told]:
    """Run every case, and show the world before and after it."""
    suffix = secrets.token_hex(2)
    told: list[Told] = []
    for number, case in enumerate(story, 1):
        console.print()
        console.print(Rule(Text(f"{number} of {len(story)}: {case.story}", "bold"), align="left"))
        told.append(_run(place, case, f"demo-{suffix}-{case.name}", console))
    return told


def _run(place: Place, case: Case, name: str, console: Console) -> Told:
    with case.arranged(place, name) as further:
        before = snapshot(place.environment)
        console.print(Text(f"The world before: {_counted(before)}"), soft_wrap=True)
        code = run_starter(place.environment, case.agent, *_options(place, case, name), *further)
        after = snapshot(place.environment)
    operations = place.environment["RESCIND_OPERATIONS_ADDRESS"]
    changes = difference(_without_notices(before, operations), _without_notices(after, operations))
    report = asyncio.run(recorded(place.environment["RESCIND_LEDGER_DSN"], f"{case.agent}-{name}"))
    console.print(Text(f"The world after:  {_counted(after)}"), soft_wrap=True)
    _show(case, changes, console)
    return Told(case, code, report.failed_at if report else None, changes)


def _options(place: Place, case: Case, name: str) -> tuple[str, ...]:
    if case.agent != "provision":
        return case.options
    where = ("--on", place.stack.containers.name, "--network", "none", "--pre-approve", "chat.notify")
    return ("--name", name, *where, *case.options)


def _without_notices(world: World, operations: str) -> World:
    """The world but for what operations were told: a failure that is told of leaves that behind on purpose."""
    mails = [mail for mail in world.mails if mail.recipients != [operations]]
    messages = [message for message in world.messages if NOTICE not in str(message)]
    return world.model_copy(update={"mails": mails, "messages": messages})


def _show(case: Case, changes: Sequence[str], console: Console) -> None:
    if not changes:
        console.print(Text("Compared value by value: the world is exactly as it was.", "green"))
        return
    expected = case.fails_at is None
    console.print(
        Text("What is new in it:" if expected else "LEFT BEHIND:", "green" if expected else "bold red")
    )
    shown = changes[:SHOWN] if expected else changes
    for change in shown:
        console.print(Text(f"  {' '.join(change.split())}"), no_wrap=True, overflow="ellipsis")
    if len(changes) > len(shown):
        console.print(Text(f"  and {len(changes) - len(shown)} more values"))


def summary(told: Sequence[Told]) -> Table:
    """One row for each case."""
    table = Table(title="What came of it", title_justify="left")
    for heading in ("run", "failed at", "exit code", "world afterwards"):
        table.add_column(heading, overflow="fold")
    for one in told:
        works = one.case.fails_at is None
        world = f"{len(one.changes)} values differ" if one.changes else "exactly as before"
        table.add_row(
            one.case.story,
            Text(one.failed_at or "", "" if one.failed_at == one.case.fails_at else "bold red"),
            f"{one.code} ({_CODES.get(one.code, 'not expected')})",
            Text(
                "as after all steps" if works and one.right else world,
                "green" if one.right else "bold red",
            ),
        )
    return table


_CODES = {int(ExitCode.DONE): "done", int(ExitCode.UNDONE): "undone", int(ExitCode.NOT_CLEAN): "not clean"}


def _counted(world: World) -> str:
    """How much there is, and a fingerprint of all of it."""
    counts = {
        "refs": sum(map(len, world.git.values())),
        "buckets": len(world.buckets),
        "tables": sum(len(database.relations) for database in world.databases.values()),
        "containers": len(world.containers)
        + sum(len(cluster.services) for cluster in world.clusters.values()),
        "messages": len(world.messages),
    }
    fingerprint = hashlib.sha256(world.model_dump_json().encode()).hexdigest()[:12]
    return ", ".join(f"{count} {name}" for name, count in counts.items()) + f"; fingerprint {fingerprint}"
