"""The page on states says what the code says."""

import re
from collections.abc import Iterable
from pathlib import Path

from rescind._states import (
    RECORD_TRANSITIONS,
    SAGA_TRANSITIONS,
    STANDING,
    RecordState,
    RecordTransition,
    SagaState,
    SagaTransition,
)

PAGE = Path(__file__).parent.parent.parent / "docs/concepts/states.md"
HEADING = ["| from | to | by | when |", "|---|---|---|---|"]


def table(transitions: Iterable[RecordTransition | SagaTransition]) -> str:
    """The table as it has to stand on the page."""
    lines = list(HEADING)
    for step in transitions:
        before = f"`{step.from_}`" if step.from_ else "(none)"
        by = ", ".join(f"`{name}`" for name in step.by)
        lines.append(f"| {before} | `{step.to}` | {by} | {step.when} |")
    return "\n".join(lines)


def named_in(heading: str) -> set[str]:
    """The states in the first column of the first table below a heading of the page."""
    section = PAGE.read_text().split(f"## {heading}\n")[1].split("\n## ")[0]
    return set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))


def test_every_state_is_explained() -> None:
    """Each state of saga and record has its line, and no other state has one."""
    assert named_in("The saga") == set(SagaState)
    assert named_in("The record of a step") == set(RecordState)


def test_the_states_that_stand() -> None:
    """The page names exactly the states in which an effect stands."""
    (sentence,) = re.findall(r"^(.*) \*\*stand\*\*", PAGE.read_text(), re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", sentence)) == set(STANDING)


def test_every_transition_is_on_the_page() -> None:
    """Both tables of transitions are on the page word for word, and nothing else is there."""
    of_saga, of_record = PAGE.read_text().split("\n### Of a saga\n")[1].split("\n### Of a record\n")
    assert of_saga.strip() == table(SAGA_TRANSITIONS)
    assert of_record.strip() == table(RECORD_TRANSITIONS)
