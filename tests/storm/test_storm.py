"""Orders in the storm: each is all done or all undone, and what is counted outside is what the ledger counts."""

import os
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.storm.orders import storm

pytestmark = pytest.mark.timeout(3600)
ORDERS = 1000 if os.environ.get("RESCIND_SOAK") else 50


async def test_orders_in_the_storm(
    stack_environment: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No order is half done, only mails are in doubt, and the world's counts equal the ledger's exactly."""
    came = await storm(ORDERS, stack_environment, tmp_path)
    with capsys.disabled():
        sys.stdout.write(f"\n{came.summary()}\n")
    assert [problem for fate in came.fates for problem in fate.problems] == []
    assert came.killed >= 2
    done = came.ends["COMPLETED"]
    confirmed = Counter(fate.status for fate in came.fates)["confirmed"]
    invoiced = sum(len(fate.invoices) for fate in came.fates)
    mailed = sum(len(fate.mails) for fate in came.fates if fate.closed == "COMPLETED")
    assert (confirmed, invoiced, mailed) == (done, done, done)
    by_ledger = {tool: came.effects(tool, "applied") for tool, _, _ in came.ledger}
    assert by_ledger == {"crm.set_status": done, "billing.create_invoice": done, "email.send": done}
    assert came.effects("email.send", "in_doubt") == came.doubtful
    states = {effect for _, effect, _ in came.ledger}
    assert states <= {"applied", "absent", "undone", "in_doubt"}
    assert (came.verified.sagas, came.verified.differences) == (len(came.fates), [])
