"""How a plan's steps fit together: points of no return, things that two steps act on, the time for an undo."""

from __future__ import annotations

from typing import Any

from rescind.plans import Fault
from tests.rescind.plans.yard import checked, step, told


def test_points_of_no_return_come_last() -> None:
    """Whatever stands where in the file: what can be undone first, then the point of no return, then what insists."""
    found = checked(
        step("insist", "radio.insist"),
        step("say", "radio.say"),
        step("paint", "site.paint"),
        step("a"),
        step("look", "site.look"),
        step("b", "site.build", "a"),
    )
    assert found.warnings == []
    assert found.stages == [["a", "look", "b"], ["say"], ["insist", "paint"]]


def test_one_that_is_needed_early_stays_early_and_is_reported() -> None:
    """A step that needs the point of no return and may fail comes after it, and a person is told before."""
    found = checked(step("a"), step("say", "radio.say"), step("b", "site.build", "say"), step("c"))
    assert (found.problems, found.stages) == ([], [["a", "c"], ["say"], ["b"]])
    (only,) = found.warnings
    assert (only.fault, only.place) == (Fault.EARLY_POINT_OF_NO_RETURN, "/steps/1")
    assert only.message.startswith("say can't be undone and comes before b, which may fail")


def test_what_is_needed_by_a_point_of_no_return_is_not_put_off() -> None:
    """A step that is tried until it succeeds runs at once where a point of no return needs it."""
    found = checked(step("paint", "site.paint"), step("say", "radio.say", "paint"), step("a"))
    assert found.stages == [["paint", "a"], ["say"]]


def test_two_points_of_no_return() -> None:
    """The second one is refused unless the plan says that it wants two; they never run side by side."""
    steps = [step("say", "radio.say"), step("a"), step("again", "radio.say"), step("late", "radio.insist")]
    found = checked(*steps)
    assert told(found) == [("points_of_no_return", "/steps/2")]
    assert "write points_of_no_return: 2" in found.problems[0].remedy
    assert checked(*steps, points_of_no_return=2).stages == [["a"], ["say"], ["again"], ["late"]]
    assert told(checked(steps[0], points_of_no_return=0)) == [("points_of_no_return", "/steps/0")]


def test_of_two_points_of_no_return_the_one_that_is_needed_comes_first() -> None:
    """The other one is as late as it can be."""
    found = checked(
        step("last", "radio.say"),
        step("first", "radio.say"),
        step("b", "site.build", "first"),
        points_of_no_return=2,
    )
    assert found.stages == [["first"], ["b"], ["last"]]


def test_a_substitute_that_can_not_be_undone() -> None:
    """A step is as irrevocable as the worst of what it may do."""
    found = checked(
        step("a", on_failure=[{"action": "substitute", "tool": "radio.say", "arguments": {"text": "no"}}]),
        step("b"),
    )
    assert found.stages == [["b"], ["a"]]


def at(place: str, name: str = "hut", **more: Any) -> dict[str, Any]:
    return {"place": place, "name": name, **more}


def test_two_steps_at_one_thing_in_no_order() -> None:
    """Side by side they could take each other's work for somebody else's; a thing and its whole count too."""
    found = checked(
        step("a", arguments=at("hill")),
        step("b", arguments=at("hill")),
        step("elsewhere", arguments=at("hill", "barn")),
        step("fence", "site.fence", arguments={"place": "hill"}),
    )
    assert told(found) == [("no_order", "/steps/1/needs"), ("no_order", "/steps/3/needs")]
    assert '"needs": ["a"]' in found.problems[0].remedy
    assert "a, b, elsewhere" in found.problems[1].message


def test_two_steps_at_one_thing_in_an_order() -> None:
    """It is fine when one needs the other, by name, by reference, or by way of a third."""
    found = checked(
        step("a", arguments=at("hill")),
        step("between", "site.build", "a"),
        step("b", "site.build", "between", arguments=at("hill")),
        step("c", arguments=at("hill", floors={"$ref": "b.floors"})),
        step("look", "site.look", arguments=at("hill")),
    )
    assert found.problems == []


def test_things_that_are_named_by_a_reference() -> None:
    """Two references to one value are the same thing, whatever the value will be."""
    place = {"$ref": "a.number"}
    found = checked(
        step("a"),
        step("b", arguments={"place": place}),
        step("c", arguments={"place": place}),
        step("d", arguments={"place": {"$ref": "a.nickname", "otherwise": "x"}}),
    )
    assert told(found) == [("no_order", "/steps/2/needs")]


def test_a_step_that_takes_an_earlier_undo_away() -> None:
    """To change for good what another step made is refused; elsewhere it is not."""
    made = step("made", arguments=at("hill"))
    found = checked(made, step("gone", "site.blow_up", arguments=at("hill")))
    assert told(found) == [("takes_undo_away", "/steps/1")]
    assert "what made made or changed before" in found.problems[0].message
    assert checked(made, step("gone", "site.blow_up", arguments=at("hill", "barn"))).problems == []


def test_an_alternative_that_takes_an_undo_away() -> None:
    """Each try counts for itself: what can't be undone takes away only what it acts on, and only what can be undone."""
    say = {"action": "substitute", "tool": "radio.say", "arguments": {"text": "hello"}}
    blow_up = {"action": "substitute", "tool": "site.blow_up", "arguments": at("hill")}
    made, higher = (
        step("made", arguments=at("hill")),
        step("higher", "site.build", "made", arguments=at("hill")),
    )
    assert checked(made, higher | {"on_failure": [say]}).problems == []
    assert told(checked(made, higher | {"on_failure": [blow_up]})) == [("takes_undo_away", "/steps/1")]
    gone = step("gone", "site.blow_up", "made", arguments=at("hill"))
    found = checked(made | {"on_failure": [say]}, gone, points_of_no_return=2)
    assert told(found) == [("takes_undo_away", "/steps/1")]


def test_the_time_for_an_undo() -> None:
    """A plan that has to be undoable for longer than a tool allows is refused, and so is one that can't be undone."""
    steps = [step("a"), step("b", "site.fence"), step("c", "site.look"), step("d", "radio.say")]
    assert checked(*steps).problems == []
    assert told(checked(*steps, undo_within=3_600)) == [("undo_window", "/steps/3")]
    found = checked(*steps, undo_within=3_601)
    assert told(found) == [("undo_window", "/steps/1"), ("undo_window", "/steps/3")]
    assert "site.fence can be undone for 3600 s" in found.problems[0].message


def test_the_same_step_twice() -> None:
    """It is told, and not refused: two may be meant; reading twice is nothing to tell."""
    call = {"text": "hello"}
    found = checked(
        step("a", "radio.say", arguments=call),
        step("b", "radio.say", arguments=call),
        step("c", "site.look", arguments=at("hill")),
        step("d", "site.look", arguments=at("hill")),
        points_of_no_return=2,
    )
    assert found.problems == []
    assert [(each.fault, each.place) for each in found.warnings] == [(Fault.SAME_STEP, "/steps/1")]
