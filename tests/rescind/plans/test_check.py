"""What a plan is refused for, alone in each step: its form, its tools, its arguments."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import JsonValue

from rescind.plans import Fault, Plan, check
from tests.rescind.plans.yard import ALL, TOOLS, checked, step, told

SOUND = [
    step("a", arguments={"place": "hill", "floors": 2, "parts": [{"name": "door"}]}),
    step("b", "site.look", "a"),
    step("c", "radio.say"),
]


def test_a_sound_plan() -> None:
    """Nothing is wrong, and the point of no return comes last, though nothing says so."""
    found = checked(SOUND[2], SOUND[0], SOUND[1], approved=["radio.say"])
    assert (found.problems, found.warnings) == ([], [])
    assert found.stages == [["a", "b"], ["c"]]


def test_a_plan_that_is_a_model_already() -> None:
    """It is checked like plain data."""
    plan = Plan.model_validate({"goal": "a hill", "steps": SOUND})
    assert check(plan, TOOLS).problems == []


@pytest.mark.parametrize(
    ("plain", "fault", "place"),
    [
        ("nonsense", "not_a_plan", ""),
        (["steps"], "not_a_plan", ""),
        ({}, "not_a_plan", "/steps"),
        ({"steps": []}, "not_a_plan", "/steps"),
        ({"steps": [SOUND[0]], "stages": 1}, "not_a_plan", "/stages"),
        ({"steps": [SOUND[0]], "parallel": 0}, "not_a_plan", "/parallel"),
        ({"steps": [SOUND[0]], "pre_approved": ["radio.say"]}, "not_a_plan", "/pre_approved"),
        ({"steps": ["a"]}, "not_a_plan", "/steps/0"),
        ({"steps": [{"id": "a"}]}, "not_a_plan", "/steps/0/tool"),
        ({"steps": [step("a b")]}, "not_a_plan", "/steps/0/id"),
        ({"steps": [step("a", timeout="1")]}, "not_a_plan", "/steps/0/timeout"),
        ({"steps": [step("a", timeout=-1)]}, "not_a_plan", "/steps/0/timeout"),
        ({"steps": [step("a", undo="rm")]}, "not_a_plan", "/steps/0/undo"),
        ({"steps": [step("a", on_failure=[{"action": "panic"}])]}, "not_a_plan", "/steps/0/on_failure/0"),
        (
            {"steps": [step("a", on_failure=[{"action": "skip"}, {"action": "skip"}])]},
            "not_a_plan",
            "/steps/0/on_failure/0",
        ),
        (
            {"steps": [step("a", on_failure=[{"action": "retry"}])]},
            "not_a_plan",
            "/steps/0/on_failure/0/arguments",
        ),
        ({"steps": [step(f"s{n}") for n in range(1_001)]}, "too_large", "/steps"),
        ({"steps": [step("a", arguments={"place": "x" * 1_500_000})]}, "too_large", ""),
        ({"steps": [step("a", arguments={"place": "\ud800"})]}, "not_a_plan", ""),
        ({"steps": [step("a"), step("a", "site.look")]}, "duplicate", "/steps/1/id"),
        ({"steps": [step("a"), step("b", "site.build", "a", "a")]}, "duplicate", "/steps/1/needs/1"),
        ({"steps": [step("a", "site.buil")]}, "unknown_tool", "/steps/0/tool"),
        ({"steps": [step("a"), step("b", "site.build", "c")]}, "unknown_step", "/steps/1/needs/0"),
        ({"steps": [step("a", "site.build", "a")]}, "cycle", "/steps/0"),
        (
            {
                "steps": [
                    step("a", "site.build", "b"),
                    step("b", "site.build", "c"),
                    step("c", "site.build", "a"),
                ]
            },
            "cycle",
            "/steps/0",
        ),
    ],
)
def test_what_is_no_plan(plain: JsonValue, fault: str, place: str) -> None:
    """It is refused with its place, and with what to do about it."""
    found = check(plain, TOOLS)
    assert (fault, place) in told(found)
    assert len(found.problems) == 1
    assert found.stages == []
    assert all(each.message and each.remedy for each in found.problems)


def test_nested_too_deep() -> None:
    """What could exhaust a stack is refused before it is looked into."""
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    assert told(checked(step("a", arguments={"place": deep}))) == [("too_large", "")]


@pytest.mark.parametrize(
    ("arguments", "place", "words"),
    [
        ({}, "/place", "place is missing, and site.build needs it"),
        ({"place": 1}, "/place", "place: input should be a valid string, and it is 1"),
        ({"place": "p", "floor": 2}, "/floor", "site.build takes no 'floor'"),
        (
            {"place": "p", "floors": 10},
            "/floors",
            "floors: input should be less than or equal to 9, and it is 10",
        ),
        ({"place": "p", "floors": "2"}, "/floors", "floors: input should be a valid integer, and it is '2'"),
        (
            {"place": "p", "name": "Hut"},
            "/name",
            "name: string should match pattern '^[a-z]+$', and it is 'Hut'",
        ),
        (
            {"place": "p", "colour": "pink"},
            "/colour",
            "colour: input should be 'red' or 'blue', and it is 'pink'",
        ),
        (
            {"place": "p", "parts": [{"name": "a"}, {}]},
            "/parts/1/name",
            "name is missing, and site.build needs it",
        ),
        (
            {"place": "p", "labels": {"a/b": 1}},
            "/labels/a~1b",
            "a/b: input should be a valid string, and it is 1",
        ),
        ({"place": "p", "height": "x"}, "/height", "height: input should be a valid number, and it is 'x'"),
        ({"place": "swamp", "floors": 3}, "", "the whole: a swamp bears two floors"),
    ],
)
def test_arguments_that_the_tool_does_not_take(arguments: dict[str, Any], place: str, words: str) -> None:
    """The tool's own model says what, and a pointer says where."""
    (only,) = checked(step("a", arguments=arguments)).problems
    assert (only.fault, only.place) == (Fault.BAD_ARGUMENTS, f"/steps/0/arguments{place}")
    assert only.message.startswith(words)


