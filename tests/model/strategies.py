"""What hypothesis draws: programs, faults, and the trouble that a whole saga meets."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.model.programs import Attempt, Child, Make, Program, Together
from tests.rescind.toy_world import Behaviour

MOST_STEPS = 12
_FORWARD: dict[str, list[Behaviour]] = {
    "toy.make_thing": ["refuse", "not_now", "lose_reply", "garbage", "slow", "hang", "late"],
    "toy.make_blind": ["refuse", "not_now", "lose_reply", "garbage", "slow", "late"],
    "toy.make_deduplicated": ["refuse", "not_now", "lose_reply", "garbage", "slow"],
    "toy.make_in_thread": ["slow"],
    "toy.tell_world": ["refuse", "not_now", "lose_reply"],
    "toy.count_things": [],
    "model.make_marked": ["refuse", "not_now", "lose_reply", "garbage", "slow"],
}
"""What may befall a tool's calls. A thing that lands late at a provider that deduplicates would be dropped there."""

_ASKED_BEFORE = ("toy.make_thing", "toy.make_blind", "model.make_marked")
"""Tools that look what is there before they act."""


@dataclass(frozen=True)
class Scenario:
    """One saga and its trouble.

    Attributes:
        program: What it does.
        trouble: What happens to its workflow, at the call of this number that reaches the world.
        at: That number.
        back: The workflow task, by number, to which a reset goes.
        again: Whether it is reset (once more) when its workflow has closed, or when nothing of it needs anybody.
        words: What the person answers, by number, to each question in turn.
    """

    program: Program
    trouble: Literal["none", "cancel", "terminate", "reset"]
    at: int
    words: tuple[int, ...]
    back: int = 0
    again: Literal["never", "closed", "done"] = "never"


def _few(behaviours: list[Behaviour], most: int) -> "st.SearchStrategy[list[Behaviour]]":
    """Nothing in most cases."""
    if not behaviours:
        return st.just([])
    some = st.lists(st.sampled_from(behaviours), min_size=1, max_size=most)
    return st.one_of(st.just([]), st.just([]), some)


@st.composite
def makes(draw: st.DrawFn) -> Make:
    """One step."""
    tool = draw(st.sampled_from(list(_FORWARD)))
    steals = tool not in ("toy.make_in_thread", "toy.tell_world", "toy.count_things")
    rarely = st.integers(0, 9).map(lambda n: n == 9)
    return Make(
        tool=tool,
        forward=draw(_few(_FORWARD[tool], 3)),
        undo=draw(_few(["slow", "fail", "lose_reply", "conflict"], 3)) if steals else [],
        find=draw(_few(["fail", "lose_reply"], 2)),
        there=draw(st.sampled_from(["wanted", "somebody else"]))
        if tool in _ASKED_BEFORE and draw(rarely)
        else None,
        stolen=steals and draw(rarely),
        caught=draw(st.booleans()),
    )


def _children(inner: "st.SearchStrategy[Make | Child]") -> "st.SearchStrategy[Make | Child]":
    return st.one_of(
        makes(), st.lists(inner, min_size=1, max_size=3).map(lambda nodes: Child(nodes=[*nodes]))
    )


def programs() -> "st.SearchStrategy[Program]":
    """A saga of 1 to MOST_STEPS steps, each with a name of its own."""
    part = st.recursive(makes(), _children, max_leaves=4)
    together = st.lists(part, min_size=2, max_size=3).map(lambda nodes: Together(nodes=nodes))
    attempt = st.builds(
        Attempt,
        first=st.lists(part, min_size=1, max_size=3),
        second=st.lists(makes(), min_size=1, max_size=2),
        give_up=st.booleans(),
    )
    nodes = st.lists(st.one_of(makes(), makes(), part, together, attempt), min_size=1, max_size=6)
    whole = st.builds(Program, nodes=nodes, end=st.sampled_from(["commit", "commit", "fail", "leave"]))
    return whole.filter(lambda program: len(list(program.steps())) <= MOST_STEPS).map(_named)


def _named(program: Program) -> Program:
    program = program.model_copy(deep=True)
    for number, step in enumerate(program.steps()):
        step.name = f"s{number}"
    return program


def scenarios() -> "st.SearchStrategy[Scenario]":
    """A saga, and what happens to it."""
    return st.builds(
        Scenario,
        program=programs(),
        trouble=st.sampled_from(["none", "none", "none", "cancel", "terminate", "reset"]),
        at=st.integers(1, 15),
        words=st.lists(st.integers(0, 4), min_size=4, max_size=4).map(tuple),
        back=st.integers(0, 15),
        again=st.sampled_from(["never", "never", "never", "never", "closed", "done"]),
    )


def each(number: int, chosen: int, judge: Callable[[Scenario], None], *, shrinks: bool = False) -> None:
    """Call this for so many scenarios, which are the same for the same seed; shrink one for which it raises.

    Args:
        number: How many.
        chosen: The seed.
        judge: What is called.
        shrinks: Whether to look for the smallest scenario for which it raises.
    """

    @seed(chosen)
    @settings(
        max_examples=number,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink] if shrinks else [Phase.generate],
        report_multiple_bugs=False,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    @given(scenario=scenarios())
    def one(scenario: Scenario) -> None:
        judge(scenario)

    one()
