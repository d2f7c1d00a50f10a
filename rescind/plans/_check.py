"""The check of a plan before its run: everything that is wrong with it, at once, and in which order it will run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from pydantic import BaseModel, ConfigDict, JsonValue

from rescind._catalogue import AnyTool
from rescind.plans._arguments import argument_problems
from rescind.plans._fit import fit_problems
from rescind.plans._graph import Graph, graph
from rescind.plans._nearest import Nearest
from rescind.plans._needs import needed
from rescind.plans._plan import Plan, Step
from rescind.plans._problem import Fault, Path, Problem, problem
from rescind.plans._read import Read, read
from rescind.plans._references import Referable, reference_problems
from rescind.plans._values import locate


class Checked(BaseModel):
    """What the check says.

    Attributes:
        plan: The plan; None where its form is wrong.
        problems: What it is refused for; it may run only where there is none.
        warnings: What a person should know before it runs.
        stages: The ids of its steps in the order in which they will run; empty where it is refused. The steps of a
            stage run side by side so far as they do not need each other, and a stage begins when the one before
            is over.
    """

    model_config = ConfigDict(frozen=True)

    plan: Plan | None
    problems: list[Problem]
    warnings: list[Problem] = []
    stages: list[list[str]] = []


def check(
    plain: JsonValue | Plan,
    tools: Iterable[AnyTool],
    *,
    pre_approved: Collection[str] | None = None,
    done: Sequence[Step] = (),
) -> Checked:
    """Check a plan; nothing is started and nothing outside is asked.

    Args:
        plain: The plan, or plain data that should be one.
        tools: The catalogue.
        pre_approved: The tools that may run although they can't be undone; None does not look at approvals.
        done: The steps that are over already, of a plan that is to go on with this one. These steps may refer to
            them, need all of them, and the shape of the saga is that of both together; problems and stages are of
            the new steps only.
    """
    looked = read(plain.model_dump(mode="json", exclude_unset=True) if isinstance(plain, Plan) else plain)
    plan = looked.plan
    looked.steps = {number - len(done): step for number, step in enumerate(done)} | looked.steps
    by_name = {tool.name: tool for tool in tools}
    problems = [*looked.problems, *_step_problems(looked, by_name, plain)]
    steps = list(looked.steps.values())
    order = graph(_needs(steps, len(done)))
    if not isinstance(order, Graph):
        return Checked(plan=plan, problems=_of_new([*problems, *_cycles(looked, order)]))
    found = fit_problems(looked, order, by_name, pre_approved)
    problems = _of_new([*problems, *found.problems])
    new = ([steps[step].id for step in stage if step >= len(done)] for stage in found.stages)
    return Checked(
        plan=plan,
        problems=problems,
        warnings=_of_new(found.warnings),
        stages=[] if problems else [stage for stage in new if stage],
    )


def _of_new(problems: Iterable[Problem]) -> list[Problem]:
    """Without what is said of steps that are over: they have numbers below zero, and can't be mended any more."""
    return [each for each in problems if not each.place.startswith("/steps/-")]


def _step_problems(looked: Read, tools: Mapping[str, AnyTool], plain: JsonValue | Plan) -> Iterator[Problem]:
    by_id: dict[str, Step] = {}
    others = Referable(by_id, tools, _unread(looked, plain), Nearest())
    for number, step in looked.steps.items():
        if step.id in by_id:
            words = f"there is a step {step.id!r} before it"
            yield problem(Fault.DUPLICATE, ("steps", number, "id"), words, "Give each step an id of its own")
        by_id.setdefault(step.id, step)
    for number, step in looked.steps.items():
        yield from _needs_problems(step, ("steps", number, "needs"), others)
        yield from _misplaced_skip(step, ("steps", number, "on_failure"))
        yield from _tries_problems(step, ("steps", number), others)


def _unread(looked: Read, plain: JsonValue | Plan) -> frozenset[str]:
    """The ids of the steps that could not be read, as far as those can be."""
    raw = plain.get("steps") if isinstance(plain, dict) else None
    ids = (
        {str(each.get("id")) for each in raw if isinstance(each, dict)}
        if isinstance(raw, list)
        else set[str]()
    )
    return frozenset(ids - {step.id for step in looked.steps.values()})


def _needs_problems(step: Step, place: Path, others: Referable) -> Iterator[Problem]:
    for at, need in enumerate(step.needs):
        if need in step.needs[:at]:
            yield problem(Fault.DUPLICATE, (*place, at), f"{need!r} is needed twice", "Name it once")
        elif need not in others.steps and need not in others.unread:
            remedy = f"Name a step of this plan.{others.nearest(need, others.steps)}"
            yield problem(Fault.UNKNOWN_STEP, (*place, at), f"there is no step {need!r}", remedy)


def _misplaced_skip(step: Step, place: Path) -> Iterator[Problem]:
    for at, each in enumerate(step.on_failure[:-1]):
        if each.action == "skip":
            words = "after a skip nothing else is tried"
            yield problem(Fault.NOT_A_PLAN, (*place, at), words, "Let skip be the last alternative")


def _tries_problems(step: Step, place: Path, others: Referable) -> Iterator[Problem]:
    for inner, name, arguments in step.tries():
        at = (*place, *inner, "arguments")
        tool = others.tools.get(name)
        if tool is None:
            here = inner if inner and step.on_failure[int(inner[1])].action == "substitute" else ()
            if here == inner:
                words = f"there is no tool {name[:80]!r}"
                remedy = (
                    f"Use a tool of the catalogue, which `tools` lists.{others.nearest(name, others.tools)}"
                )
                yield problem(Fault.UNKNOWN_TOOL, (*place, *here, "tool"), words, remedy)
            continue
        forms = list(locate(arguments, at, ()))
        yield from argument_problems(tool, arguments, at, forms, others.nearest)
        for form in forms:
            yield from reference_problems(form, tool, step.id, others)


def _needs(steps: Sequence[Step], done: int) -> list[frozenset[int]]:
    """What each step needs, named or by reference, by the steps' numbers; what is not there is left out.

    The first `done` steps are over, so that every other one comes after them.
    """
    numbers = {step.id: number for number, step in reversed(list(enumerate(steps)))}
    named = (frozenset(numbers[name] for name in needed(step) if name in numbers) for step in steps)
    return [needs.union(range(done)) if at >= done else needs for at, needs in enumerate(named)]


def _cycles(looked: Read, cycles: Sequence[Sequence[int]]) -> Iterator[Problem]:
    numbers, steps = list(looked.steps), list(looked.steps.values())
    for cycle in cycles:
        way = " needs ".join(steps[step].id for step in (*cycle, cycle[0]))
        remedy = "Take one of these needs or references away"
        yield problem(
            Fault.CYCLE, ("steps", numbers[cycle[0]]), f"no step of these could begin: {way}", remedy
        )
