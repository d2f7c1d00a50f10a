"""A saga's report as the ledger has it now, made of its workflow's last words and of each effect's state."""

from typing import Any, cast

from pydantic import JsonValue, ValidationError

from rescind._calls import Grade, Restoration
from rescind._record import Compensation, Outcome, SagaReport, StepReport
from rescind._states import STANDING, RecordState, SagaState
from rescind.ledger import EffectView, SagaView

_PEOPLE = (RecordState.STUCK, RecordState.IN_DOUBT)
_SHORT = 40
"""Characters of a request's field that is said in a step's words."""


def inner(saga: str) -> str:
    """Workflow id and first run id of a saga's id in the ledger, without the namespace."""
    return saga.partition("/")[2]


def workflow_of(saga: str) -> str:
    """The workflow's id of a saga's id in the ledger."""
    return inner(saga).rpartition("/")[0]


def report_of(view: SagaView) -> SagaReport:
    """The saga's report as the ledger has it now: its workflow's last words, and each effect's state today."""
    told = _told(view.report)
    by_step = {step.step: step for step in told.steps} if told else {}
    failed = view.state in (SagaState.UNWINDING, SagaState.CLOSED)
    key = f"{inner(view.id)}/"
    steps = [_step(effect, effect.key.removeprefix(key), by_step, failed=failed) for effect in view.effects]
    return SagaReport(
        saga=inner(view.id),
        outcome=_outcome(view, told),
        failed_at=told.failed_at if told else None,
        error=told.error if told else None,
        steps=steps,
    )


def _outcome(view: SagaView, told: SagaReport | None) -> Outcome:
    match view.state:
        case SagaState.OPEN:
            return Outcome.RUNNING
        case SagaState.SEALED | SagaState.COMMITTED:
            if any(effect.state in _PEOPLE for effect in view.effects):
                return Outcome.INCOMPLETE
            return Outcome.RUNNING if view.part else Outcome.COMPLETED
        case SagaState.CLOSED if any(map(_is_left, view.effects)):
            return Outcome.LEFT
        case SagaState.CLOSED:
            return Outcome.CANCELED if told and told.outcome is Outcome.CANCELED else Outcome.UNDONE
        case SagaState.UNWINDING:
            stopped = told is not None or any(effect.state in _PEOPLE for effect in view.effects)
            return Outcome.INCOMPLETE if stopped else Outcome.RUNNING


def _step(effect: EffectView, name: str, told: dict[str, StepReport], *, failed: bool) -> StepReport:
    before = told.get(name)
    return StepReport(
        step=name,
        tool=effect.tool or (before.tool if before else ""),
        summary=before.summary if before else in_words(effect.tool, effect.request),
        state=effect.state,
        compensation=_compensation(effect) if failed else None,
        restoration=_restoration(effect.restoration),
        changed=effect.changed,
        recovered_by_lookup=effect.found,
        result=effect.result,
        error=_error(effect, before),
    )


def _error(effect: EffectView, before: StepReport | None) -> str | None:
    """What went wrong with the step; not what once kept it from being undone, when it is undone by now."""
    if before is None or (before.state in _PEOPLE and before.state is not effect.state):
        return effect.error if effect.state in STANDING else None
    return before.error or (effect.error if effect.state in STANDING else None)


def _is_left(effect: EffectView) -> bool:
    """Whether a person has closed it and something of it was left in the world."""
    restoration = _restoration(effect.restoration)
    left = restoration is not None and restoration.grade is Grade.RESIDUE
    return left and effect.state is RecordState.RESOLVED


def _compensation(effect: EffectView) -> Compensation:
    if (effect.state in STANDING and effect.changed) or _is_left(effect):
        return Compensation.FAILED
    undone = effect.state is RecordState.UNDONE and effect.changed
    return Compensation.COMPENSATED if undone else Compensation.NOT_NEEDED


def _told(report: JsonValue) -> SagaReport | None:
    try:
        return SagaReport.model_validate(report)
    except ValidationError:
        return None


def _restoration(plain: JsonValue) -> Restoration | None:
    try:
        return Restoration.model_validate(plain)
    except ValidationError:
        return None


def in_words(tool: str, request: JsonValue) -> str:
    """A step in words: its tool, and the short fields of its request."""
    fields: dict[str, Any] = cast("dict[str, Any]", request) if isinstance(request, dict) else {}
    words = (f"{name}={value}" for name, value in fields.items() if is_short(value))
    return " ".join((tool, *words))


def is_short(value: object) -> bool:
    """Whether a request's field is said in the step's words."""
    return isinstance(value, str | int) and len(str(value)) <= _SHORT
