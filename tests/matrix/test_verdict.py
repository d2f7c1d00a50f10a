"""What is opened again by a late report is judged by what it is open for, and nothing else may be left."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from rescind import RecordState, SagaState
from rescind.ledger import SagaView
from tests.matrix.bench import Ended
from tests.matrix.cells import Cell, Step, Trouble
from tests.matrix.verdict import judge
from tests.model.test_world import row

WOKEN = Cell(Step.BUCKET, Trouble.STOPPED, doomed=True)
BUCKET, BRANCH = "new: buckets / CELL / tags", "new: git / CELL / refs"


def view(tool: str, state: SagaState) -> SagaView:
    """A saga with one effect in doubt."""
    effect = row(RecordState.IN_DOUBT)
    return SagaView("s", state, 0, None, (), None, datetime.now(UTC), (replace(effect, tool=tool),), ())


@pytest.mark.parametrize(
    ("cell", "tool", "state", "changes", "right"),
    [
        (WOKEN, "s3.create_bucket", SagaState.UNWINDING, [BUCKET], True),
        (WOKEN, "s3.create_bucket", SagaState.UNWINDING, [], True),
        (WOKEN, "s3.create_bucket", SagaState.UNWINDING, [BUCKET, BRANCH], False),
        (WOKEN, "git.create_branch", SagaState.UNWINDING, [], False),
        (WOKEN, "s3.create_bucket", SagaState.CLOSED, [BUCKET], False),
        (replace(WOKEN, trouble=Trouble.LATE), "s3.create_bucket", SagaState.UNWINDING, [BUCKET], False),
    ],
)
def test_opened_again(cell: Cell, tool: str, state: SagaState, changes: list[str], right: bool) -> None:
    """By a worker that woke, for its own step."""
    verdict = judge(Ended(cell, "SagaUndone"), changes, [], view(tool, state))
    assert (not verdict.problems) is right
