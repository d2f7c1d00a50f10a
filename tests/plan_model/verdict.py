"""Judges what came of a plan: what is said is believed only if it is seen in the world."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from pydantic import JsonValue
from pydantic_core import to_json

from rescind import Grade, RecordState, SagaReport, SagaState
from rescind.ledger import EffectView
from tests.plan_model.drawn import Drawn, Try
from tests.plan_model.order import out_of_order, step_of
from tests.plan_model.run import Ended

OPEN = frozenset({RecordState.STUCK, RecordState.IN_DOUBT})
ENDED_WELL = frozenset({RecordState.APPLIED, RecordState.ABSENT})
REFUSED = ("PlanRefused", "ValidationError")


def problems(ended: Ended) -> list[str]:
    """Everything that is wrong; empty if nothing is."""
    judged = _JUDGES.get(ended.closed, _unexpected)
    is_damaged = ended.started.drawn.instead is not None
    found = list(_refused(ended)) if is_damaged else [*judged(ended), *_in_vain(ended)]
    found += list(out_of_order(ended.started.drawn, ended.view)) if ended.view else []
    found += [f"the ledger is not as its journal: {each}" for each in ended.differences]
    found += [f"{token} was made {times} times" for token, times in ended.made.items() if times > 1]
    return found


def _in_vain(ended: Ended) -> Iterator[str]:
    """Nothing goes wrong, and no person is asked, where no provider was told to misbehave."""
    tries = list(ended.started.drawn.tries())
    calm = not any(each.troubles for each in tries)
    if calm and ended.closed == "UndoIncomplete" and not any(each.kind.is_final for each in tries):
        yield f"people are asked about {ended.asked}, and nothing went wrong: {ended.answer}"
    if calm and all(each.sound for each in tries) and ended.closed != "COMPLETED":
        yield f"nothing went wrong, and it is {ended.closed}: {ended.answer}"


def _unexpected(ended: Ended) -> Iterator[str]:
    yield f"it is {ended.closed}: {ended.answer}"


def _refused(ended: Ended) -> Iterator[str]:
    """A damaged plan has begun nothing."""
    if ended.closed not in REFUSED:
        yield f"it was not refused, but is {ended.closed}: {ended.answer}"
    if ended.view is not None and ended.view.effects:
        yield f"it has begun {[each.tool for each in ended.view.effects]}"
    if ended.changed or ended.made:
        yield f"it has changed {ended.changed} {ended.made}"


def _completed(ended: Ended) -> Iterator[str]:
    """Every step's effect is there once, by the try that succeeded; of other tries and skipped steps nothing is."""
    done: dict[str, dict[str, Any]] = ended.answer["steps"]
    results: dict[str, JsonValue] = {name: each["result"] for name, each in done.items()}
    for step in ended.started.drawn.steps:
        became = done.get(step.id)
        if became is None:
            yield f"nothing is said of {step.id}"
            continue
        for number, each in enumerate(step.tries, 1):
            succeeded = became["became"] == "done" and number == became["tries"]
            yield from _seen(ended, each, results, succeeded=succeeded)
    if ended.view is None or ended.view.state not in (SagaState.SEALED, SagaState.COMMITTED):
        yield f"it is COMPLETED, and the ledger says {ended.view.state if ended.view else None}"
    elif other := [each for each in ended.view.effects if each.state not in ENDED_WELL]:
        yield f"it is COMPLETED with {[(each.key, each.state.value) for each in other]}"


def _seen(ended: Ended, each: Try, results: dict[str, JsonValue], *, succeeded: bool) -> Iterator[str]:
    changed = ended.changed.get(each.token, [])
    kind = each.kind
    shows = kind.over if each.there and kind.over else kind.shows
    wanted = Counter(shows if succeeded else ())
    if Counter(change.part for change in changed) != wanted:
        yield f"{each.token} ({each.tool}) should show {dict(wanted)}, and shows {changed}"
    if succeeded and kind.text:
        text = said(each.arguments[kind.text], results)
        hashed = hashlib.sha256(text.encode()).hexdigest()
        written = json.dumps(text)[1:-1]
        if not any(written in change.value or hashed in change.value for change in changed):
            yield f"{each.token} ({each.tool}) should say {text!r}"


def _undone(ended: Ended) -> Iterator[str]:
    """The world is as it was, but for what the report calls residue."""
    report = SagaReport.model_validate(ended.answer)
    allowed = set(_residue(ended, report))
    for token, changed in ended.changed.items():
        if token not in allowed:
            yield f"it is called undone, and left is {changed}"
    if report.left:
        yield f"it is called undone, and the report leaves {report.left}"
    if ended.view is None or ended.view.state is not SagaState.CLOSED:
        yield f"it is SagaUndone, and the ledger says {ended.view.state if ended.view else None}"


def _incomplete(ended: Ended) -> Iterator[str]:
    """What is left is what the report says, and a person is asked about exactly that."""
    report = SagaReport.model_validate(ended.answer)
    named = {step.step for step in report.left}
    rows = ended.view.effects if ended.view else ()
    open_rows = {_step(row): row for row in rows if row.state in OPEN}
    if not named:
        yield "it is UndoIncomplete, and the report leaves nothing"
    if named != open_rows.keys():
        yield f"the report leaves {named}, and the ledger {open_rows.keys()}"
    if ended.asked is None or set(ended.asked) != open_rows.keys():
        yield f"people are asked about {ended.asked}, and open is {open_rows.keys()}"
    may_stand = {token for row in open_rows.values() for token in _tokens(ended.started.drawn, row)}
    for token, changed in ended.changed.items():
        if token not in may_stand | set(_residue(ended, report)):
            yield f"the report leaves {named}, and left is {changed} of {token}"


def _residue(ended: Ended, report: SagaReport) -> Iterator[str]:
    """The tokens of the steps that are undone with a residue."""
    left = {
        step.step
        for step in report.steps
        if step.restoration is not None and step.restoration.grade is Grade.RESIDUE
    }
    for row in ended.view.effects if ended.view else ():
        if _step(row) in left:
            yield from _tokens(ended.started.drawn, row)


def _step(row: EffectView) -> str:
    return row.key.rpartition("/")[2]


def _tokens(drawn: Drawn, row: EffectView) -> list[str]:
    """The try that an effect is of: its own token is the first one of its step in the request."""
    step = step_of(row.key)
    own = [each.token for each in drawn.tries() if re.search(rf"n\d+{step}t\d+x$", each.token)]
    text = to_json(row.request).decode()
    return [token for token in own if token in text]


def said(form: JsonValue, results: dict[str, JsonValue]) -> str:
    """What a text of a plan comes to, put together by other code than the product's."""
    if not isinstance(form, dict):
        return str(form)
    if "$join" in form:
        return "".join(said(part, results) for part in form["$join"])  # type: ignore[union-attr]
    step, *fields = str(form["$ref"]).split(".")
    found = results.get(step)
    for name in fields:
        found = found.get(name) if isinstance(found, dict) else None
    return str(form["otherwise"] if found is None and "otherwise" in form else found)


_JUDGES = {"COMPLETED": _completed, "SagaUndone": _undone, "UndoIncomplete": _incomplete}
