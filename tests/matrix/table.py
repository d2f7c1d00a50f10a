"""The matrix as a table for people, and as the page that is kept in the documentation."""

from collections.abc import Sequence

from tests.matrix.cells import Step, Trouble
from tests.matrix.run import Outcome
from tests.matrix.verdict import Verdict, unused_revision

_HEAD = """# The failure matrix

Each step of `ProvisionEnvironment` meets each trouble, at a real provider and with real worker processes; then full
snapshots of git refs, buckets, schema and rows, services, containers and messages are compared with those taken
before, and with what a saga without trouble leaves. This page is written by `python -m tests.matrix`.

- **done**: the saga COMPLETED, and the world is as after a saga that met no trouble.
- **undone**: it failed or was cancelled, and the world is as before.
- **reported**: it failed as `UndoIncomplete`; everything is undone but what the report names, and no more is left.
{more}
"""

_REOPENED = """- **reopened**: it was undone, and then the stopped worker woke and reported. The step is in doubt,
  and so its saga is open again and not called clean; nothing else is left.
"""
_UNUSED = """
A worker that is stopped while it registers a revision at ECS can leave a second one that nothing runs
([limits](concepts/limits.md)); it is not counted here.
"""


def summary(outcome: Outcome) -> str:
    """The two totals, and what is wrong."""
    wrong = [verdict for verdict in outcome.verdicts if verdict.problems]
    return (
        f"{len(outcome.verdicts)} sagas: {outcome.false_clean} false clean, {outcome.doubles} double effects, "
        f"{len(wrong)} not as they should be, {len(outcome.strays)} changes that belong to no saga"
    )


def page(outcome: Outcome, *, without_engine: str) -> str:
    """The page in Markdown."""
    more = _REOPENED if any(verdict.reopened for verdict in outcome.verdicts) else ""
    more += _UNUSED if any(unused_revision(verdict.cell) for verdict in outcome.verdicts) else ""
    parts = [_HEAD.format(more=more)]
    for doomed in (False, True):
        chosen = [verdict for verdict in outcome.verdicts if verdict.cell.doomed is doomed]
        if chosen:
            title = "Then the last step is refused" if doomed else "The saga goes on"
            parts.append(f"## {title}\n\n{table(chosen)}\n\n")
    if without_engine:
        parts.append(f"Containers on a Docker engine were left out: {without_engine}.\n\n")
    parts.append(f"{summary(outcome)}.\n")
    return "".join(parts)


def table(verdicts: Sequence[Verdict]) -> str:
    """Troubles by steps; a cell that was tried at several requests shows all of its ends."""
    steps = [step for step in Step if any(verdict.cell.step is step for verdict in verdicts)]
    rows = [f"| | {' | '.join(step.value for step in steps)} |", f"|---|{'---|' * len(steps)}"]
    for trouble in Trouble:
        ends = [_ends(verdicts, trouble, step) for step in steps]
        if any(ends):
            rows.append(f"| {trouble.value} | {' | '.join(ends)} |")
    return "\n".join(rows)


def _ends(verdicts: Sequence[Verdict], trouble: Trouble, step: Step) -> str:
    here = [verdict for verdict in verdicts if verdict.cell.trouble is trouble and verdict.cell.step is step]
    return ", ".join(sorted({_end(verdict) for verdict in here}))


def _end(verdict: Verdict) -> str:
    if verdict.problems:
        return "**WRONG**"
    if verdict.reopened:
        return "reopened"
    match verdict.ended.closed:
        case "COMPLETED":
            return "done"
        case "UndoIncomplete":
            return "reported"
        case _:
            return "undone"
