"""Random invalid plans are all refused before their first effect, whatever is wrong with them and wherever."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from temporalio.client import WorkflowFailureError, WorkflowHandle

from rescind.plans import check
from rescind.plans._order import EXECUTE
from tests.rescind.plans.conftest import Plans
from tests.rescind.plans.yard import ALL, CALLS, TOOLS

Steps = list[dict[str, Any]]
Damage = Callable[[Steps, int, random.Random], None]


def sound(chance: random.Random) -> Steps:
    """A plan in which nothing is wrong: steps that need and use earlier ones, in a random order of the file."""
    steps: Steps = []
    for number in range(chance.randint(2, 12)):
        earlier = [step["id"] for step in steps]
        place: Any = f"place-{number}"
        if earlier and chance.random() < 0.4:
            place = {"$join": [f"{number}: ", {"$ref": f"{chance.choice(earlier)}.number"}]}
        needs = chance.sample(earlier, min(len(earlier), chance.randint(0, 2)))
        tool = chance.choice(["site.build", "site.build", "site.paint", "site.fence", "site.look"])
        steps.append({"id": f"s{number}", "tool": tool, "arguments": {"place": place}, "needs": needs})
    chance.shuffle(steps)
    return steps


def unknown_tool(steps: Steps, at: int, chance: random.Random) -> None:
    steps[at]["tool"] = chance.choice(["site.biuld", "rm", "rescind.settle", "", "site.build "])


def unknown_need(steps: Steps, at: int, chance: random.Random) -> None:
    steps[at]["needs"] = [chance.choice(["nobody", f"{steps[at]['id']}x"])]


def a_cycle(steps: Steps, at: int, chance: random.Random) -> None:
    other = chance.choice(steps)
    steps[at]["needs"] = [other["id"]]
    other["needs"] = [steps[at]["id"]]


def the_same_id(steps: Steps, at: int, chance: random.Random) -> None:
    steps.insert(chance.randrange(len(steps)), {**steps[at], "tool": "site.look"})


def a_wrong_argument(steps: Steps, at: int, chance: random.Random) -> None:
    bad: list[dict[str, Any]] = [
        {"floors": 0},
        {"floors": "1"},
        {"colour": "pink"},
        {"plaice": "x"},
        {"parts": [{}]},
    ]
    steps[at]["arguments"] = steps[at]["arguments"] | chance.choice(bad)


def a_missing_argument(steps: Steps, at: int, _: random.Random) -> None:
    steps[at]["arguments"] = {"floors": 1}


def a_wrong_reference(steps: Steps, at: int, chance: random.Random) -> None:
    other = chance.choice(steps)["id"]
    path = chance.choice(["nobody.number", f"{other}.colours", f"{other}.floors", f"{other}.nickname", ""])
    steps[at]["arguments"]["place"] = {"$ref": path}


def an_unknown_form(steps: Steps, at: int, chance: random.Random) -> None:
    bad: list[dict[str, Any]] = [{"$env": "KEY"}, {"$ref": 1}, {"$join": {}}, {"$join": [None]}]
    steps[at]["arguments"]["place"] = chance.choice(bad)


def an_unknown_field(steps: Steps, at: int, chance: random.Random) -> None:
    steps[at][chance.choice(["pre_approved", "undo", "compensate", "retries"])] = True


def nobody_asked(steps: Steps, at: int, _: random.Random) -> None:
    steps[at] |= {"tool": "site.blow_up"}


def a_bad_alternative(steps: Steps, at: int, chance: random.Random) -> None:
    other = {"action": "substitute", "tool": "radio.say", "arguments": {"text": "x"}}
    skip = {"action": "skip"}
    steps[at]["on_failure"] = chance.choice(
        [[other], [skip, skip], [{"action": "unwind"}], [{"action": "retry"}]]
    )


DAMAGES: list[Damage] = [
    unknown_tool,
    unknown_need,
    a_cycle,
    the_same_id,
    a_wrong_argument,
    a_missing_argument,
    a_wrong_reference,
    an_unknown_form,
    an_unknown_field,
    nobody_asked,
    a_bad_alternative,
]


@settings(max_examples=100, deadline=None)
@given(st.randoms(use_true_random=False))
def test_a_sound_plan_is_taken_and_a_damaged_one_is_refused(chance: random.Random) -> None:
    """One mistake anywhere in it is enough, and several hide no other."""
    steps = sound(chance)
    taken: dict[str, Any] = {"steps": steps}
    assert check(taken, TOOLS, pre_approved=[]).problems == []
    for damage in chance.sample(DAMAGES, chance.randint(1, 3)):
        damage(steps, chance.randrange(len(steps)), chance)
        found = check(copy.deepcopy(taken), TOOLS, pre_approved=[])
        assert found.problems, damage
        assert found.stages == []
        assert all(problem.message and problem.remedy for problem in found.problems)


@settings(max_examples=100, deadline=None)
@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text()
        | st.sampled_from([*ALL, "$ref", "s0"]),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(
                    ["steps", "id", "tool", "arguments", "needs", "on_failure", "$ref", "$join", "otherwise"]
                )
                | st.text(max_size=3),
                inner,
                max_size=5,
            )
        ),
        max_leaves=30,
    )
)
def test_nonsense_is_refused_and_breaks_nothing(plain: Any) -> None:
    """Whatever a model or a person hands over, the answer is a list of problems."""
    found = check(plain, TOOLS, pre_approved=[])
    assert found.problems or found.plan is not None


@pytest.mark.usefixtures("plan_worker")
async def test_damaged_plans_that_reach_a_worker(plans: Plans) -> None:
    """Started past every client's check, each of them fails at once, and no tool was called; the sound one was.

    A step that nobody has approved is no damage there: it waits for people.
    """
    CALLS.clear()
    numbered = [(seed, damage) for seed, damage in enumerate(DAMAGES) if damage is not nobody_asked]
    started = [await begun(plans, seed, damage) for seed, damage in numbered]
    for handle in started:
        with pytest.raises(WorkflowFailureError) as failed:
            await handle.result()
        assert getattr(failed.value.cause, "type", None) in ("PlanRefused", "ValidationError")
    assert CALLS == []
    await (await begun(plans, len(DAMAGES), None)).result()
    assert CALLS != []


async def begun(plans: Plans, seed: int, damage: Damage | None) -> WorkflowHandle[Any, Any]:
    """A plan that was started as plain data, damaged or not."""
    chance = random.Random(seed)
    steps = sound(chance)
    if damage:
        damage(steps, chance.randrange(len(steps)), chance)
    order: dict[str, Any] = {"plan": {"steps": steps}, "pre_approved": []}
    return await plans.sagas.client.start_workflow(
        EXECUTE, order, id=f"{plans.world.name}-{seed}", task_queue=plans.sagas.task_queue
    )
