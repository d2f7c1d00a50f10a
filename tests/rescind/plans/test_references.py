"""What a plan's references are refused for, and what they become in the run."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import JsonValue

from rescind.plans import Fault
from rescind.plans._values import Unresolvable, resolve
from tests.rescind.plans.yard import checked, step, told

HUT = step("hut")


def using(**arguments: Any) -> list[tuple[str, str]]:
    """What is wrong with a second step that uses the first one's result."""
    return told(checked(HUT, step("b", arguments={"place": "p"} | arguments)))


@pytest.mark.parametrize(
    "arguments",
    [
        {"place": {"$ref": "hut.number"}},
        {"floors": {"$ref": "hut.floors"}},
        {"height": {"$ref": "hut.floors"}},
        {"parts": {"$ref": "hut.parts"}},
        {"parts": [{"name": {"$ref": "hut.number"}, "weight": {"$ref": "hut.floors"}}]},
        {"labels": {"of": {"$ref": "hut.number"}}},
        {"colour": {"$ref": "hut.colour"}},
        {"name": {"$ref": "hut.nickname", "otherwise": "hut"}},
        {"name": {"$ref": "hut.nickname", "otherwise": {"$ref": "hut.number"}}},
        {"place": {"$ref": "hut.parts.0.name", "otherwise": "none"}},
        {"floors": {"$ref": "hut.prices.roof", "otherwise": 1}},
        {"height": {"$ref": "hut.prices.roof"}},
        {"place": {"$join": ["no. ", {"$ref": "hut.floors"}, {"$join": [1, True]}]}},
        {"place": {"$join": [{"$ref": "hut.nickname", "otherwise": {"$ref": "hut.floors"}}]}},
        {"labels": {"$literal": {"$ref": "data"}}},
    ],
    ids=str,
)
def test_a_reference_that_fits(arguments: dict[str, Any]) -> None:
    """It is taken, wherever it stands, when its type is one that the tool takes there."""
    assert using(**arguments) == []


@pytest.mark.parametrize(
    ("arguments", "fault", "at"),
    [
        ({"place": {"$ref": "hat.number"}}, "unknown_step", "place"),
        ({"place": {"$ref": "b.number"}}, "bad_reference", "place"),
        ({"place": {"$ref": "hut.numbr"}}, "unknown_field", "place"),
        ({"place": {"$ref": "hut.number.first"}}, "unknown_field", "place"),
        ({"place": {"$ref": "hut.parts.first", "otherwise": ""}}, "unknown_field", "place"),
        ({"place": {"$ref": "hut.floors"}}, "wrong_type", "place"),
        ({"place": {"$ref": "hut"}}, "wrong_type", "place"),
        ({"floors": {"$ref": "hut.number"}}, "wrong_type", "floors"),
        ({"parts": {"$ref": "hut.prices"}}, "wrong_type", "parts"),
        ({"labels": {"$ref": "hut.prices"}}, "wrong_type", "labels"),
        ({"parts": [{"name": {"$ref": "hut.parts"}}]}, "wrong_type", "parts/0/name"),
        ({"floors": {"$join": ["1"]}}, "wrong_type", "floors"),
        ({"place": {"$ref": "hut.nickname"}}, "may_be_missing", "place"),
        ({"place": {"$ref": "hut.parts.0.name"}}, "may_be_missing", "place"),
        ({"place": {"$join": [{"$ref": "hut.nickname"}]}}, "may_be_missing", "place/$join/0"),
        ({"place": {"$join": [{"$ref": "hut.parts"}]}}, "wrong_type", "place/$join/0"),
        ({"place": {"$join": [None]}}, "bad_reference", "place/$join/0"),
        ({"place": {"$join": [["a"]]}}, "bad_reference", "place/$join/0"),
        (
            {"place": {"$join": [{"$ref": "hut.nickname", "otherwise": None}]}},
            "bad_reference",
            "place/$join/0/otherwise",
        ),
        ({"place": {"$ref": "hut.nickname", "otherwise": 3}}, "bad_arguments", "place"),
        (
            {"place": {"$ref": "hut.nickname", "otherwise": {"$ref": "hut.floors"}}},
            "wrong_type",
            "place/otherwise",
        ),
        ({"name": {"$ref": "hut.nickname", "otherwise": "Hut"}}, "bad_arguments", "name"),
        ({"place": {"$ref": ".number"}}, "bad_reference", "place"),
        ({"place": {"$ref": "hut."}}, "bad_reference", "place"),
        ({"place": {"$ref": 3}}, "bad_reference", "place"),
        ({"place": {"$ref": "hut.number", "default": ""}}, "bad_reference", "place"),
        ({"place": {"$env": "HOME"}}, "bad_reference", "place"),
        ({"plaice": {"$ref": "hut.number"}}, "bad_arguments", "plaice"),
    ],
    ids=str,
)
def test_a_reference_that_does_not_fit(arguments: dict[str, Any], fault: str, at: str) -> None:
    """It is refused at its place before anything runs."""
    assert using(**arguments) == [(fault, f"/steps/1/arguments/{at}")]


