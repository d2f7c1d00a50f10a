"""The contract of a tool: each mistake is refused when the tool is declared, in words that say what to write."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from pydantic import ValidationError

from rescind import Repeat, Retries, Risk, Tool, ToolRefused
from tests.rescind import contract_tools as wall

SOUND: dict[str, Any] = {
    "name": "wall.paint",
    "description": "Paint a wall; the paint is taken off again.",
    "forward": wall.paint,
    "compensate": wall.unpaint,
    "lookup": wall.find_paint,
    "is_reversible": True,
}
IRREVERSIBLE = SOUND | {"compensate": None, "is_reversible": False, "risk": Risk.HIGH}
READ_ONLY = IRREVERSIBLE | {"lookup": None, "read_only": True}


def declare(*, sound: dict[str, Any] = SOUND, **mistakes: Any) -> Tool[Any, Any]:
    """Declare a sound tool with these parts changed."""
    return Tool(**(sound | mistakes))


def refusal(*, sound: dict[str, Any] = SOUND, **mistakes: Any) -> list[str]:
    """The problems for which a declaration is refused."""
    with pytest.raises(ToolRefused) as refused:
        declare(sound=sound, **mistakes)
    return refused.value.problems


def test_sound_tools_of_each_class() -> None:
    """A reversible, an irreversible and a read-only tool are accepted, and know their models."""
    for sound in (SOUND, IRREVERSIBLE, READ_ONLY):
        tool = declare(sound=sound)
        assert (tool.request_type, tool.result_type) == (wall.Paint, wall.Painted)
    assert declare(forward=wall.Painter(2).paint).request_type is wall.Paint


@pytest.mark.parametrize(
    "name", ["paint", "Wall.paint", "wall.", ".paint", "wall.paint-it", "wall..paint", "wall.1", ""]
)
def test_a_name_that_is_no_dotted_lower_case_identifier(name: str) -> None:
    """It is refused with an example of one that is."""
    assert refusal(name=name) == [
        "its name is not a dotted lower-case identifier; write for example 's3.create_bucket'"
    ]


@pytest.mark.parametrize("description", ["", " \n"])
def test_an_empty_description(description: str) -> None:
    """It is refused, since a planner chooses by it."""
    assert refusal(description=description) == [
        "its description is empty; say what it does and what its undo does, a planner chooses by it"
    ]


def test_reversible_without_a_compensation() -> None:
    """Nothing could undo it."""
    assert refusal(compensate=None) == [
        "it is declared reversible and has no compensate activity, so nothing could undo it; pass compensate=..., "
        "or is_reversible=False with risk=Risk.HIGH"
    ]


def test_not_reversible_with_a_compensation() -> None:
    """Whether it can be undone is declared, never derived."""
    assert refusal(is_reversible=False, risk=Risk.HIGH) == [
        "it has a compensate activity and is not declared reversible, and that is declared, never derived; write "
        "is_reversible=True, or take compensate away"
    ]


@pytest.mark.parametrize("risk", [Risk.LOW, Risk.MEDIUM])
def test_a_point_of_no_return_of_too_low_a_risk(risk: Risk) -> None:
    """A person has to be asked, so the risk is at least HIGH."""
    assert refusal(sound=IRREVERSIBLE, risk=risk) == [
        f"it can't be undone and its risk is {risk.value}; a point of no return has a risk of Risk.HIGH or "
        "Risk.CRITICAL, so that a person is asked"
    ]


def test_an_irreversible_tool_by_default() -> None:
    """Without a word about reversing or risk it is refused: MEDIUM is too low for a point of no return."""
    problems = refusal(sound={key: SOUND[key] for key in ("name", "description", "forward")})
    assert [problem[:40] for problem in problems] == ["it can't be undone and its risk is mediu"]


@pytest.mark.parametrize(
    "mistakes",
    [
        {"is_reversible": True, "compensate": wall.unpaint},
        {"retriable": True},
        {"lookup": wall.find_paint},
        {"check": wall.wall_is_there},
    ],
)
def test_a_read_only_tool_with_something_to_undo(mistakes: dict[str, Any]) -> None:
    """It changes nothing, so nothing of it can be undone, repeated, looked up or checked before."""
    assert refusal(sound=READ_ONLY, **mistakes) == [
        "it is read-only, so there is nothing to undo, to repeat, to look up or to check before; take is_reversible, "
        "retriable, lookup and check away, or read_only"
    ]


def test_looked_up_before_a_repeat_without_a_lookup() -> None:
    """It names what is missing and the other way out."""
    assert refusal(lookup=None, repeat=Repeat.LOOKED_UP) == [
        "it is to be looked up before it is repeated and has no lookup; pass lookup=..., or repeat=Repeat.NEVER"
    ]


@pytest.mark.parametrize(
    "path", ["wall/{colour}", "wall//{wall}", "wall/{wall", "", "wall/{wall!r}", "wall/ {wall}"]
)
def test_a_thing_that_is_no_path_of_the_request_s_fields(path: str) -> None:
    """It could name nothing when a plan is checked."""
    assert refusal(acts_on=("wall/{wall}", path)) == [
        f"acts_on {path!r} is no path of words and of Paint's fields; write for example 's3/{{bucket}}/{{key}}'"
    ]


@pytest.mark.parametrize("field", ["timeout", "undo_timeout"])
@pytest.mark.parametrize("seconds", [0, -1])
def test_a_time_out_that_is_not_above_zero(field: str, seconds: int) -> None:
    """Every attempt would be given up at once."""
    limit: dict[str, Any] = {field: timedelta(seconds=seconds)}
    assert refusal(**limit) == [
        f"{field} is not above zero, so every attempt would be given up before it begins; raise it"
    ]


def test_a_lateness_below_zero() -> None:
    """Nobody acts before being asked."""
    assert refusal(late_for=timedelta(seconds=-1)) == [
        "late_for is below zero; it says how long the provider may still act after the client has gone"
    ]


@pytest.mark.parametrize("seconds", [0, -1])
def test_an_undo_window_that_is_not_above_zero(seconds: int) -> None:
    """It could never be undone."""
    assert refusal(undo_within=timedelta(seconds=seconds)) == [
        "undo_within is not above zero, so it could never be undone; write None to undo it at any time"
    ]


@pytest.mark.parametrize(
    ("forward", "written"),
    [
        (wall.two_parameters, "(call: Call[Paint], layers: int)"),
        (wall.many_parameters, "(*calls: Call[Paint])"),
        (wall.named_parameters, "(**calls: Call[Paint])"),
        (wall.no_parameter, "()"),
        (wall.unannotated_parameter, "(call)"),
        (wall.dictionary, "(call: dict[str, typing.Any])"),
        (wall.bare_request, "(request: Paint)"),
        (wall.optional_call, "(call: Call[Paint] | None)"),
        (wall.Painter.paint, "(self, _call: Call[Paint])"),
    ],
)
def test_a_forward_that_does_not_take_one_call(forward: Callable[..., Any], written: str) -> None:
    """Temporal would hand over a dict; the refusal shows the parameters as they are written."""
    assert refusal(sound=IRREVERSIBLE, forward=forward) == [
        f"forward: it takes {written}; it has to take one Call[...] of a rescind.Request and nothing else, since "
        "Temporal would hand over a dict"
    ]


@pytest.mark.parametrize(
    ("forward", "returned"),
    [
        (wall.no_return, "nothing that is annotated"),
        (wall.plain_return, "dict[str, int]"),
        (wall.optional_return, "Painted | None"),
    ],
)
def test_a_forward_that_returns_no_result(forward: Callable[..., Any], returned: str) -> None:
    """Without a typed result nobody knows whether anything was changed."""
    assert refusal(sound=IRREVERSIBLE, forward=forward) == [
        f"forward: it returns {returned}; it has to be annotated with a rescind.Result, which says whether anything "
        "was changed"
    ]


@pytest.mark.parametrize(
    ("compensate", "written"),
    [(wall.unwash, "(receipt: Receipt[Wash, Washed])"), (wall.unpaint_by_call, "(call: Call[Paint])")],
)
def test_a_compensation_that_does_not_take_this_tools_receipt(
    compensate: Callable[..., Any], written: str
) -> None:
    """It is undone with what its own forward leaves behind."""
    assert refusal(compensate=compensate) == [
        f"compensate: it takes {written}; it has to take one Receipt[Paint, Painted], which is what this tool's "
        "forward leaves behind"
    ]


def test_a_compensation_that_does_not_say_how_well_it_restored() -> None:
    """It answers with a Restoration."""
    assert refusal(compensate=wall.unpaint_silently) == [
        "compensate: it returns None; it has to say how well it restored: Restoration"
    ]


def test_a_lookup_for_another_request() -> None:
    """It is asked about the call that forward was given."""
    assert refusal(lookup=wall.find_wash) == [
        "lookup: it takes (_call: Call[Wash]); it has to take one Call[Paint], as forward does"
    ]


@pytest.mark.parametrize(
    ("lookup", "returned"),
    [
        (wall.find_other_result, "Applied[Washed] | Absent | Unknown"),
        (wall.find_or_none, "Applied[Painted] | None"),
        (wall.find_paint_only_when_there, "Applied[Painted]"),
    ],
)
def test_a_lookup_with_other_answers(lookup: Callable[..., Any], returned: str) -> None:
    """It says applied with this tool's result, absent or unknown, and has at least two answers to choose from."""
    assert refusal(lookup=lookup) == [
        f"lookup: it returns {returned}; it has to be Applied[Painted] | Absent | Unknown or two of them, since with "
        "one answer it could tell nothing"
    ]


