"""What travels between the workflows that take sagas over, and their activities."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from rescind._counts import Counts
from rescind._operations_queue import operation_id
from rescind._record import Record

UNDO_SAGA = "rescind.UndoSaga"
TAKE_OVER = "rescind.take_over"

SHOWN = 1500
"""Steps in a preview at most: some 500 kB, which Temporal carries."""


def undo_id(saga: str) -> str:
    """The workflow's id of a saga's undo; one at a time.

    Args:
        saga: Workflow id and first run id, joined by '/'.
    """
    return operation_id("rescind-undo", saga)


class _Order(BaseModel):
    model_config = ConfigDict(frozen=True)


class UndoSagaOrder(_Order):
    """Asks for a saga to be undone after the fact.

    Attributes:
        saga: Workflow id and first run id, joined by '/'.
        who: Who asks for it; taken on trust.
        why: For the report and the journal.
        committed: Whether a saga that is committed is undone, too; the sweeper never does that.
        steps: Only these steps; None undoes the whole saga.
        task_queue: Where the workers poll that know the saga's tools; None where that is not known.
        epoch: That of the claim, in a run that continues another.
        below: The place in the saga's order at which such a run goes on.
        page: Steps that one run takes back; None leaves it to the worker's setting.
    """

    saga: str
    who: str
    why: str
    committed: bool = False
    steps: tuple[str, ...] | None = None
    task_queue: str | None = None
    epoch: int | None = None
    below: tuple[int, ...] | None = None
    page: int | None = Field(default=None, ge=1)


class Taken(_Order):
    """A saga that was taken over.

    Attributes:
        epoch: The claim's; None where nothing had to be claimed, since nothing of the saga stands.
        records: Those of the saga's records that are to be taken back by this run, and those that a report lists.
        beyond: How many others there are.
        take_back: The steps that are to be taken back by this run.
        more: Whether there are further ones, for the next run.
    """

    epoch: int | None
    records: list[Record]
    beyond: Counts = Counts()
    take_back: list[str]
    more: bool = False
