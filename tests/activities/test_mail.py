"""The mail tool against a real SMTP server: what is proven at each stage, and the correction."""

import aiosmtplib
import pytest

from activities._smtp import message_id
from activities.mail import SEND_EMAIL, Email, SendEmail, SentUnproven, correct_email, send_email
from rescind import Grade, Receipt, Repeat
from rescind._states import Outcome
from rescind.evidence import weigh
from tests.activities.sandbox_world import Sandbox, call_of, new_address

# The sandbox says no as 550, "later" as 451, "too many" as 421.
BEFORE = [
    (stage, fault, words)
    for stage in ("mail.from", "mail.rcpt")
    for fault, words in (
        ("refuse", Outcome.REFUSED),
        ("unavailable", Outcome.NOTHING),
        ("throttled", Outcome.NOTHING),
        ("drop_before", Outcome.NOTHING),
        ("hang", Outcome.NOTHING),
        ("garbage", Outcome.NOTHING),
    )
]


async def test_sent_and_corrected(sandbox: Sandbox) -> None:
    """The Message-ID is made of the key; the correction answers the mail and has one of its own."""
    to = new_address()
    call = call_of(SendEmail(to=to, subject="50 % · 日本", text="Grüße\n.\nend", correction="Not so."))
    result = await send_email(call)
    (mail,) = await sandbox.mails(to)
    assert mail["message_id"] == result.message_id == message_id(call.key)
    assert mail["subject"] == "50 % · 日本"
    assert mail["text"].splitlines() == ["Grüße", ".", "end"]
    undone = await correct_email(Receipt(call=call, result=result))
    assert undone.grade is Grade.RESIDUE
    _, correction = await sandbox.mails(to)
    assert correction["message_id"] == message_id(call.undo_key)
    assert correction["headers"]["In-Reply-To"] == result.message_id
    assert correction["text"].strip() == "Not so."


async def test_a_correction_by_default(sandbox: Sandbox) -> None:
    """It names the mail's subject."""
    call = call_of(SendEmail(to=new_address(), subject="Booked", text="x"))
    await correct_email(Receipt(call=call, result=Email(message_id="<a@b>", to=call.request.to)))
    (correction,) = await sandbox.mails(call.request.to)
    assert "“Booked” does not hold any more" in correction["text"]


async def test_left_as_it_is(sandbox: Sandbox) -> None:
    """Nothing more is sent, and the restoration says what is left."""
    call = call_of(SendEmail(to=new_address(), subject="x", text="x", on_undo="leave"))
    undone = await correct_email(Receipt(call=call, result=await send_email(call)))
    assert undone.grade is Grade.RESIDUE
    assert len(await sandbox.mails(call.request.to)) == 1


@pytest.mark.parametrize(("stage", "fault", "outcome"), BEFORE)
async def test_before_the_message(sandbox: Sandbox, stage: str, fault: str, outcome: Outcome) -> None:
    """Nothing was sent: for good with a 5xx, for now with anything else; the server's words are kept."""
    call = call_of(SendEmail(to=new_address(), subject="x", text="x"))
    await sandbox.misbehave(stage, fault)
    with pytest.raises(Exception, match="Nothing was sent") as failed:
        await send_email(call)
    assert weigh(failed.value, SEND_EMAIL.proves).outcome is outcome
    assert await sandbox.mails(call.request.to) == []


@pytest.mark.parametrize(
    ("fault", "arrives"),
    [
        *((fault, False) for fault in ("refuse", "unavailable", "drop_before", "hang")),
        *((fault, True) for fault in ("error_after", "drop_after", "hang_after", "garbage")),
    ],
)
async def test_after_the_final_dot(sandbox: Sandbox, fault: str, *, arrives: bool) -> None:
    """Whatever is answered or not, it is unknown whether the mail arrives, and the error says what to look for."""
    call = call_of(SendEmail(to=new_address(), subject="x", text="x"))
    await sandbox.misbehave("mail.end", fault)
    with pytest.raises(SentUnproven, match=call.key) as failed:
        await send_email(call)
    assert weigh(failed.value, SEND_EMAIL.proves).outcome is Outcome.UNKNOWN
    assert len(await sandbox.mails(call.request.to)) == arrives
    assert isinstance(failed.value.__cause__, aiosmtplib.SMTPException)


async def test_it_is_never_sent_twice() -> None:
    """SMTP can't be asked whether a mail was sent, so a mail of which that is unknown is not sent again."""
    assert SEND_EMAIL.repeats is Repeat.NEVER
    assert SEND_EMAIL.lookup is None


@pytest.mark.parametrize("server", ["127.0.0.1:1", "no-such-host.invalid:25"])
async def test_nobody_listens(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, server: str) -> None:
    """Nothing happened, and may later."""
    monkeypatch.setenv("RESCIND_SMTP", server)
    with pytest.raises(Exception, match="Nothing was sent") as failed:
        await send_email(call_of(SendEmail(to=new_address(), subject="x", text="x")))
    assert weigh(failed.value, None).outcome is Outcome.NOTHING
