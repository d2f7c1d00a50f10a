"""Text messages and transfers against the sandbox: once for each key whatever happens, and an honest word of it."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from activities._http import Unreadable
from activities.payments import (
    TRANSFER_MONEY,
    TransferMoney,
    find_transfer,
    funds_are_there,
    transfer_money,
)
from activities.sms import SEND_SMS, SendSms
from rescind import Absent, Applied, Repeat, Risk, Tool
from rescind.evidence import REFUSED, Refused, weigh
from tests.activities.sandbox_world import Sandbox, call_of


@dataclass(frozen=True)
class Kind:
    """One of the two providers."""

    tool: Tool[Any, Any]
    request: Callable[[str], Any]
    listed: str

    async def forward(self, call: Any) -> Any:
        """One attempt."""
        return await self.tool.forward(call)

    async def done(self, sandbox: Sandbox, text: str) -> int:
        """How often the provider has done what carries this text."""
        return sum(text in each.values() for each in await sandbox.get(self.listed))


def sms(text: str) -> SendSms:
    return SendSms(to="+491700000001", text=text)


def money(purpose: str, source: str = "DE02AAAA1") -> TransferMoney:
    return TransferMoney(source=source, target="DE02BBBB2", amount=4200, purpose=purpose)


KINDS = [
    Kind(SEND_SMS, sms, "/sms/messages"),
    Kind(TRANSFER_MONEY, money, "/payments/transfers"),
]
both = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.tool.name)


@pytest.fixture
def text() -> str:
    return uuid.uuid4().hex


@both
async def test_twice_with_one_key_and_once_with_another(sandbox: Sandbox, kind: Kind, text: str) -> None:
    """Each key has one effect, and the second attempt gets the first one's result."""
    call = call_of(kind.request(text))
    assert await kind.forward(call) == await kind.forward(call)
    assert await kind.done(sandbox, text) == 1
    await kind.forward(call_of(kind.request(text)))
    assert await kind.done(sandbox, text) == 2


@both
@pytest.mark.parametrize("fault", ["error_after", "drop_after", "hang_after", "garbage", "no_http"])
async def test_the_answer_is_lost(sandbox: Sandbox, kind: Kind, text: str, fault: str) -> None:
    """It is unknown, and another attempt with the key does not do it again."""
    call = call_of(kind.request(text))
    await sandbox.misbehave(kind.tool.name, fault)
    with pytest.raises((httpx.HTTPError, Unreadable)) as lost:
        await kind.forward(call)
    assert not weigh(lost.value, kind.tool.proves).nothing_happened
    await kind.forward(call)
    assert await kind.done(sandbox, text) == 1


@both
@pytest.mark.parametrize(("fault", "proven"), [("refuse", True), ("throttled", True), ("drop_before", False)])
async def test_nothing_was_done(sandbox: Sandbox, kind: Kind, text: str, fault: str, proven: bool) -> None:
    """Nothing is there, and the error proves it where the provider has said so."""
    call = call_of(kind.request(text))
    await sandbox.misbehave(kind.tool.name, fault)
    with pytest.raises(httpx.HTTPError) as failed:
        await kind.forward(call)
    assert weigh(failed.value, kind.tool.proves).nothing_happened is proven
    assert await kind.done(sandbox, text) == 0


@both
async def test_a_worker_without_the_address(
    sandbox: Sandbox, kind: Kind, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused with the name of what has to be set."""
    name = f"RESCIND_{kind.tool.name.partition('.')[0].upper()}_URL"
    monkeypatch.delenv(name)
    with pytest.raises(Refused, match=name):
        await kind.forward(call_of(kind.request(text)))


async def test_a_transfer_is_looked_up(sandbox: Sandbox, text: str) -> None:
    """Absent before, found after; no answer is no verdict."""
    call = call_of(money(text))
    assert await find_transfer(call) == Absent()
    made = await transfer_money(call)
    assert await find_transfer(call) == Applied(result=made)
    await sandbox.misbehave("payments.find", "unavailable")
    with pytest.raises(httpx.HTTPStatusError):
        await find_transfer(call)


async def test_an_account_without_money(sandbox: Sandbox, text: str) -> None:
    """The bank's 402 is a refusal: nothing happened, and no retry will help."""
    source = f"DE02{text[:16].upper()}"
    await sandbox.sold_out("payments", source)
    with pytest.raises(httpx.HTTPStatusError, match="too little") as failed:
        await transfer_money(call_of(money(text, source)))
    assert weigh(failed.value, TRANSFER_MONEY.proves) == REFUSED
    assert await find_transfer(call_of(money(text, source))) == Absent()


async def test_an_account_that_was_emptied_since(sandbox: Sandbox, text: str) -> None:
    """The check before the call refuses it, and changes nothing; without an answer it is no verdict."""
    source = f"DE03{text[:16].upper()}"
    call = call_of(money(text, source))
    await funds_are_there(call)
    await sandbox.misbehave("payments.funds", "unavailable")
    with pytest.raises(httpx.HTTPStatusError) as away:
        await funds_are_there(call)
    assert weigh(away.value, TRANSFER_MONEY.proves).try_again
    await sandbox.sold_out("payments", source)
    with pytest.raises(Refused, match=f"{source} has less than 4200 eur by now"):
        await funds_are_there(call)
    assert await find_transfer(call) == Absent()


def test_two_people_are_asked() -> None:
    """Both are irreversible and critical; only the bank can be asked before and afterwards."""
    for tool in (SEND_SMS, TRANSFER_MONEY):
        assert (tool.is_reversible, tool.risk, tool.repeats) == (False, Risk.CRITICAL, Repeat.DEDUPLICATED)
    assert (SEND_SMS.lookup, TRANSFER_MONEY.lookup) == (None, find_transfer)
    assert (SEND_SMS.check, TRANSFER_MONEY.check) == (None, funds_are_there)


@pytest.mark.parametrize("number", ["0170 1234567", "+0170123456", "+49", ""])
def test_a_number_that_is_none(number: str) -> None:
    """It is refused before anything is sent."""
    with pytest.raises(ValueError, match="to"):
        SendSms(to=number, text="x")
