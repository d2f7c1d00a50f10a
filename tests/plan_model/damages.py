"""Mistakes that are made in a valid plan; each is refused, whatever else the plan holds and wherever it is made."""

import random
from collections.abc import Callable
from typing import Any, TypeAlias

from tests.plan_model.drawn import NAME

Written: TypeAlias = dict[str, Any]
Damage: TypeAlias = Callable[[Written, Written, random.Random], None]
"""Damages a plan, at one of its steps."""


def damaged(plan: Written, damage: Damage, chance: random.Random) -> Written:
    """The plan with this mistake in one of its steps; it is changed in place."""
    damage(plan, chance.choice(plan["steps"]), chance)
    return plan


def an_unknown_tool(_: Written, step: Written, chance: random.Random) -> None:
    step["tool"] = chance.choice([f"{step['tool']}s", "rm", "rescind.settle", "", step["tool"].upper()])


def an_unknown_substitute(_: Written, step: Written, __: random.Random) -> None:
    step["on_failure"].insert(0, {"action": "substitute", "tool": "shell.run", "arguments": {}})


def an_unknown_argument(_: Written, step: Written, chance: random.Random) -> None:
    step["arguments"][chance.choice(["force", "undo", "key"])] = True


def a_missing_argument(_: Written, step: Written, __: random.Random) -> None:
    del step["arguments"][_first(step)]


def an_argument_of_the_wrong_type(_: Written, step: Written, chance: random.Random) -> None:
    step["arguments"][_first(step)] = chance.choice([7, True, None, [], {"a": "b"}])


def a_reference_to_nobody(_: Written, step: Written, chance: random.Random) -> None:
    path = chance.choice(["nobody.name", "nobody", "", f"{step['id']}.changed"])
    step["arguments"][_first(step)] = {"$ref": path}


def a_reference_to_no_field(plan: Written, step: Written, __: random.Random) -> None:
    step["arguments"][_first(step)] = {"$ref": f"{_before(plan)}.no_such_field"}


def a_reference_of_the_wrong_type(plan: Written, step: Written, chance: random.Random) -> None:
    path = chance.choice([_before(plan), f"{_before(plan)}.tags", f"{_before(plan)}.changed"])
    step["arguments"][_first(step)] = {"$ref": path, "otherwise": "nothing"}


def a_reference_that_may_be_missing(plan: Written, step: Written, __: random.Random) -> None:
    before = _before(plan)
    plan["steps"][-1]["on_failure"] = [{"action": "skip"}]
    step["arguments"][_first(step)] = {"$ref": f"{before}.bucket"}


def an_unknown_form(_: Written, step: Written, chance: random.Random) -> None:
    forms: list[Written] = [
        {"$env": "KEY"},
        {"$ref": 1},
        {"$join": {}},
        {"$join": [None]},
        {"$ref": "a", "b": 1},
    ]
    step["arguments"][_first(step)] = chance.choice(forms)


def a_cycle_of_needs(plan: Written, step: Written, chance: random.Random) -> None:
    other = chance.choice(plan["steps"])
    step["needs"], other["needs"] = [other["id"]], [step["id"]]


def a_cycle_by_a_reference(plan: Written, step: Written, __: random.Random) -> None:
    before = _before(plan)
    step["arguments"][_first(step)] = {"$ref": f"{before}.bucket"}
    plan["steps"][-1]["needs"] = [step["id"]]


def an_unknown_need(_: Written, step: Written, chance: random.Random) -> None:
    step["needs"] = [chance.choice(["nobody", f"{step['id']}x", ""])]


def a_need_twice(plan: Written, step: Written, __: random.Random) -> None:
    step["needs"] = [_before(plan)] * 2


def an_id_twice(plan: Written, step: Written, chance: random.Random) -> None:
    plan["steps"].insert(chance.randrange(len(plan["steps"])), {**step})


def an_id_that_is_none(_: Written, step: Written, chance: random.Random) -> None:
    step["id"] = chance.choice(["", "a.b", "a/b", "1", "a" * 65, 7, None])


