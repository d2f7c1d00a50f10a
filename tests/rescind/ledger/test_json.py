"""Values on their way through the ledger."""

from collections.abc import Callable

import pytest
from pydantic import JsonValue

from rescind._states import Outcome
from rescind.ledger import EffectAddress, Ledger, Replay
from tests.rescind.ledger.steps import begin, go

VALUES: list[JsonValue] = [
    {"text": "a\x00b"},
    {"half": "\ud800"},
    {"$json": "1"},
    {"$json": {"a": 1}},
    [1e308, float("inf"), -0.5],
    "\\u0000",
    {"emoji": "🚀", "nested": [None, {"a": []}]},
    "x" * 3_000_000,
]


@pytest.mark.parametrize(
    "value",
    VALUES,
    ids=["nul", "surrogate", "own key", "own key nested", "infinity", "escape", "plain", "3 MB"],
)
async def test_report_with_any_result(
    ledger: Ledger, address: Callable[..., EffectAddress], value: JsonValue
) -> None:
    """A result that Python's JSON can write is never the reason that a report is lost, and comes back equal."""
    at = address()
    await go(ledger, at)
    await ledger.finish(at, 1, Outcome.APPLIED, result=value, error="bad \x00 text \ud800")
    assert await begin(ledger, at) == Replay(value)
