"""What an undo would do, as a person reads it in a terminal."""

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rescind._record import Outcome, SagaReport
from rescind.cli._tables import ending
from rescind.recovery._preview import Preview, StepPreview
from rescind.recovery._windows import in_time

_STYLES = {"high": "yellow", "critical": "bold red"}


def foreseen(preview: Preview, *, part: bool) -> RenderableType:
    """The steps in the order in which they would be undone, and what would be left.

    Args:
        preview: What was foreseen.
        part: Whether only a part of the saga would be undone.
    """
    count = "1 step" if len(preview.steps) == 1 else f"{len(preview.steps)} steps"
    table = Table(box=SIMPLE_HEAD, padding=(0, 1), show_edge=False)
    for name in ("step", "state", "risk", "can be undone"):
        table.add_column(name, no_wrap=True)
    table.add_column("what", overflow="fold")
    for step in preview.steps:
        table.add_row(
            step.step,
            step.state.value.replace("_", " "),
            Text(step.risk or "?", _STYLES.get(step.risk or "", "")),
            _window(step),
            _what(step),
        )
    parts: list[RenderableType] = [Text(f"Its undo takes back {count}, in this order:", "bold"), table]
    if part and preview.untouched:
        parts.append(Text(f"Left alone: {', '.join(preview.untouched)}.", "dim"))
    if preview.takes_agreement:
        parts.append(
            Text("It waits until a second person agrees: what is critical is undone by nobody alone.", "bold")
        )
    left = [step for step in preview.steps if step.left]
    if left:
        parts += [Text(""), Text("Would be left in the world:", "bold red")]
        parts += [Text(f"  {step.step}: {step.left}") for step in left]
    return Group(*parts)


def already_undone(report: SagaReport, step: str | None) -> RenderableType:
    """That there is nothing to do, and what became of the saga."""
    if step is not None:
        return Text(
            f"Nothing of {step} stands: it is undone already, or took no effect. Nothing was touched."
        )
    words = "Nothing of it stands: it is undone already, or changed nothing. Nothing was touched."
    if report.outcome is Outcome.LEFT:
        words = "It is closed already, with something left standing by a person's word. Nothing was touched."
    return Group(Text(words), Text(""), ending(report))


def _window(step: StepPreview) -> Text:
    if step.window_left is None:
        return Text("at any time", "dim")
    if step.window_left < 0:
        return Text(f"no more, for {in_time(-step.window_left)}", "red")
    return Text(f"for {in_time(step.window_left)} more")


def _what(step: StepPreview) -> Text:
    text = Text(step.summary)
    if step.undo:
        text.append(f"\n{step.undo}", "dim")
    if step.found:
        text.append(f"\nnow: {step.found}", "red" if step.conflict else "dim")
    return text
