"""The matrix of the business tools as tables for people, and as the page that is kept in the documentation."""

from collections.abc import Iterable

from tests.matrix.business.cells import Business, Side, Trouble
from tests.matrix.business.verdict import Judgement, Verdict

_HEAD = """# The failure matrix of the business tools

Each tool takes one step, and the step after it is refused, so that it has to be given back. On the way there its
request meets a fault of the [sandbox](stand-ins.md), and on the way back the request of its undo meets another one.
Full snapshots of orders, bookings, invoices and mails before and after are compared, and everything that the providers
ever had of a cell is counted. This page is written by `python -m tests.matrix.business`; with RESCIND_SOAK=1 every
fault on the call is crossed with every fault on the undo, otherwise each is met once on each side.

- **undone**, with how well the world was restored: `exact`; `equivalent` (a void invoice, a cancelled booking);
  `residue` (a fee is kept; a mail was sent, and its correction after it); `nothing` was there any more.
- **not done**: it is proven that the call did nothing.
- **in doubt**: nobody can tell, and the report says what to check by which key. Nothing else is left.
- **stuck**: the undo did not succeed within its budget, and the report says so.

A cell has more than one end where the end depends on the fault of the other side.

"""
_TITLES = {Side.CALL: "The call meets", Side.UNDO: "The undo meets, after a call that took effect"}


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
    parts = [f"## {title}\n\n{table(judged.verdicts, side)}\n\n" for side, title in _TITLES.items()]
    return f"{_HEAD}{''.join(parts)}{summary(judged)}.\n"


def table(verdicts: Iterable[Verdict], side: Side) -> str:
    """What one side meets by tools; a fault that was planned and never met is not shown."""
    ends: dict[Trouble, dict[Business, set[str]]] = {}
    for verdict in verdicts:
        cell = verdict.ended.case.cell
        trouble = cell.trouble(side)
        if trouble.fault is None or side in verdict.ended.met:
            end = "**WRONG**" if verdict.problems else verdict.end
            ends.setdefault(trouble, {}).setdefault(cell.tool, set()).add(end)
    rows = [f"| | {' | '.join(tool.value for tool in Business)} |", f"|---|{'---|' * len(Business)}"]
    for trouble in sorted(ends, key=_order):
        cells = (", ".join(sorted(ends[trouble].get(tool, ()))) for tool in Business)
        rows.append(f"| {trouble.words} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _order(trouble: Trouble) -> tuple[bool, str, bool, str]:
    return (trouble.fault is not None, trouble.at, trouble.lasting, trouble.words)
