"""The matrix as tables for people, and as the page that is kept in the documentation."""

from collections.abc import Iterable, Sequence

from tests.matrix.tools.cells import Trouble
from tests.matrix.tools.subjects import GROUPS, Side, Subject, faults
from tests.matrix.tools.verdict import Judgement, Verdict

_HEAD = """# The failure matrix of single tools

Each tool takes one step, and the step after it is refused, so that it has to be given back. On the way there its
request meets a fault, and on the way back the request of its undo meets another one: at the
[sandbox](stand-ins.md), at a gate of the same kind in front of S3, EC2, ECS and Docker, at a proxy in front of
PostgreSQL, at a git server, and in the system calls that replace a file. Full snapshots of the world before and after
are compared, and everything that the providers ever had of a cell is counted. This page is written by
`python -m tests.matrix.tools`; with RESCIND_SOAK=1 every fault on the call is crossed with every fault on the undo,
otherwise each is met once on each side.

- **undone**, with how well the world was restored: `exact`; `equivalent` (a void invoice, a terminated machine);
  `residue` (a fee is kept; a mail was sent, and its correction after it); `nothing` was there any more.
- **not done**: it is proven that the call did nothing.
- **stands**: it can't be taken back, and the report names it as left.
- **in doubt**: nobody can tell, and the report says what to check by which key. Nothing else is left.
- **stuck**: the undo did not succeed within its budget, and the report says so.
- **read**, **not read**: what a read came to. It leaves nothing, in the world or on record.

A cell has more than one end where the end depends on the fault of the other side. `late` acts when its client has gone.

`container.deploy` is here where a Docker engine can be started. The tools of `ProvisionEnvironment` are in
[the other matrix](failure-matrix.md) too, with workers that are killed.

"""
_TITLES = {Side.CALL: "the call meets", Side.UNDO: "the undo meets, after a call that took effect"}


def summary(judged: Judgement) -> str:
    """The totals."""
    met = sum(len(verdict.ended.met) for verdict in judged.verdicts)
    wrong = sum(bool(verdict.problems) for verdict in judged.verdicts)
    repeats = sum(verdict.repeats for verdict in judged.verdicts)
    return (
        f"{len(judged.verdicts)} sagas met {met} faults: {judged.false_clean} false clean, {judged.doubles} double "
        f"effects, {wrong} not as they should be, {len(judged.strays)} changes that belong to no saga; {repeats} mails "
        "came once more with the Message-ID by which a reader's program knows them"
    )


def page(judged: Judgement) -> str:
    """The page in Markdown."""
    return f"{_HEAD}{tables(judged.verdicts)}\n\n{summary(judged)}.\n"


def tables(verdicts: Sequence[Verdict]) -> str:
    """A table for each side of each kind of tools."""
    made = {
        f"## {group}: {title}": table(verdicts, side, tools)
        for group, tools in GROUPS.items()
        for side, title in _TITLES.items()
        if any(faults(tool, side) for tool in tools)
    }
    return "\n\n".join(f"{title}\n\n{rows}" for title, rows in made.items())


def table(verdicts: Iterable[Verdict], side: Side, tools: Sequence[Subject]) -> str:
    """What one side meets by tools; a fault that was planned and never met is not shown."""
    ends: dict[Trouble, dict[Subject, set[str]]] = {}
    for verdict in verdicts:
        cell = verdict.ended.case.cell
        trouble = cell.trouble(side)
        if cell.tool in tools and (trouble.fault is None or side in verdict.ended.met):
            end = "**WRONG**" if verdict.problems else verdict.end
            ends.setdefault(trouble, {}).setdefault(cell.tool, set()).add(end)
    rows = [f"| | {' | '.join(tools)} |", f"|---|{'---|' * len(tools)}"]
    for trouble in sorted(ends, key=_order):
        cells = (", ".join(sorted(ends[trouble].get(tool, ()))) for tool in tools)
        rows.append(f"| {trouble.words} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _order(trouble: Trouble) -> tuple[bool, str, bool, str]:
    return (trouble.fault is not None, trouble.at, trouble.lasting, trouble.words)
