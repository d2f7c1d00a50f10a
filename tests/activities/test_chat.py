"""The chat tool against real sockets: one message, and an honest word about what an error proves."""

import json
import time
from email.utils import formatdate

import pytest

from activities.chat import NOTIFY, Notification, Notify, notify
from rescind import Call
from rescind.evidence import NothingHappened, Refused, Unproven, weigh
from tests.activities.webhook import webhook

CALL: Call[Notify] = Call(
    request=Notify(webhook="ops", text="50 % done, 日本"), key="rsc-1", undo_key="rsc-2"
)


def know(monkeypatch: pytest.MonkeyPatch, port: int, path: str = "/hook/hush") -> None:
    monkeypatch.setenv("RESCIND_CHAT_WEBHOOKS", json.dumps({"ops": f"http://127.0.0.1:{port}{path}"}))


def http(status: str, body: str = "", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", body]
    return "\r\n".join(lines).encode()


async def test_a_message_is_posted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The webhook gets it once, in the form that Slack takes."""
    async with webhook() as hook:
        know(monkeypatch, hook.port)
        assert await notify(CALL) == Notification(webhook="ops")
        assert hook.bodies == [{"text": "50 % done, 日本"}]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (http("400 Bad Request", "invalid_payload"), Refused),
        (http("403 Forbidden", "action_prohibited"), Refused),
        (http("404 Not Found", "no_service"), Refused),
        (http("429 Too Many", "", "Retry-After: 7"), NothingHappened),
        (http("425 Too Early"), NothingHappened),
        (http("408 Request Timeout"), Unproven),
        (http("409 Conflict"), Unproven),
        (http("500 Internal Server Error", "rollup_error"), Unproven),
        (http("503 Service Unavailable", "", "Retry-After: 7"), Unproven),
        (http("302 Found", "", "Location: /elsewhere"), Unproven),
        (http("200 OK", "no"), Unproven),
        (http("204 No Content"), Unproven),
        (b"garbage\r\n\r\n", Unproven),
        (b"", Unproven),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no", Unproven),
    ],
)
async def test_an_answer_that_is_no_success(
    monkeypatch: pytest.MonkeyPatch, answer: bytes, error: type[Exception]
) -> None:
    """It was sent once, not followed, the secret URL is nowhere in the error, and the evidence is right."""
    async with webhook() as hook:
        know(monkeypatch, hook.port)
        hook.answer = answer
        with pytest.raises(error) as caught:
            await notify(CALL)
        assert len(hook.bodies) == 1
    assert "hush" not in f"{caught.value!r} {caught.value.__cause__!r}"
    wait = weigh(caught.value, NOTIFY.proves).retry_after
    assert wait == (7 if b"429" in answer else None)


async def test_a_wait_until_a_date(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other form of Retry-After is understood too."""
    async with webhook() as hook:
        know(monkeypatch, hook.port)
        hook.answer = http("429 Too Many", "", f"Retry-After: {formatdate(time.time() + 60, usegmt=True)}")
        with pytest.raises(NothingHappened) as caught:
            await notify(CALL)
    assert 50 < (caught.value.evidence.retry_after or 0) <= 60


async def test_an_endless_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than a few bytes of it are read."""
    async with webhook() as hook:
        know(monkeypatch, hook.port)
        hook.answer = http("200 OK", "ok" * 1_000_000)
        with pytest.raises(Unproven):
            await notify(CALL)


async def test_an_answer_that_does_not_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the attempt's time the message may have been posted, and that is what the error says."""
    monkeypatch.setattr("activities._webhooks.time_left", lambda: 0.3)
    async with webhook() as hook:
        know(monkeypatch, hook.port)
        hook.hang = 1
        with pytest.raises(Unproven, match="may have been posted"):
            await notify(CALL)
        assert len(hook.bodies) == 1


@pytest.mark.parametrize("host", ["127.0.0.1:1", "no-such-host.invalid"])
async def test_nobody_listens(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    """Nothing happened, and another attempt makes sense."""
    monkeypatch.setenv("RESCIND_CHAT_WEBHOOKS", json.dumps({"ops": f"http://{host}/hush"}))
    with pytest.raises(NothingHappened) as caught:
        await notify(CALL)
    assert "ush" not in str(caught.value)


async def test_a_webhook_that_the_worker_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    """The call is refused with the names that it knows, and no URL."""
    know(monkeypatch, 1)
    call: Call[Notify] = Call(request=Notify(webhook="other", text="x"), key="rsc-1", undo_key="rsc-2")
    with pytest.raises(Refused, match="known: ops") as caught:
        await notify(call)
    assert "ush" not in str(caught.value)


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/hush", "hush", "http://h:ush/"])
async def test_an_address_that_is_none(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """The call is refused, and the address is not shown."""
    monkeypatch.setenv("RESCIND_CHAT_WEBHOOKS", json.dumps({"ops": url}))
    with pytest.raises(Refused) as caught:
        await notify(CALL)
    assert "ush" not in str(caught.value)
