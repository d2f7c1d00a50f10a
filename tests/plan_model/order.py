"""In which order steps were begun and undone, as the journal has it, against what the plan says they need."""

import re
from collections.abc import Iterator

from pydantic_core import to_json

from rescind.ledger import SagaView
from tests.plan_model.drawn import Drawn, Step


def out_of_order(drawn: Drawn, view: SagaView) -> Iterator[str]:
    """The steps that began before what they need, and those that were not undone last started, first undone."""
    lines = [(line.event, str(line.body.get("key"))) for line in view.journal if isinstance(line.body, dict)]
    begun: dict[str, list[int]] = {}
    for number, (event, key) in enumerate(lines):
        if event == "begin":
            begun.setdefault(step_of(key), []).append(number)
    for step in drawn.steps:
        for need in _needed(step):
            if step.id in begun and need in begun and begun[step.id][0] < begun[need][-1]:
                yield f"{step.id} needs {need}, and began before it was over"
    undone = list(dict.fromkeys(key for event, key in lines if event == "undo_begin"))
    places = {row.key: row.seq for row in view.effects}
    if [places[key] for key in undone] != sorted((places[key] for key in undone), reverse=True):
        yield f"undone in the order {undone}"


def step_of(key: str) -> str:
    """The id of the step that an effect's key is of."""
    return key.rpartition("/")[2].rpartition("#")[0]


def _needed(step: Step) -> set[str]:
    """What a step names, and what its references lead to."""
    text = to_json([each.arguments for each in step.tries]).decode()
    return {*step.needs, *re.findall(r'"\$ref":"(\w+)', text)}
