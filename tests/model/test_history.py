"""The comparison with Temporal's histories finds what it is there to find."""

from dataclasses import replace
from typing import Any, TypeAlias

import pytest
from pydantic import JsonValue

from rescind import RecordState
from tests.model.history import Histories
from tests.model.test_world import row

Told: TypeAlias = tuple[str, dict[str, Any], Any]

ORDER: dict[str, Any] = {"saga": "w/r", "step": "make_thing#1", "seq": [1], "tool": "toy.make_thing"}
KEY = "w/r/make_thing#1"
REQUEST: JsonValue = {"name": "s0"}
RESULT: JsonValue = {"name": "s0"}
EXACT: JsonValue = {"grade": "exact", "detail": None}
ASKED: Told = ("make_thing#1", {**ORDER, "request": REQUEST}, None)
APPLIED: Told = ("make_thing#1", ORDER, {"state": "applied", "result": RESULT, "changed": True})
SETTLED: Told = ("make_thing#1/settle-1", ORDER, {"state": "applied", "result": RESULT, "changed": True})
UNDONE: Told = ("make_thing#1/undo-2", ORDER, EXACT)


@pytest.mark.parametrize(
    ("told", "state", "committed", "said"),
    [
        ([APPLIED], RecordState.APPLIED, True, []),
        ([SETTLED], RecordState.APPLIED, True, []),
        ([APPLIED, UNDONE], RecordState.UNDONE, False, []),
        (
            [APPLIED],
            RecordState.ABSENT,
            False,
            ["took effect by its history, and the ledger has it as absent"],
        ),
        ([APPLIED], RecordState.UNDONE, True, ["is done by its history, and does not stand"]),
        ([APPLIED, UNDONE], RecordState.APPLIED, True, ["is committed, and its history has not done it"]),
        ([], RecordState.APPLIED, True, ["is committed, and its history has not done it"]),
    ],
)
def test_one_step(told: list[Told], state: RecordState, committed: bool, said: list[str]) -> None:
    """What agrees is silent, and each contradiction is named."""
    found = Histories()
    for each in (ASKED, *told):
        found.add(each)
    restoration: JsonValue = EXACT if state is RecordState.UNDONE else None
    on_record = replace(row(state), key=KEY, request=REQUEST, result=RESULT, restoration=restoration)
    assert list(found.wrong([on_record], committed=committed, taken_over=False)) == [
        f"{KEY} {what}" for what in said
    ]


def test_what_nobody_has_asked_for() -> None:
    """Another request, another result and another restoration are named."""
    found = Histories()
    for each in (ASKED, UNDONE, APPLIED):
        found.add(each)
    on_record = replace(row(RecordState.UNDONE), key=KEY, request={"name": "s1"}, result={"name": "s1"})
    assert list(found.wrong([on_record], committed=False, taken_over=False)) == [
        f"{KEY} is on record with {{'name': 's1'}}, and no history has asked for that",
        f"{KEY} is undone as None, and by its history as {EXACT}",
        f"{KEY} has the result {{'name': 's1'}}, and its history {RESULT}",
    ]


@pytest.mark.parametrize(
    ("result", "lossy", "agrees"),
    [
        ({"name": "s0"}, True, True),
        ({"name": "s0"}, False, False),
        ({"name": "s1"}, True, False),
        ({"name": "s0", "note": "", "more": 1}, True, False),
    ],
)
def test_what_a_person_told(result: JsonValue, lossy: bool, agrees: bool) -> None:
    """Where a report may be lost, a person may have told the result in short, but not another one."""
    found = Histories()
    long: JsonValue = {"name": "s0", "note": ""}
    for each in (ASKED, ("make_thing#1", ORDER, {"state": "applied", "result": long, "changed": True})):
        found.add(each)
    on_record = replace(row(RecordState.APPLIED), key=KEY, request=REQUEST, result=result)
    assert (not list(found.wrong([on_record], committed=True, taken_over=False, lossy=lossy))) == agrees
