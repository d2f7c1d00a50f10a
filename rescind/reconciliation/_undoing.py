"""One more try to bring an effect to an end: look it up where it is in doubt, undo it where it stands."""

from __future__ import annotations

from temporalio.exceptions import ActivityError

from rescind._calls import Restoration
from rescind._failures import TAKEN_OVER
from rescind._states import RecordState
from rescind._wire import Reversal
from rescind._workflow import deepest, type_of_failure
from rescind.reconciliation._case import OpenStep
from rescind.reconciliation._work import Work

Became = tuple[RecordState, str]
"""The state of an effect after a try, and what there is to say of it."""


class TakenOver(Exception):
    """Somebody else has claimed the saga since the last look; nothing was changed."""


async def tried(work: Work, step: OpenStep, epoch: int, *, tries: int, confirmed: bool = False) -> Became:
    """Bring an effect as far as one try does.

    Args:
        work: The reconciliation's activities.
        step: The effect.
        epoch: The saga's epoch.
        tries: How often the compensation may be called.
        confirmed: A person has said that it took effect, so that it is not looked up.

    Raises:
        TakenOver: The saga is somebody else's now.
    """
    if step.reversal is None:
        return step.state, step.known
    try:
        if step.state is RecordState.IN_DOUBT and not confirmed:
            answer = await work.settle(step, step.reversal, epoch)
            if answer.state is not RecordState.APPLIED:
                return answer.state, answer.why or "its lookup says so"
        return await _undone(work, step, step.reversal, epoch, tries)
    except ActivityError as error:
        if type_of_failure(error) == TAKEN_OVER:
            raise TakenOver from error
        return RecordState.STUCK, deepest(error)


async def _undone(work: Work, step: OpenStep, reversal: Reversal, epoch: int, tries: int) -> Became:
    if reversal.compensate is None:
        await work.give_up(step, epoch)
        return RecordState.STUCK, "it stands and is a point of no return, which can't be undone"
    restoration = await work.undo(step, reversal, epoch, tries=tries)
    return RecordState.UNDONE, _in_words(restoration)


def _in_words(restoration: Restoration) -> str:
    detail = f" ({restoration.detail})" if restoration.detail else ""
    return f"{restoration.grade.value}{detail}"
