"""What hypothesis draws: valid plans over all tools, with references, alternatives and troubles."""

from hypothesis import strategies as st
from pydantic import JsonValue

from embedded.sandbox.faults import Fault as SandboxFault
from tests.faults import Fault
from tests.plan_model.drawn import NAME, Drawn, Step, Trouble, Try
from tests.plan_model.kinds import KINDS, Kind, Met
from tests.plan_model.requests import DATABASE, Asked

MOST_STEPS = 6
TOOLS = list(KINDS)
SANDBOX = [each.value for each in SandboxFault if each is not SandboxFault.STALE]
PROXIES = [each.value for each in Fault if each is not Fault.HOLD]
READS = ["refuse", "unavailable", "throttled", "drop_before", "error_after"]
CALM = {"do": 2, "undo": 1}
"""Calls that meet no fault, for each that meets one."""

TRIED_LONG = ("ecs", "ec2")
"""Providers whose tools are tried for minutes, since they wait for something to run; faults last for a few tries."""

TIMEOUTS = (None, None, None, 12.0, 20.0)


@st.composite
def drawn_plans(draw: st.DrawFn) -> Drawn:
    """A plan of 1 to MOST_STEPS steps; each may need and use those that are before it in the list."""
    steps: list[Step] = []
    for number in range(draw(st.integers(1, MOST_STEPS))):
        steps.append(_step(draw, number, steps))
    order = draw(st.permutations(steps))
    return Drawn(parallel=draw(st.sampled_from([1, 2, 10])), steps=order)


def _step(draw: st.DrawFn, number: int, before: list[Step]) -> Step:
    tool = draw(st.sampled_from(TOOLS))
    others = draw(st.sampled_from([0, 0, 0, 1, 1, 2]))
    other = st.one_of(st.just(tool), st.sampled_from(TOOLS))
    tools = [tool, *draw(st.lists(other, min_size=others, max_size=others))]
    tries = [_try(draw, f"{NAME}s{number}t{place}x", KINDS[each], before) for place, each in enumerate(tools)]
    ids = [step.id for step in before]
    needs = draw(st.lists(st.sampled_from(ids), unique=True, max_size=2)) if ids else []
    for step in before:
        if _meet(step.tries, tries) and step.id not in needs:
            needs.append(step.id)
    return Step(
        id=f"s{number}",
        needs=needs,
        timeout=draw(st.sampled_from(TIMEOUTS)),
        skip=draw(_rarely(4)),
        tries=tries,
    )


def _rarely(otherwise: int) -> "st.SearchStrategy[bool]":
    """True once for so many times that it is False; drawn from a list, since numbers have favourites."""
    return st.sampled_from([False] * otherwise + [True])


def _meet(some: list[Try], others: list[Try]) -> bool:
    """Whether both act on the one database, so that they have to be in an order."""
    return all(any(each.arguments.get("database") == DATABASE for each in tries) for tries in (some, others))


def _try(draw: st.DrawFn, token: str, kind: Kind, before: list[Step]) -> Try:
    asked = Asked(
        token=token,
        text=_text(draw, token, before),
        sound=not draw(_rarely(14)),
        there=draw(st.booleans()),
    )
    arguments = kind.arguments(asked)
    for name, sources in kind.takes.items():
        found = [form for step in before for form in _taken(step, sources)]
        if found and asked.sound and draw(st.booleans()):
            arguments[name] = draw(st.sampled_from(found))
    return Try(
        token=token,
        tool=kind.tool,
        arguments=arguments,
        sound=asked.sound,
        there=asked.there,
        troubles=[*_troubles(draw, "do", kind.do, kind), *_troubles(draw, "undo", kind.undo, kind)],
    )


def _text(draw: st.DrawFn, token: str, before: list[Step]) -> JsonValue:
    """A text that begins with the token, and may have parts of earlier results in it."""
    found = [form for step in before for form in _parts(step)]
    if not found:
        return token
    parts = draw(st.lists(st.sampled_from(found), max_size=2))
    return {"$join": [token, *(part for form in parts for part in (" ", form))]} if parts else token


def _parts(step: Step) -> list[JsonValue]:
    """Every field of a step's result that can stand in a text, whichever of its tries succeeds."""
    first, *others = (each.kind.gives for each in step.tries)
    return [_reference(step, name) for name in first if all(name in gives for gives in others)]


def _taken(step: Step, sources: tuple[str, ...]) -> list[JsonValue]:
    """The fields of a step's result that another tool takes as an argument."""
    tools = {each.tool for each in step.tries}
    if step.skip or len(tools) > 1:
        return []
    return [_reference(step, name.rpartition(".")[2]) for name in sources if name.rpartition(".")[0] in tools]


def _reference(step: Step, field: str) -> JsonValue:
    form: dict[str, JsonValue] = {"$ref": f"{step.id}.{field.removesuffix('?')}"}
    return form | ({"otherwise": "nothing"} if step.skip or field.endswith("?") else {})


def _troubles(draw: st.DrawFn, side: str, met: Met | None, kind: Kind) -> list[Trouble]:
    """What goes wrong on one side of a try, if anything does."""
    if met is None or not draw(_rarely(CALM[side])):
        return []
    faults = SANDBOX if met.provider == "sandbox" else PROXIES
    if not kind.shows:
        faults = READS
    times = draw(st.sampled_from([1, 1, 1, 2, 3 if met.provider in TRIED_LONG else None]))
    return [Trouble.model_validate({"side": side, "fault": draw(st.sampled_from(faults)), "times": times})]
