"""The sandbox's chat takes what Slack's webhooks take."""

from typing import Any

import pytest

from tests.embedded.sandbox.cases import new
from tests.embedded.sandbox.servers import Asking


async def kept(ask: Asking, hook: str) -> list[dict[str, Any]]:
    """What came to this webhook."""
    return [each["body"] for each in (await ask.http.get("/messages")).json() if each["hook"] == hook]


async def test_a_message(ask: Asking) -> None:
    """It is answered as Slack answers, and is kept whole."""
    hook, body = new(), {"text": "Done ✓", "channel": "#ops"}
    answer = await ask.http.post(f"/hook/{hook}", json=body)
    assert (answer.status_code, answer.text) == (200, "ok")
    assert await kept(ask, hook) == [body]


async def test_a_message_as_a_form(ask: Asking) -> None:
    """Slack's older way, a form field named payload, is taken too."""
    hook = new()
    assert (await ask.http.post(f"/hook/{hook}", data={"payload": '{"text": "hi"}'})).text == "ok"
    assert await kept(ask, hook) == [{"text": "hi"}]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "invalid_payload"),
        (b"{", "invalid_payload"),
        (b'["text"]', "invalid_payload"),
        (b'{"text": 1}', "invalid_payload"),
        (b'{"text": "\\u0000"}', "invalid_payload"),
        (b'{"text": "hi", "more": ["\\u0000"]}', "invalid_payload"),
        (b'{"text": "\\ud800"}', "invalid_payload"),
        (b"{}", "no_text"),
        (b'{"text": ""}', "no_text"),
        (b'{"text": "' + b"x" * 40_001 + b'"}', "msg_too_long"),
    ],
)
async def test_a_bad_payload(ask: Asking, content: bytes, said: str) -> None:
    """It is refused with 400 and Slack's word for it, and nothing is kept."""
    hook = new()
    answer = await ask.http.post(f"/hook/{hook}", content=content)
    assert (answer.status_code, answer.text) == (400, said)
    assert await kept(ask, hook) == []


async def test_an_escape_that_is_text(ask: Asking) -> None:
    """A backslash and what follows it, sent as text, is kept as text."""
    hook = new()
    assert (await ask.http.post(f"/hook/{hook}", json={"text": r"\u0000"})).text == "ok"
    assert await kept(ask, hook) == [{"text": r"\u0000"}]
