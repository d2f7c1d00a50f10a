"""What travels between the workflows that take sagas over, and their activities."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field
from temporalio.exceptions import ApplicationError

from rescind._counts import Counts
from rescind._operations_queue import operation_id
from rescind._persons_word import Who
from rescind._record import Record

UNDO_SAGA = "rescind.UndoSaga"
TAKE_OVER = "rescind.take_over"

UNDO_REFUSED = "UndoRefused"
"""The type of a failure that says: this is not undone, and nothing was touched."""

SHOWN = 1500
"""Steps in a preview at most: some 500 kB, which Temporal carries."""


def undo_id(saga: str) -> str:
    """The workflow's id of a saga's undo; one at a time.

    Args:
        saga: Workflow id and first run id, joined by '/'.
    """
    return operation_id("rescind-undo", saga)


def undo_refused(why: str) -> ApplicationError:
    """An undo that was not begun."""
    return ApplicationError(f"not undone: {why}. Nothing was touched", type=UNDO_REFUSED, non_retryable=True)


class _Order(BaseModel):
    model_config = ConfigDict(frozen=True)


class UndoSagaOrder(_Order):
    """Asks for a saga to be undone after the fact.

    Attributes:
        saga: Workflow id and first run id, joined by '/'.
        who: Who asks for it, in 200 characters at most; taken on trust.
        why: For the report and the journal.
        committed: Whether a saga that is committed is undone, too; the sweeper never does that.
        steps: Only these steps; None undoes the whole saga.
        task_queue: Where the workers poll that know the saga's tools; None where that is not known.
        epoch: That of the claim, in a run that continues another.
        below: The place in the saga's order at which such a run goes on.
        page: Steps that one run takes back; None leaves it to the worker's setting.
    """

    saga: str
    who: Who
    why: str
    committed: bool = False
    steps: tuple[str, ...] | None = None
    task_queue: str | None = None
    epoch: int | None = None
    below: tuple[int, ...] | None = None
    page: int | None = Field(default=None, ge=1)


class Taken(_Order):
    """A saga that was taken over, or what has to be agreed to before.

    Attributes:
        epoch: The claim's; None where nothing was claimed, since nothing of the saga stands, or nobody has agreed yet.
        records: Those of the saga's records that are to be taken back by this run, and those that a report lists.
        beyond: How many others there are.
        take_back: The steps that are to be taken back by this run.
        more: Whether there are further ones, for the next run.
        critical: The steps that a second person has to agree to, in words; nothing was claimed then.
        seen: The saga's epoch before the claim.
    """

    epoch: int | None
    records: list[Record]
    beyond: Counts = Counts()
    take_back: list[str]
    more: bool = False
    critical: list[str] = []
    seen: int = 0