def test_a_sound_check() -> None:
    """It is accepted for a tool with an undo and for one without."""
    for sound in (SOUND, IRREVERSIBLE):
        assert declare(sound=sound, check=wall.wall_is_there).check is wall.wall_is_there


def test_a_check_for_another_request() -> None:
    """It is asked about the call that forward is about to be given."""
    assert refusal(check=wall.wash_is_there) == [
        "check: it takes (_call: Call[Wash]); it has to take one Call[Paint], as forward does"
    ]


def test_a_check_that_answers() -> None:
    """A `False` would let the call go; it says no by raising."""
    assert refusal(check=wall.is_wall_there) == [
        "check: it returns bool, which nobody would look at; annotate it with None, and raise "
        "rescind.evidence.Refused where the call can't succeed any more"
    ]


def test_a_function_that_is_no_activity() -> None:
    """It lacks the decorator."""
    assert refusal(sound=IRREVERSIBLE, forward=wall.undecorated) == [
        "forward: undecorated is not an activity; decorate it with @activity.defn"
    ]


@pytest.mark.parametrize(
    ("forward", "kind"),
    [
        (wall.Painter(1), "a Painter"),
        (wall.Painter, "the class Painter"),
        (partial(wall.paint), "a partial"),
    ],
)
def test_something_else_that_can_be_called(forward: Callable[..., Any], kind: str) -> None:
    """Only functions and methods have a name and annotations."""
    assert refusal(sound=IRREVERSIBLE, forward=forward) == [
        f"forward: {kind} is no function, so it has no name and no annotations of its own; write a function or a "
        "method with @activity.defn"
    ]