def test_a_name_that_is_nearly_right() -> None:
    """The nearest names are told, of tools, of steps, of fields."""
    found = checked(
        step("a", "site.biuld"),
        step("bridge", arguments={"place": "p", "flors": 1}),
        step("c", "site.build", "brige"),
    )
    assert "Nearest: site.build" in found.problems[0].remedy
    assert "Nearest: floors" in found.problems[1].remedy
    assert "Nearest: bridge" in found.problems[2].remedy


def test_all_that_is_wrong_is_told_at_once() -> None:
    """A step that can't be read hides neither what is wrong with the others nor with what they need."""
    found = checked(
        {"id": "a", "tool": 3, "arguments": {}},
        step("b", "site.build", "a", arguments={"place": {"$ref": "a.number"}}),
        step("c", "site.nothing"),
        step("d", arguments={"place": 1, "floors": 0}),
        parallel=1_000,
    )
    assert told(found) == [
        ("not_a_plan", "/parallel"),
        ("not_a_plan", "/steps/0/tool"),
        ("unknown_tool", "/steps/2/tool"),
        ("bad_arguments", "/steps/3/arguments/place"),
        ("bad_arguments", "/steps/3/arguments/floors"),
    ]


def test_two_cycles() -> None:
    """Each is told once, and steps behind one are not called a part of it."""
    found = checked(
        step("a", "site.build", "b"),
        step("b", arguments={"place": {"$ref": "a.number"}}),
        step("behind", "site.build", "a"),
        step("c", "site.build", "c"),
    )
    assert [each.message for each in found.problems] == [
        "no step of these could begin: a needs b needs a",
        "no step of these could begin: c needs c",
    ]


def test_alternatives_are_checked_too() -> None:
    """A second try's arguments and a substitute's tool are refused before the run, not in the middle of it."""
    found = checked(
        step(
            "a",
            on_failure=[
                {"action": "retry", "arguments": {"place": 2}},
                {"action": "substitute", "tool": "site.no", "arguments": {}},
                {"action": "substitute", "tool": "radio.say", "arguments": {"text": "x" * 201}},
            ],
        )
    )
    assert told(found) == [
        ("bad_arguments", "/steps/0/on_failure/0/arguments/place"),
        ("unknown_tool", "/steps/0/on_failure/1/tool"),
        ("bad_arguments", "/steps/0/on_failure/2/arguments/text"),
    ]


def test_nobody_has_approved() -> None:
    """What can't be undone has to be named beforehand, a substitute too, where approvals are looked at."""
    steps = [
        step("a", on_failure=[{"action": "substitute", "tool": "radio.say", "arguments": {"text": "no"}}]),
        step("b", "site.blow_up"),
    ]
    found = checked(*steps, approved=["radio.insist"], points_of_no_return=2)
    assert told(found) == [
        ("not_approved", "/steps/0/on_failure/0/tool"),
        ("not_approved", "/steps/1/tool"),
    ]
    assert checked(*steps, approved=ALL, points_of_no_return=2).problems == []
    assert checked(*steps, points_of_no_return=2).problems == []
