"""What is taken out of other people's words before they leave this process."""

import pytest
from pydantic import JsonValue

from rescind._secrets import without_secrets


def test_secrets_in_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values of secret variables and passwords in addresses go, wherever they stand; short and other ones stay."""
    monkeypatch.setenv("SOME_API_KEY", "sk-12345678")
    monkeypatch.setenv("SHORT_TOKEN", "abc")
    monkeypatch.setenv("SOME_DSN", "postgresql://user:hunter2hunter2@host/db")
    monkeypatch.setenv("SOME_PLACE", "a-bucket-of-mine")
    said: JsonValue = {
        "a": ["x sk-12345678 y", 7, None, True],
        "sk-12345678": "hunter2hunter2 abc a-bucket-of-mine",
    }
    assert without_secrets(said) == {
        "a": ["x [SOME_API_KEY] y", 7, None, True],
        "[SOME_API_KEY]": "[SOME_DSN] abc a-bucket-of-mine",
    }