def test_an_annotation_that_does_not_resolve() -> None:
    """It says which name is missing, and that it has to be there at run time."""
    assert refusal(sound=IRREVERSIBLE, forward=wall.unresolved) == [
        "forward: unresolved is not an activity; decorate it with @activity.defn",
        "forward: an annotation can't be read: name 'Elsewhere' is not defined; Temporal reads them at run time, so "
        "import what they name at the top of the module, and not under TYPE_CHECKING",
    ]


def test_an_activity_name_that_is_one_of_rescinds() -> None:
    """The prefix is kept for Rescind's own activities."""
    assert refusal(sound=IRREVERSIBLE, forward=wall.named_like_ours) == [
        "forward: its activity name 'rescind.paint' begins with 'rescind.', as Rescind's own do; write "
        "@activity.defn(name=...)"
    ]


@pytest.mark.parametrize(
    ("forward", "what"),
    [
        (wall.secretly, "request PaintSecretly"),
        (wall.by_secret_number, "request PaintBySecretNumber"),
        (wall.answer_secretly, "result PaintedSecretly"),
    ],
)
def test_a_secret_in_a_request_or_result(forward: Callable[..., Any], what: str) -> None:
    """It would be masked on the way, and a secret belongs to the worker."""
    assert refusal(sound=IRREVERSIBLE | {"lookup": None}, forward=forward) == [
        f"its {what} has a secret field, which would be masked on the way; name a connection that the worker knows, "
        "and keep the secret in the worker's settings"
    ]


def test_a_request_that_json_can_not_carry() -> None:
    """It travels and is kept as JSON."""
    assert refusal(sound=IRREVERSIBLE | {"lookup": None}, forward=wall.by_function) == [
        "its request PaintByFunction has a field that has no form in JSON, and it travels and is kept as JSON; use "
        "plain data and models of it"
    ]


