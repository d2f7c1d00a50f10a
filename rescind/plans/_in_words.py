"""One step of a dry run in words, for a terminal and for whoever is asked to approve it."""

from __future__ import annotations

from rescind._visible import visible
from rescind.plans._entry import ToolClass
from rescind.plans._preview import StepPreview


def lines(step: StepPreview) -> list[str]:
    """What a step does, what undoes it, who has to approve it, and what its failure would come to."""
    said = [step.does, f"undo: {_undo(step)}"]
    if step.approvals:
        people = "two people" if step.approvals > 1 else "a person"
        said.append(f"approval: {'given beforehand' if step.pre_approved else f'{people} has to be asked'}")
    if step.is_checked:
        said.append("check: the world is asked just before the call")
    if step.needs:
        said.append(f"needs: {', '.join(step.needs)}")
    said += [f"on failure: {visible(each)}" for each in step.otherwise]
    said.append(f"if it fails: {_consequence(step)}")
    return [*said, *(f"   and {left.step} is left: {left.why}" for left in step.left)]


def _undo(step: StepPreview) -> str:
    if step.tool_class is ToolClass.READ:
        return "not needed, it only reads"
    if step.undo is None or step.grade is None:
        return "none, it can't be taken back"
    window = f", within {step.undo_within}" if step.undo_within else ""
    return f"{step.undo} ({step.grade.value}{window})"


def _consequence(step: StepPreview) -> str:
    if not step.undone:
        return "nothing is to be undone"
    more = step.undone_count - len(step.undone)
    return f"undone are {', '.join(step.undone)}{f' and {more} more' if more else ''}"
