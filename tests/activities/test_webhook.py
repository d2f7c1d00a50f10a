"""The tool that posts events against real sockets: one event, and an honest word about what an error proves."""

import json

import pytest

from activities.webhook import POST_EVENT, PostedEvent, PostEvent, post_event
from rescind import Call, Repeat, Risk
from rescind.evidence import NothingHappened, Refused, Unproven, weigh
from tests.activities.sandbox_world import Sandbox, call_of
from tests.activities.test_chat import http
from tests.activities.webhook import webhook

CALL: Call[PostEvent] = Call(
    request=PostEvent(webhook="shop", event="order.shipped", data={"order": "O-1", "parts": [1, 2]}),
    key="rsc-1",
    undo_key="rsc-2",
)


def know(monkeypatch: pytest.MonkeyPatch, port: int) -> None:
    monkeypatch.setenv("RESCIND_WEBHOOKS", json.dumps({"shop": f"http://127.0.0.1:{port}/hush"}))


async def test_an_event_is_posted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other program gets it once, with the call's key as its id, and may answer any status of success."""
    async with webhook() as hook:
        know(monkeypatch, hook.port)
        hook.answer = http("204 No Content")
        assert await post_event(CALL) == PostedEvent(webhook="shop", status=204)
        data = {"order": "O-1", "parts": [1, 2]}
        assert hook.bodies == [{"id": "rsc-1", "event": "order.shipped", "data": data}]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (http("400 Bad Request", "no such event"), Refused),
        (http("410 Gone"), Refused),
        (http("429 Too Many", "", "Retry-After: 7"), NothingHappened),
        (http("409 Conflict"), Unproven),
        (http("503 Service Unavailable", "", "Retry-After: 7"), Unproven),
        (http("302 Found", "", "Location: /elsewhere"), Unproven),
        (b"garbage\r\n\r\n", Unproven),
        (b"", Unproven),
    ],
)
async def test_an_answer_that_is_no_success(
    monkeypatch: pytest.MonkeyPatch, answer: bytes, error: type[Exception]
) -> None:
    """It was sent once, the secret URL is nowhere in the error, and the evidence is right."""
    async with webhook() as hook:
        know(monkeypatch, hook.port)
        hook.answer = answer
        with pytest.raises(error) as caught:
            await post_event(CALL)
        assert len(hook.bodies) == 1
    assert "hush" not in f"{caught.value!r} {caught.value.__cause__!r}"
    assert weigh(caught.value, POST_EVENT.proves).retry_after == (7 if b"429" in answer else None)


async def test_a_webhook_that_the_worker_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    """The call is refused with the names that it knows, and no URL."""
    know(monkeypatch, 1)
    with pytest.raises(Refused, match=r"known: shop.*RESCIND_WEBHOOKS") as caught:
        await post_event(call_of(PostEvent(webhook="other", event="x")))
    assert "hush" not in str(caught.value)


async def test_the_receiver_of_the_sandbox(sandbox: Sandbox) -> None:
    """It keeps the event, also where its answer is lost, and a person is asked then: it is never posted twice."""
    call = call_of(PostEvent(webhook="ops", event="order.shipped"))
    await sandbox.misbehave("webhook.post", "drop_after", contains=call.key)
    with pytest.raises(Unproven, match="ask its owner"):
        await post_event(call)
    kept = [each for each in await sandbox.get("/webhooks/events") if each["body"]["id"] == call.key]
    assert len(kept) == 1
    assert (POST_EVENT.repeats, POST_EVENT.risk) == (Repeat.NEVER, Risk.HIGH)