def test_a_thread_that_a_cancellation_interrupts() -> None:
    """An exception thrown into the thread could fall between the effect and its record."""
    assert refusal(sound=IRREVERSIBLE, forward=wall.interruptible) == [
        "forward: it is a `def` whose thread a cancellation would interrupt, perhaps between the effect and its "
        "record; write @activity.defn(no_thread_cancel_exception=True)"
    ]


def test_an_async_def_that_a_decorator_hides() -> None:
    """It would run in a thread and answer with a coroutine."""
    assert refusal(sound=IRREVERSIBLE, forward=wall.wrapped_in_def) == [
        "forward: it is a `def` around an `async def`, whose work nobody would await; let the decorator return "
        "`async def`"
    ]


@pytest.mark.parametrize(
    ("forward", "used"),
    [
        (wall.sleeping, "time.sleep"),
        (wall.with_boto3, "boto3.client"),
        (wall.with_subprocess, "subprocess.run"),
        (wall.with_smtp, "smtplib"),
    ],
)
def test_a_blocking_client_in_an_async_def(forward: Callable[..., Any], used: str) -> None:
    """It names what blocks, also in a function of the same module and behind a late import."""
    assert refusal(sound=IRREVERSIBLE, forward=forward) == [
        f"forward: it is `async def` and uses {used}, which blocks every other activity of the worker; write `def` "
        "with @activity.defn(no_thread_cancel_exception=True), it then runs in a thread"
    ]


def test_an_exception_and_a_constant_of_a_blocking_package() -> None:
    """Neither is a call, so the tool is accepted."""
    assert declare(sound=IRREVERSIBLE, forward=wall.with_blocking_names_only).risk is Risk.HIGH


def test_a_part_of_the_wrong_type_and_one_that_is_misspelt() -> None:
    """Both are ToolRefused too, by the name of the part."""
    assert refusal(version=0, forward=3, descripton="Paint.") == [
        "forward: Input should be callable",
        "version: Input should be greater than or equal to 1",
        "descripton: Extra inputs are not permitted",
    ]


def test_several_mistakes_at_once() -> None:
    """All are listed, so that one round mends them."""
    with pytest.raises(ToolRefused) as refused:
        declare(name="paint", description="", compensate=wall.unwash, lookup=wall.find_wash)
    assert str(refused.value) == (
        "the tool 'paint' breaks the contract:\n"
        "  - its name is not a dotted lower-case identifier; write for example 's3.create_bucket'\n"
        "  - its description is empty; say what it does and what its undo does, a planner chooses by it\n"
        "  - compensate: it takes (receipt: Receipt[Wash, Washed]); it has to take one Receipt[Paint, Painted], which "
        "is what this tool's forward leaves behind\n"
        "  - lookup: it takes (_call: Call[Wash]); it has to take one Call[Paint], as forward does"
    )
    assert refused.value.tool == "paint"


def test_a_declared_tool_is_frozen() -> None:
    """No part of it can be changed afterwards."""
    tool = declare()
    with pytest.raises(ValidationError, match="Instance is frozen"):
        tool.is_reversible = False  # type: ignore[misc]  # the mistake itself
    assert tool.is_reversible


@pytest.mark.parametrize(
    ("parts", "repeats"),
    [
        ({}, Repeat.LOOKED_UP),
        ({"lookup": None}, Repeat.NEVER),
        ({"repeat": Repeat.DEDUPLICATED}, Repeat.DEDUPLICATED),
        ({"repeat": Repeat.NEVER}, Repeat.NEVER),
    ],
)
def test_what_a_second_attempt_does_by_default(parts: dict[str, Any], repeats: Repeat) -> None:
    """It is looked up where that can be, otherwise never repeated; what is declared counts."""
    assert declare(**parts).repeats is repeats


def test_waits_that_temporal_would_refuse() -> None:
    """A longest wait below the first is refused here; in a workflow it would stop its task for ever."""
    with pytest.raises(ValidationError, match=r"longest_wait \(30 s\) is below first_wait \(60 s\)"):
        Retries(tries=3, first_wait=timedelta(seconds=60))
    with pytest.raises(ValidationError, match="greater than 0 seconds"):
        Retries(tries=3, first_wait=timedelta(0))
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        Retries(tries=0)