def test_what_else_is_wrong_beside_a_reference() -> None:
    """A reference hides no other mistake of the arguments."""
    assert using(place={"$ref": "hut.number"}, floors=0) == [("bad_arguments", "/steps/1/arguments/floors")]


def test_a_reference_is_a_need() -> None:
    """The step waits for the one whose result it uses, and two that use each other are a cycle."""
    one = step("a", arguments={"place": {"$ref": "b.number"}})
    two = step("b", arguments={"place": {"$join": [{"$ref": "a.number"}]}})
    assert told(checked(one, two)) == [("cycle", "/steps/0")]


def test_the_result_of_a_substitute() -> None:
    """A reference has to fit the result of every tool that may have made it."""
    hut = step("hut", on_failure=[{"action": "substitute", "tool": "radio.say", "arguments": {"text": "no"}}])
    found = checked(hut, step("b", arguments={"place": {"$ref": "hut.number"}}))
    assert told(found) == [("unknown_field", "/steps/1/arguments/place")]


def test_a_step_that_may_be_skipped() -> None:
    """What uses its result says what is used when there is none."""
    hut = step("hut", on_failure=[{"action": "skip"}])
    (only,) = checked(hut, step("b", arguments={"place": {"$ref": "hut.number"}})).problems
    assert (only.fault, "may be skipped" in only.message) == (Fault.MAY_BE_MISSING, True)
    assert (
        checked(hut, step("b", arguments={"place": {"$ref": "hut.number", "otherwise": "p"}})).problems == []
    )


RESULTS: dict[str, JsonValue] = {
    "a": {"n": 3, "x": None, "list": [{"t": "first"}], "yes": True},
    "flat": "text",
}


@pytest.mark.parametrize(
    ("value", "resolved"),
    [
        ({"$ref": "a.n"}, 3),
        ({"$ref": "a"}, RESULTS["a"]),
        ({"$ref": "a.x"}, None),
        ({"$ref": "a.list.0.t"}, "first"),
        ({"$ref": "a.list.7.t"}, None),
        ({"$ref": "flat.deeper"}, None),
        ({"$ref": "a.x", "otherwise": {"$ref": "flat"}}, "text"),
        ({"$ref": "gone.x", "otherwise": None}, None),
        ([{"in": {"$ref": "a.n"}}, 1], [{"in": 3}, 1]),
        ({"$join": ["n=", {"$ref": "a.n"}, ", ", {"$ref": "a.yes"}, 1.5]}, "n=3, true1.5"),
        ({"$literal": {"$ref": "a.n"}}, {"$ref": "a.n"}),
    ],
    ids=str,
)
def test_what_a_value_becomes(value: JsonValue, resolved: JsonValue) -> None:
    """References bring the result's part, joins a text, literals themselves."""
    assert resolve(value, RESULTS) == resolved


@pytest.mark.parametrize(
    "value", [{"$ref": "gone.x"}, {"$join": [{"$ref": "a.x"}]}, {"$join": [{"$ref": "a.list"}]}]
)
def test_a_value_that_is_not_there(value: JsonValue) -> None:
    """It is said, and never filled in."""
    with pytest.raises(Unresolvable):
        resolve(value, RESULTS)
