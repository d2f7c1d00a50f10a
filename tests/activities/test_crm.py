"""The CRM tool against the sandbox: the status goes back to what it was, and nobody else's is touched."""

from contextlib import suppress

import httpx
import pytest

from activities._http import Unreadable
from activities.crm import OrderStatus, SetStatus, find_status, set_status, set_status_back
from rescind import Absent, Applied, Call, Grade, Receipt, Unknown
from rescind.evidence import Conflict, NothingHappened, Refused
from tests.activities.attempts import Remembering
from tests.activities.sandbox_world import Sandbox, call_of

Set = Call[SetStatus]


async def set_on(sandbox: Sandbox, status: str = "pending") -> tuple[Remembering, Set]:
    name = await sandbox.new_order(status)
    return Remembering(), call_of(SetStatus(order=name, status="confirmed"))


def receipt(ledger: Remembering, call: Set, result: OrderStatus) -> Receipt[SetStatus, OrderStatus]:
    return Receipt(call=call, before=ledger.image, result=result)


async def test_set_and_set_back(sandbox: Sandbox) -> None:
    """The order is exactly as before, at the second undo too; before is not a constant."""
    for status in ("pending", "on_hold"):
        ledger, call = await set_on(sandbox, status)
        before = await sandbox.order(call.request.order)
        result = await ledger.run_async(set_status, call)
        assert result == OrderStatus(order=call.request.order, status="confirmed", was=status)
        assert (await sandbox.order(call.request.order))["reference"] == call.key
        assert await ledger.run_async(find_status, call) == Applied(result=result)
        for _ in range(2):
            undone = await ledger.run_async(set_status_back, receipt(ledger, call, result))
            assert undone.grade is Grade.EXACT
            assert await sandbox.order(call.request.order) == before
        assert await ledger.run_async(find_status, call) == Absent()


async def test_a_second_attempt_of_one_call(sandbox: Sandbox) -> None:
    """It sees its own work, is no no-op, and keeps the first before-image."""
    ledger, call = await set_on(sandbox)
    assert await ledger.run_async(set_status, call) == await ledger.run_async(set_status, call)
    assert len(await sandbox.calls("crm.change", key=None)) >= 1
    assert ledger.image is not None


async def test_already_so(sandbox: Sandbox) -> None:
    """Nothing is changed, and the result says so."""
    ledger, call = await set_on(sandbox, "confirmed")
    assert not (await ledger.run_async(set_status, call)).changed
    assert (await sandbox.order(call.request.order))["reference"] is None


async def test_no_such_order(sandbox: Sandbox) -> None:
    """It is refused in words."""
    with pytest.raises(Refused, match="no order 'O-none'"):
        await Remembering().run_async(set_status, call_of(SetStatus(order="O-none", status="confirmed")))


async def test_somebody_changed_it_since(sandbox: Sandbox) -> None:
    """Conflict; their status stays, and the same status with another reference is theirs too."""
    for status in ("shipped", "confirmed"):
        ledger, call = await set_on(sandbox)
        result = await ledger.run_async(set_status, call)
        await sandbox.change_order(call.request.order, status, "by hand")
        with pytest.raises(Conflict, match="by hand"):
            await ledger.run_async(set_status_back, receipt(ledger, call, result))
        assert (await sandbox.order(call.request.order))["status"] == status
        assert isinstance(await ledger.run_async(find_status, call), Unknown)


async def test_somebody_else_in_the_same_moment(sandbox: Sandbox) -> None:
    """The conditional write is not taken, nothing of theirs is lost, and the next attempt looks again."""
    ledger, call = await set_on(sandbox)
    await sandbox.misbehave("crm.get", "stale", seconds=600, calls=1)
    with pytest.raises((NothingHappened, Refused)):
        await ledger.run_async(set_status, call)
    assert (await sandbox.order(call.request.order))["status"] == "pending"


@pytest.mark.parametrize("fault", ["error_after", "drop_after", "hang_after", "garbage", "no_http"])
async def test_the_answer_is_lost(sandbox: Sandbox, fault: str) -> None:
    """It took effect, the lookup finds it, and an undo of it is exact."""
    ledger, call = await set_on(sandbox)
    before = await sandbox.order(call.request.order)
    await sandbox.misbehave("crm.change", fault)
    with pytest.raises((httpx.HTTPError, Unreadable)):
        await ledger.run_async(set_status, call)
    found = await ledger.run_async(find_status, call)
    assert isinstance(found, Applied)
    await ledger.run_async(set_status_back, receipt(ledger, call, found.result))
    assert await sandbox.order(call.request.order) == before


async def test_an_old_read_during_the_undo(sandbox: Sandbox) -> None:
    """An answer that shows the time before the step is not taken for an undone step."""
    ledger, call = await set_on(sandbox)
    result = await ledger.run_async(set_status, call)
    await sandbox.misbehave("crm.get", "stale", seconds=600)
    undone = None
    with suppress(Unreadable):
        undone = await ledger.run_async(set_status_back, receipt(ledger, call, result))
    state = (await sandbox.order(call.request.order))["status"]
    assert (undone is None) == (state == "confirmed")
