"""Judges a cell by the outside world, the report and the ledger; what is said is believed only if it is seen."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rescind import RecordState, SagaState
from rescind.ledger import SagaView
from tests.matrix.bench import Ended
from tests.matrix.cells import Cell, Step, Trouble

PLACES = {
    Step.BRANCH: ("git",),
    Step.BUCKET: ("buckets",),
    Step.SCHEMA: ("databases",),
    Step.SERVICE: ("clusters", "task_definitions"),
    Step.CONTAINER: ("containers",),
    Step.NOTIFICATION: ("messages",),
}
TOOLS = {
    "git.create_branch": Step.BRANCH,
    "s3.create_bucket": Step.BUCKET,
    "postgres.migrate": Step.SCHEMA,
    "ecs.deploy": Step.SERVICE,
    "container.deploy": Step.CONTAINER,
    "chat.notify": Step.NOTIFICATION,
}
ONE_REQUEST = frozenset({Step.BRANCH, Step.SCHEMA, Step.NOTIFICATION})
CLEAN = frozenset({RecordState.ABSENT, RecordState.UNDONE})
# What differs between two runs that did the same: keys, objects that are made of keys, oids, times.
_VARYING = (
    (r"rsc-[0-9a-f]{32}", "KEY"),
    (r"(?<![0-9a-f])[0-9a-f]{40}(?![0-9a-f])", "OBJECT"),
    (r'"\d+":', '"OID":'),
    (r'"digest": "[0-9a-f]{32}"', '"digest": "OF THE NAMES"'),
    (r"\d{4}-\d\d-\d\d[T ][\d:.]+(\+[\d:]+|Z)?", "TIME"),
    (r"messages / \d+", "messages / N"),
    # A revision that was retired again has used up its number; one that was not is a line of its own.
    (r"CELL:\d+", "CELL:REVISION"),
)


@dataclass(frozen=True)
class Verdict:
    """What became of one cell.

    Attributes:
        ended: The end of it, and the judgement passed on it.
        world: "as before", "as after", or the steps that are left.
        problems: Why it is not as it should be; empty if it is.
        false_clean: It was called clean, and is not.
        reopened: A late report has opened it again, so that it is not called clean any more.
        double: An effect happened twice.
    """

    ended: Ended
    world: str
    problems: tuple[str, ...]
    false_clean: bool
    double: bool
    reopened: bool = False

    @property
    def cell(self) -> Cell:
        """The cell."""
        return self.ended.cell

    @property
    def only_missed(self) -> bool:
        """Whether the cell is as it should be, but for the trouble that it did not meet."""
        return self.ended.missed and self.problems == (self.ended.trouble,) and not self.double


def judge(ended: Ended, changes: Sequence[str], whole: Sequence[str], view: SagaView | None) -> Verdict:
    """Judge one cell.

    Args:
        ended: How its saga ended.
        changes: Every line by which its part of the world differs from before.
        whole: The normalised lines by which it differs after a saga that met no trouble.
        view: What the ledger has of it.
    """
    seen = normalised(changes, ended.cell)
    if unused_revision(ended.cell):
        seen = sorted(set(seen))
    world = "as before" if not seen else "as after" if seen == whole else _left(seen)
    double = _twice(ended) or len([line for line in seen if "messages / N / hook" in line]) > 1
    problems = [ended.trouble] if ended.trouble else []
    problems += _problems(ended, world, view, seen)
    if double:
        problems.append(f"an effect happened twice: {ended.seen}")
    claims = ended.closed in {"COMPLETED", "SagaUndone", "CANCELED"} and not _is_open(view)
    honest = world == ("as after" if ended.closed == "COMPLETED" else "as before")
    return Verdict(ended, world, tuple(problems), claims and not honest, double, reopened(ended, view))


def unused_revision(cell: Cell) -> bool:
    """Whether a second revision that nothing runs may be left: ECS has no key for it (docs/concepts/limits.md)."""
    return (cell.step, cell.trouble, cell.operation) == (Step.SERVICE, Trouble.STOPPED, "register")


def reopened(ended: Ended, view: SagaView | None) -> bool:
    """Whether a worker that woke after the saga was undone has reported, so that the saga is open again."""
    woken = ended.cell.trouble is Trouble.STOPPED and ended.cell.doomed
    return woken and ended.closed == "SagaUndone" and view is not None and view.state is SagaState.UNWINDING


def normalised(changes: Iterable[str], cell: Cell) -> list[str]:
    """The lines without what differs from run to run, in order."""
    lines: list[str] = []
    for line in changes:
        plain = line.replace(cell.name, "CELL")
        for pattern, word in _VARYING:
            plain = re.sub(pattern, word, plain)
        lines.append(plain)
    return sorted(lines)


def _problems(ended: Ended, world: str, view: SagaView | None, seen: Sequence[str]) -> list[str]:
    if view is None:
        return ["the ledger knows nothing of it"]
    states = [effect.state for effect in view.effects]
    match ended.closed:
        case "COMPLETED":
            wanted = [
                (world == "as after", f"it COMPLETED and the world is {world}: {seen}"),
                (
                    view.state in {SagaState.SEALED, SagaState.COMMITTED},
                    f"it COMPLETED and the ledger says {view.state}",
                ),
                (set(states) == {RecordState.APPLIED}, f"it COMPLETED with effects {states}"),
            ]
        case "SagaUndone" if reopened(ended, view):
            doubtful = {RecordState.IN_DOUBT} | CLEAN
            wanted = [
                (
                    _of(seen) <= {ended.cell.step},
                    f"it was opened again by its report, and the world is {world}: {seen}",
                ),
                (_standing(view) == {ended.cell.step}, f"it was opened again for {_standing(view)}"),
                (set(states) <= doubtful, f"it was opened again with effects {states}"),
            ]
        case "SagaUndone" | "CANCELED":
            wanted = [
                (world == "as before", f"it ended as {ended.closed} and the world is {world}: {seen}"),
                (
                    view.state is SagaState.CLOSED,
                    f"it ended as {ended.closed} and the ledger says {view.state}",
                ),
                (set(states) <= CLEAN, f"it ended as {ended.closed} with effects {states}"),
            ]
        case "UndoIncomplete":
            named = _named(ended)
            wanted = [
                (bool(named), "UndoIncomplete names no step"),
                (_of(seen) <= named, f"the report names {sorted(named)}, and left is {world}: {seen}"),
                (_standing(view) == named, f"the report names {sorted(named)}, the ledger {_standing(view)}"),
                (view.state is SagaState.UNWINDING, f"UndoIncomplete, and the ledger says {view.state}"),
            ]
        case _:
            errors = [f"{effect.tool}: {effect.error}" for effect in view.effects if effect.error]
            wanted = [(False, f"it is {ended.closed}; the ledger says {view.state} {states} {errors}")]
    return [words for holds, words in wanted if not holds]


def _named(ended: Ended) -> set[Step]:
    steps = (ended.report or {}).get("steps", [])
    return {TOOLS[step["tool"]] for step in steps if step["compensation"] == "FAILED"}


def _standing(view: SagaView) -> set[Step]:
    return {TOOLS[effect.tool] for effect in view.effects if effect.state not in CLEAN}


def _of(lines: Iterable[str]) -> set[Step]:
    """The steps whose effects the lines show."""
    kinds = {line.partition(": ")[2].partition(" / ")[0] for line in lines}
    return {step for step, places in PLACES.items() if kinds & set(places)}


def _left(lines: Sequence[str]) -> str:
    return f"left: {', '.join(step.value for step in Step if step in _of(lines))}"


def _twice(ended: Ended) -> bool:
    """Whether the call of a step that is one request acted more than once.

    A deployment that was left half made is taken back and made again, and S3 calls it a success to create one's own
    bucket again: what is there twice of those is seen in the world.
    """
    return ended.cell.step in ONE_REQUEST and sum(call.acted for call in ended.seen) > 1


def _is_open(view: SagaView | None) -> bool:
    """Whether the ledger says that the saga is not finished with, so that it is not called clean."""
    return view is not None and view.state in {SagaState.UNWINDING, SagaState.OPEN}
