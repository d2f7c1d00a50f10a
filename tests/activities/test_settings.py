"""The settings of the tools."""

import re

import pytest

from activities.settings import settings
from rescind.evidence import Refused


def test_they_follow_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each reading shows the environment of that moment."""
    monkeypatch.setenv("RESCIND_GIT_REMOTES", '{"app": "/one"}')
    assert settings().git_remote("app") == "/one"
    monkeypatch.setenv("RESCIND_GIT_REMOTES", '{"app": "/two"}')
    assert settings().git_remote("app") == "/two"


def test_an_unknown_name_is_refused_without_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message has the names that are known and the variable, and no address."""
    monkeypatch.setenv(
        "RESCIND_DATABASES", '{"b": "postgresql://u:secret@h/b", "a": "postgresql://u:secret@h/a"}'
    )
    with pytest.raises(Refused, match=re.escape("no database 'c' (known: a, b)")) as caught:
        settings().database("c")
    assert "RESCIND_DATABASES" in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "secret" not in repr(settings())


@pytest.mark.parametrize("value", ["{secret", '{"a": ["secret"]}', '["secret"]'])
def test_a_malformed_variable_is_refused_without_its_value(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    """The message says which variable, and not what is in it."""
    monkeypatch.setenv("RESCIND_CHAT_WEBHOOKS", value)
    with pytest.raises(Refused, match=r"(?i)chat_webhooks") as caught:
        settings()
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
