"""Telling operations: the words, and once by chat whatever becomes of an attempt."""

import dataclasses

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.operations import ALERTS, notice_in_words, tell_operations_by_chat, tell_operations_by_mail
from rescind import FailureNotice, Grade, Outcome, RecordState, Restoration, SagaReport, StepReport
from rescind._record import Compensation
from rescind.reconciliation import Alert, Question, Severity
from tests.activities.sandbox_world import Sandbox, new_address

NOTICE = FailureNotice(
    reference="Trip 17",
    key="rsc-17",
    report=SagaReport(
        saga="trip-17/run",
        outcome=Outcome.INCOMPLETE,
        failed_at="send_email#1",
        error="451 try later",
        steps=[
            StepReport(
                step="book_flight#1",
                tool="flights.book",
                summary="flights.book flight=LH123",
                state=RecordState.UNDONE,
                restoration=Restoration(grade=Grade.RESIDUE, detail="12.00 EUR are kept"),
            ),
            StepReport(
                step="send_email#1",
                tool="email.send",
                summary="email.send to=ada",
                state=RecordState.IN_DOUBT,
                compensation=Compensation.FAILED,
                error="look in email for the key rsc-9",
            ),
        ],
    ),
)


async def posted(sandbox: Sandbox, key: str) -> int:
    return sum(key in str(each["body"]["text"]) for each in await sandbox.get("/messages"))


def environment(*heartbeat: str) -> ActivityEnvironment:
    made = ActivityEnvironment()
    made.info = dataclasses.replace(made.info, heartbeat_details=list(heartbeat))
    return made


def notice(key: str) -> FailureNotice:
    return NOTICE.model_copy(update={"key": key})


def test_the_words() -> None:
    """The case, the original error, each step's outcome with its residue, and what a person has to look for."""
    words = notice_in_words(NOTICE)
    for part in ("Trip 17", "NOT clean", "send_email#1 failed: 451 try later", "12.00 EUR are kept", "rsc-9"):
        assert part in words


async def test_an_attempt_may_have_posted(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later one that finds the word of it does not post again."""
    monkeypatch.setenv("RESCIND_OPERATIONS_WEBHOOK", "ops")
    said: list[object] = []
    first = environment()
    first.on_heartbeat = said.append
    key = new_address()
    await first.run(tell_operations_by_chat, notice(key))
    assert said == ["posting"]
    with pytest.raises(ApplicationError, match="not posted twice") as refused:
        await environment("posting").run(tell_operations_by_chat, notice(key))
    assert refused.value.non_retryable
    assert await posted(sandbox, key) == 1


async def test_the_answer_of_the_chat_is_lost(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not tried again."""
    monkeypatch.setenv("RESCIND_OPERATIONS_WEBHOOK", "ops")
    key = new_address()
    await sandbox.misbehave("chat.post", "drop_after", contains=key)
    with pytest.raises(ApplicationError) as failed:
        await environment().run(tell_operations_by_chat, notice(key))
    assert failed.value.non_retryable
    assert await posted(sandbox, key) == 1


async def test_a_mail_is_one_by_its_id(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repeated one has the same Message-ID."""
    address = new_address()
    monkeypatch.setenv("RESCIND_OPERATIONS_ADDRESS", address)
    for _ in range(2):
        await environment().run(tell_operations_by_mail, NOTICE)
    assert len({mail["message_id"] for mail in await sandbox.mails(address)}) == 1


async def test_what_the_sweeper_asks(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is posted and mailed with what happened, how the world is, and what to do."""
    address = new_address()
    monkeypatch.setenv("RESCIND_OPERATIONS_WEBHOOK", "ops")
    monkeypatch.setenv("RESCIND_OPERATIONS_ADDRESS", address)
    question = Question(
        key="many-gone", what="40 of 41 are gone", world="nothing was undone", to_do="look at it"
    )
    alert = Alert(
        key=new_address(),
        number=1,
        severity=Severity.HIGH,
        reference="the sweeper of the namespace default",
        total=1,
        questions=[question],
    )
    for channel in ALERTS:
        await channel.send(alert)
    assert await posted(sandbox, alert.key) == 1
    (mail,) = await sandbox.mails(address)
    assert mail["subject"].strip() == alert.headline
    assert alert.headline == "HIGH: the sweeper of the namespace default needs a person: 1 question open"
    text = "\n".join(mail["text"].splitlines())
    assert "- 40 of 41 are gone\n  the world: nothing was undone\n  to do: look at it" in text


async def test_nobody_is_to_be_told(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without webhook and address nothing is sent."""
    monkeypatch.delenv("RESCIND_OPERATIONS_WEBHOOK", raising=False)
    monkeypatch.delenv("RESCIND_OPERATIONS_ADDRESS", raising=False)
    key = new_address()
    for tell in (tell_operations_by_chat, tell_operations_by_mail):
        await environment().run(tell, notice(key))
    assert await posted(sandbox, key) == 0


async def test_alerts(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are posted and mailed to where failures are told, and to nobody where nobody is named."""
    monkeypatch.setenv("RESCIND_OPERATIONS_WEBHOOK", "ops")
    alert = Alert(
        key=new_address(), number=1, severity=Severity.HIGH, reference="Trip 17", saga="trip-17/run", total=1
    )
    for channel in ALERTS:
        await channel.send(alert)
    assert await posted(sandbox, alert.key) == 1
    monkeypatch.delenv("RESCIND_OPERATIONS_WEBHOOK")
    monkeypatch.delenv("RESCIND_OPERATIONS_ADDRESS", raising=False)
    for channel in ALERTS:
        await channel.send(alert)
    assert await posted(sandbox, alert.key) == 1
