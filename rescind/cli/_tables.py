"""A saga's report as a person reads it in a terminal."""

from collections.abc import Mapping, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rescind._record import Outcome, SagaReport, StepReport
from rescind._states import RecordState
from rescind.ledger import SagaSummary

_MARKS: Mapping[RecordState, tuple[str, str]] = {
    RecordState.INTENDED: ("…", "yellow"),
    RecordState.APPLIED: ("✓", "green"),
    RecordState.ABSENT: ("·", "dim"),
    RecordState.IN_DOUBT: ("?", "red"),
    RecordState.UNDOING: ("↶", "yellow"),
    RecordState.UNDONE: ("↶", "cyan"),
    RecordState.STUCK: ("✗", "red"),
    RecordState.RESOLVED: ("✓", "cyan"),
}

HEADLINES: Mapping[Outcome, tuple[str, str]] = {
    Outcome.RUNNING: ("running", "yellow"),
    Outcome.COMPLETED: ("done: every step stands", "green"),
    Outcome.UNDONE: ("undone: every step that took effect was taken back", "cyan"),
    Outcome.CANCELED: ("cancelled: every step that took effect was taken back", "cyan"),
    Outcome.INCOMPLETE: ("NOT CLEAN: something needs a person", "bold red"),
    Outcome.LEFT: ("NOT CLEAN: closed, and something was left standing by a person's word", "bold red"),
}


def steps_table(report: SagaReport, remarks: Mapping[str, str] | None = None) -> RenderableType:
    """One row for each step, with what went wrong or was restored below what it does.

    Args:
        report: The report.
        remarks: More about a step that is under way, by its name.
    """
    table = Table(box=SIMPLE_HEAD, padding=(0, 1), show_edge=False)
    table.add_column("")
    table.add_column("step", no_wrap=True)
    table.add_column("state", no_wrap=True)
    table.add_column("what", overflow="fold")
    for step in report.steps:
        mark, style = _MARKS[step.state]
        table.add_row(
            Text(mark, style),
            step.step,
            Text(state(step), style),
            _what(step, (remarks or {}).get(step.step)),
        )
    if report.counts is None:
        return table if report.steps else Text("  no step has begun", "dim")
    counts = report.counts
    words = f"  {counts.steps} steps, {counts.standing} standing, {counts.undone} undone; {len(report.steps)} of them:"
    return Group(Text(words, "dim"), table)


def state(step: StepReport) -> str:
    """A step's state, and how well it was restored."""
    name = step.state.value.replace("_", " ")
    return f"{name}: {step.restoration.grade.value}" if step.restoration else name


def note(step: StepReport) -> str:
    """What there is to say about a step beside its state; mostly nothing."""
    if step.waits:
        given, people = len(step.waits.given), step.waits.people
        how_many = f" by {people} people ({given} have)" if people > 1 else ""
        return f"waits for approval{how_many} until {step.waits.until.astimezone():%Y-%m-%d %H:%M}"
    if step.state is RecordState.RESOLVED and step.restoration and step.restoration.detail:
        return step.restoration.detail
    if step.error and step.state is not RecordState.APPLIED:
        return step.error
    if step.restoration and step.restoration.detail:
        return step.restoration.detail
    if not step.changed:
        return "changed nothing"
    return "recovered by lookup" if step.recovered_by_lookup else ""


def line(step: StepReport, remark: str | None = None) -> str:
    """A step in one line, for output that is no terminal."""
    words = f"{_MARKS[step.state][0]} {step.step:<20} {state(step):<16} {step.summary}"
    more = remark or note(step)
    return f"{words} ({more})" if more else words


def ending(report: SagaReport) -> RenderableType:
    """The whole report: the headline, the first error, every step, and what is left."""
    words, style = HEADLINES[report.outcome]
    if report.outcome is Outcome.COMPLETED and any(step.state is RecordState.UNDONE for step in report.steps):
        words = "done, and partly undone since: the other steps stand"
    parts: list[RenderableType] = [Text(words, style)]
    if report.error and report.outcome is not Outcome.CANCELED:
        where = f"{report.failed_at} failed" if report.failed_at else "it failed"
        parts.append(Text(f"{where}: {report.error}"))
    parts += [Text(""), steps_table(report)]
    if report.left:
        parts += [Text(""), Text("Left in the world, or nobody knows:", "bold red")]
        parts += [
            Text(f"  {step.step}: {step.summary} is {state(step)}: {note(step) or 'no reason known'}")
            for step in report.left
        ]
    return Group(*parts)


def sagas_table(sagas: Sequence[tuple[str, SagaSummary]], *, needs: Sequence[str] = ()) -> RenderableType:
    """Sagas by workflow id, newest first; those named in `needs` are marked."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1), show_edge=False)
    table.add_column("started", no_wrap=True)
    table.add_column("saga", overflow="fold")
    table.add_column("state", no_wrap=True)
    table.add_column("steps", justify="right")
    table.add_column("standing", justify="right")
    for workflow_id, saga in sagas:
        style = "red" if saga.id in needs or saga.left_standing else ""
        left = f", {saga.left_standing} left" if saga.left_standing else ""
        table.add_row(
            f"{saga.started.astimezone():%Y-%m-%d %H:%M:%S}",
            Text(workflow_id),
            Text(f"{saga.state.value}{left}", style),
            str(saga.effects),
            str(saga.standing),
        )
    return table


def _what(step: StepReport, remark: str | None) -> Text:
    text = Text(step.summary)
    if more := remark or note(step):
        text.append(f"\n{more}", "red" if step.error and not step.restoration else "dim")
    return text
