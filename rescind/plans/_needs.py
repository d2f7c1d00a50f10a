"""What a step needs before it: the steps that it names, and those whose results it uses."""

from __future__ import annotations

from pydantic_core import to_json

from rescind.plans._plan import Step
from rescind.plans._values import Reference, locate


def needed(step: Step) -> list[str]:
    """The ids of the steps that have to be over before this one; a reference to itself is no need, but a mistake."""
    referred = [
        each.form.step
        for _, _, arguments in step.tries()
        if b'"$ref"' in to_json(arguments)
        for each in locate(arguments, (), ())
        if isinstance(each.form, Reference) and each.form.step != step.id
    ]
    return list(dict.fromkeys((*step.needs, *referred)))