def one_point_of_no_return_more(plan: Written, _: Written, __: random.Random) -> None:
    plan["points_of_no_return"] += 1
    plan["steps"] += [
        _step(f"say{n}", "chat.notify", webhook="ops", text=f"{NAME}s90t{n}x") for n in range(2)
    ]


def steps_that_meet_in_no_order(plan: Written, _: Written, __: random.Random) -> None:
    plan["steps"] += [
        _step(f"write{n}", "files.write", folder="plans", path=f"{NAME}s91t0x.txt", text=str(n))
        for n in range(2)
    ]


def an_undo_that_is_wanted_of_what_has_none(plan: Written, _: Written, __: random.Random) -> None:
    plan["points_of_no_return"] += 1
    plan["undo_within"] = 60
    plan["steps"].append(_step("say", "sms.send", to="+491700000001", text=f"{NAME}s92t0x"))


def a_skip_that_is_not_the_last(_: Written, step: Written, __: random.Random) -> None:
    step["on_failure"] = [{"action": "skip"}, {"action": "retry", "arguments": step["arguments"]}]


def a_bad_alternative(_: Written, step: Written, chance: random.Random) -> None:
    bad: list[Written] = [{"action": "undo"}, {"action": "retry"}, {"action": "skip", "tool": "x"}, {}]
    step["on_failure"] = [chance.choice(bad)]


def too_many_alternatives(_: Written, step: Written, __: random.Random) -> None:
    step["on_failure"] = [{"action": "retry", "arguments": step["arguments"]}] * 6


def a_number_out_of_bounds(plan: Written, step: Written, chance: random.Random) -> None:
    where, name, value = chance.choice(
        [
            (plan, "parallel", 0),
            (plan, "parallel", 101),
            (plan, "points_of_no_return", -1),
            (plan, "undo_within", 0),
            (step, "timeout", 0),
            (step, "timeout", 1e9),
            (step, "timeout", "5"),
        ]
    )
    where[name] = value


def a_field_that_no_plan_has(plan: Written, step: Written, chance: random.Random) -> None:
    chance.choice([plan, step])[chance.choice(["pre_approved", "compensate", "approved", "retries"])] = True


def too_many_steps(plan: Written, _: Written, __: random.Random) -> None:
    plan["steps"] += [_step(f"look{n}", "s3.find_bucket", bucket="some") for n in range(1_001)]


def too_deep(_: Written, step: Written, __: random.Random) -> None:
    deep: Any = 1
    for _level in range(40):
        deep = [deep]
    step["arguments"]["data"] = deep


def no_steps(plan: Written, _: Written, chance: random.Random) -> None:
    none: list[Any] = [[], None, "s0", {}]
    plan["steps"] = chance.choice(none)


DAMAGES: list[Damage] = [
    an_unknown_tool,
    an_unknown_substitute,
    an_unknown_argument,
    a_missing_argument,
    an_argument_of_the_wrong_type,
    a_reference_to_nobody,
    a_reference_to_no_field,
    a_reference_of_the_wrong_type,
    a_reference_that_may_be_missing,
    an_unknown_form,
    a_cycle_of_needs,
    a_cycle_by_a_reference,
    an_unknown_need,
    a_need_twice,
    an_id_twice,
    an_id_that_is_none,
    one_point_of_no_return_more,
    steps_that_meet_in_no_order,
    an_undo_that_is_wanted_of_what_has_none,
    a_skip_that_is_not_the_last,
    a_bad_alternative,
    too_many_alternatives,
    a_number_out_of_bounds,
    a_field_that_no_plan_has,
    too_many_steps,
    too_deep,
    no_steps,
]


def _first(step: Written) -> str:
    """The name of a text that the tool needs: the first argument of each of the model's requests."""
    return str(next(iter(step["arguments"])))


def _before(plan: Written) -> str:
    """The id of a step that is put at the end of the plan, and whose result can be used."""
    plan["steps"].append(_step("before", "s3.find_bucket", bucket="some"))
    return "before"


def _step(name: str, tool: str, **arguments: Any) -> Written:
    return {"id": name, "tool": tool, "arguments": arguments, "needs": [], "on_failure": []}
