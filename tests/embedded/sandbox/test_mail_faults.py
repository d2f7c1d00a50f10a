"""Each step of a mail's dialogue with every fault, sent by aiosmtplib over a real socket."""

import asyncio

import aiosmtplib
import pytest

from embedded.sandbox.faults import Fault
from tests.embedded.sandbox.cases import MAIL, Case, send_mail
from tests.embedded.sandbox.servers import Asking
from tests.embedded.sandbox.test_http_faults import ANSWERED, GATED, until

EXPECTED = {
    Fault.REFUSE: "550",
    Fault.UNAVAILABLE: "451",
    Fault.THROTTLED: "421",
    Fault.DROP_BEFORE: "dropped",
    Fault.ERROR_AFTER: "451",
    Fault.DROP_AFTER: "dropped",
    Fault.GARBAGE: "unreadable",
    Fault.NO_HTTP: "unreadable",
    Fault.HUGE: "unreadable",
    Fault.STALE: "sent",
}


async def outcome(case: Case) -> str:
    """What the client made of it."""
    try:
        await case.call()
    except aiosmtplib.SMTPRecipientsRefused as refused:
        return code(refused.recipients[0].code)
    except aiosmtplib.SMTPResponseException as answer:
        return code(answer.code)
    except aiosmtplib.SMTPServerDisconnected:
        return "dropped"
    return "sent"


def code(number: int) -> str:
    """A reply's number; the client itself says -1 or 500 of what it cannot read."""
    return str(number) if number in (421, 451, 550) else "unreadable"


@pytest.mark.parametrize("fault", ANSWERED)
@pytest.mark.parametrize("step", MAIL)
async def test_a_fault_that_ends_the_step(ask: Asking, step: str, fault: Fault) -> None:
    """The client meets the fault; the mail is kept only if the fault came after the final dot and acts."""
    case = await send_mail(ask)
    await ask.plan(step, fault)
    assert await outcome(case) == EXPECTED[fault]
    assert case.effect is not None
    kept = fault is Fault.STALE or (step == "mail.end" and fault.acts)
    assert await case.effect() == kept
    (seen,) = await ask.seen(step)
    assert (seen["fault"], seen["acted"]) == (fault, kept and step == "mail.end")


@pytest.mark.parametrize("fault", GATED)
@pytest.mark.parametrize("step", MAIL)
async def test_a_fault_that_waits(ask: Asking, step: str, fault: Fault) -> None:
    """Nothing is answered; after the final dot the mail is kept at once, after the client has gone, or never."""
    case = await send_mail(ask)
    assert case.effect is not None
    await ask.plan(step, fault, seconds=0.1)
    call = asyncio.ensure_future(case.call())

    async def arrived() -> bool:
        return bool(await ask.seen(step))

    async def over() -> bool:
        return not (await ask.seen(step))[0]["under_way"]

    await until(arrived)
    if step == "mail.end" and fault is Fault.HANG_AFTER:
        await until(case.effect)
    else:
        assert not await case.effect()
    assert not call.done()
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    await until(over)
    assert await case.effect() == (step == "mail.end" and fault.acts)


async def test_a_fault_told_by_the_mail(ask: Asking) -> None:
    """A header Sandbox-Fault in the mail itself holds at its final dot."""
    text = b"Sandbox-Fault: refuse\r\nSubject: hi\r\n\r\nHello\r\n"
    port = ask.servers.ports["mail"]
    with pytest.raises(aiosmtplib.SMTPDataError):
        await aiosmtplib.send(
            text, sender="a@b.example", recipients=["c@b.example"], hostname="127.0.0.1", port=port
        )


async def test_a_fault_for_one_recipient(ask: Asking) -> None:
    """The others get the mail."""
    case = await send_mail(ask)
    await ask.plan("mail.rcpt", "refuse", contains="nobody@example.com")
    assert await outcome(case) == "sent"
