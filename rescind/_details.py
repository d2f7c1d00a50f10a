"""The table of steps that the Temporal Web UI shows as the workflow's details, in Markdown."""

from collections.abc import Iterable, Sequence

from pydantic_core import to_json

from rescind._counts import Counts
from rescind._record import Record, Waiting, is_clean
from rescind._states import RecordState
from rescind._visible import visible

ROWS = 30
"""Steps shown at most; the table is computed at every step, so its size is bounded (DESIGN 12)."""

_GAP = "\u00a0\u00a0\u00a0"
"""Ends every cell: the Web UI's tables have no space between their columns, and Markdown drops ordinary spaces."""

_MARK = {
    RecordState.INTENDED: "…",
    RecordState.APPLIED: "✓",
    RecordState.ABSENT: "·",
    RecordState.IN_DOUBT: "?",
    RecordState.UNDOING: "↶",
    RecordState.UNDONE: "↶",
    RecordState.STUCK: "✗",
    RecordState.RESOLVED: "✓",
}


def details(headline: str, records: Sequence[Record], beyond: Counts) -> list[str]:
    """Render a headline and the newest steps, line by line; others are counted, also those without a record."""
    shown = records[-ROWS:]
    waiting = [record.step for record in shown if record.waits]
    if waiting:
        headline = f"waits for approval: {', '.join(waiting)}"
    lines = [f"**{headline}**", ""]
    steps = beyond.steps + len(records)
    if steps > len(shown):
        standing = beyond.standing + sum(not is_clean(record) for record in records)
        lines += [f"{steps} steps, {standing} standing; the newest {len(shown)}:", ""]
    lines += ["| step | state | what |", "|---|---|---|"]
    lines += [_row(record) for record in shown]
    for record in shown:
        if record.waits:
            lines += _question(record, record.waits)
    return lines


def _question(record: Record, waits: Waiting) -> list[str]:
    """What people are asked to approve, and how they answer."""
    fields = record.request.items() if isinstance(record.request, dict) else [("request", record.request)]
    told = [
        (name, value if isinstance(value, str) else to_json(value).decode())
        for name, value in list(fields)[:ROWS]
    ]
    undo = "can be undone" if record.reversal and record.reversal.compensate else "can't be undone"
    facts = [
        ("tool", f"{record.tool} (risk {waits.risk}, {undo})"),
        *(fact for fact in told if not _is_long(fact)),
        ("approved by", f"{'; '.join(waits.given) or 'nobody'}; it takes {in_people(waits.people)}"),
        ("until", f"{waits.until:%Y-%m-%d %H:%M:%S} UTC"),
        ("digest", waits.digest),
    ]
    answer = to_json({"step": record.step, "who": "your name", "note": "why"}).decode()
    return [
        *("", f"**{record.step} waits for approval**", "", "| | |", "|---|---|"),
        *(table_row(fact) for fact in facts),
        *(line for fact in told if _is_long(fact) for line in _block(*fact)),
        *("", f"Send the Update `approve` or `reject` with `{answer}`"),
    ]


def _is_long(fact: tuple[str, str]) -> bool:
    """Whether a field is a text of several lines, which is shown whole: nobody approves what he can't see."""
    return "\n" in fact[1]


def _block(name: str, text: str) -> list[str]:
    """A text as it is, by an indent: nothing in it is Markdown, and nothing in it can end the block."""
    return ["", f"{name}:", "", *(f"    {line}" for line in visible(text).splitlines())]


def in_people(number: int) -> str:
    """So many people in words."""
    return "a person" if number == 1 else f"{number} different people"


def _row(record: Record) -> str:
    state = record.state.value.replace("_", " ")
    if record.restoration:
        state = f"{state}: {record.restoration.grade.value}"
    note = _note(record)
    cells = (
        f"{_MARK[record.state]} {record.step}",
        state,
        f"{record.summary}; {note}" if note else record.summary,
    )
    return table_row(cells)


def table_row(cells: Iterable[str]) -> str:
    """One row of a Markdown table, each cell cut to 200 characters and without Markdown of its own."""
    return "| " + " | ".join(_plain(cell) + _GAP for cell in cells) + " |"


def _note(record: Record) -> str:
    if record.waits:
        return "waits for approval"
    if record.error and record.state is not RecordState.APPLIED:
        return record.error
    if record.restoration and record.restoration.detail:
        return record.restoration.detail
    if not record.changed and not record.is_saga:
        return "changed nothing"
    return "recovered by lookup" if record.recovered else ""


def _plain(cell: str) -> str:
    """A cell's text cut to 200 characters, without what Markdown would take for its own."""
    text = " ".join(cell.split()).replace("|", "\\|")
    return text if len(text) <= 200 else text[:199] + "…"
