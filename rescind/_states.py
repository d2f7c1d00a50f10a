"""The states of records and sagas, and every transition between them that is legal."""

from dataclasses import dataclass
from enum import StrEnum


class RecordState(StrEnum):
    """What is known about one effect: whether it stands, is gone, or nobody can tell."""

    INTENDED = "intended"
    APPLIED = "applied"
    ABSENT = "absent"
    IN_DOUBT = "in_doubt"
    UNDOING = "undoing"
    UNDONE = "undone"
    STUCK = "stuck"
    RESOLVED = "resolved"


class SagaState(StrEnum):
    """How far a saga is: effects are added only while it is open, and it is closed when nothing stands."""

    OPEN = "open"
    SEALED = "sealed"
    COMMITTED = "committed"
    UNWINDING = "unwinding"
    CLOSED = "closed"


class Repeat(StrEnum):
    """When a call may be sent again although an earlier attempt has not reported."""

    DEDUPLICATED = "deduplicated"
    LOOKED_UP = "looked_up"
    NEVER = "never"


class Outcome(StrEnum):
    """What one forward attempt proves about itself, and about no other attempt."""

    APPLIED = "applied"
    UNKNOWN = "unknown"
    NOTHING = "nothing"
    REFUSED = "refused"


class UndoOutcome(StrEnum):
    """What one try to undo an effect came to."""

    UNDONE = "undone"
    CONFLICT = "conflict"
    FAILED = "failed"


class Verdict(StrEnum):
    """A person's word on an effect that is stuck or in doubt."""

    RETRY = "retry"
    DONE = "done"
    WAIVE = "waive"
    CONFIRM = "confirm"
    ABSENT = "absent"


STANDING = frozenset(
    {
        RecordState.INTENDED,
        RecordState.APPLIED,
        RecordState.UNDOING,
        RecordState.STUCK,
        RecordState.IN_DOUBT,
    }
)
"""A saga with an effect in one of these states is not finished with it."""

GONE = frozenset(RecordState) - STANDING
"""In these states nothing of an effect stands any more, or a person has dealt with it."""


@dataclass(frozen=True, slots=True)
class RecordTransition:
    """One legal change of an effect's state; `from_` is None where the record is made."""

    from_: RecordState | None
    to: RecordState
    by: tuple[str, ...]
    when: str


@dataclass(frozen=True, slots=True)
class SagaTransition:
    """One legal change of a saga's state; `from_` is None where the saga is made."""

    from_: SagaState | None
    to: SagaState
    by: tuple[str, ...]
    when: str


def _record(before: str | None, to: str, by: str, when: str) -> RecordTransition:
    return RecordTransition(RecordState(before) if before else None, RecordState(to), tuple(by.split()), when)


def _saga(before: str | None, to: str, by: str, when: str) -> SagaTransition:
    return SagaTransition(SagaState(before) if before else None, SagaState(to), tuple(by.split()), when)


RECORD_TRANSITIONS: tuple[RecordTransition, ...] = (
    _record(None, "intended", "begin", "the first attempt is about to be made"),
    _record(
        None, "absent", "fence undo_begin", "nothing was begun; the row is a tombstone that refuses a begin"
    ),
    _record(
        None,
        "in_doubt",
        "finish mistrust",
        "a report or a call without a begin on record: the ledger lost rows",
    ),
    _record("intended", "applied", "finish settle", "an attempt reports its effect, or the lookup finds it"),
    _record("intended", "in_doubt", "settle mistrust", "nobody can tell whether the effect happened"),
    _record(
        "intended", "absent", "finish fence settle", "every attempt is proven empty, or was looked up in time"
    ),
    _record("absent", "intended", "begin mistrust", "tried again, while not fenced and the saga is open"),
    _record("absent", "applied", "finish", "stray: an attempt that was believed empty reports its effect"),
    _record(
        "absent",
        "in_doubt",
        "finish mistrust",
        "an attempt that was believed empty cannot tell, or may be lost",
    ),
    _record("applied", "undoing", "undo_begin", "a try to undo it is about to be made"),
    _record(
        "applied", "undone", "undo_begin unwind", "no-op: the effect changed nothing, so nothing is undone"
    ),
    _record("applied", "stuck", "give_up", "it cannot be undone"),
    _record("undoing", "undone", "undo_finish", "a try reports that the effect is gone"),
    _record("undoing", "applied", "undo_finish", "it is gone, but it had happened twice: undo once more"),
    _record("undoing", "stuck", "undo_finish give_up", "conflict, or the tries are used up"),
    _record("stuck", "undoing", "undo_begin", "another try is made"),
    _record("stuck", "undone", "undo_finish", "a late try reports that the effect is gone"),
    _record("stuck", "applied", "undo_finish resolve", "a late try of a double, or a person says: retry"),
    _record("stuck", "resolved", "resolve", "a person has undone it by hand, or lets it stand"),
    _record(
        "in_doubt", "applied", "finish settle resolve", "a report, the lookup or a person says it happened"
    ),
    _record("in_doubt", "absent", "finish settle resolve", "reports, the lookup or a person say it did not"),
    _record("in_doubt", "resolved", "resolve", "a person has seen to it by hand, or lets it stand"),
    _record("undone", "applied", "finish", "stray: an attempt acted after the undo"),
    _record("undone", "in_doubt", "finish", "an attempt may have acted after the undo, and cannot tell"),
    _record("resolved", "applied", "finish", "stray: an attempt acted after a person had decided"),
)
"""Every legal transition of a record; the database refuses all others."""

SAGA_TRANSITIONS: tuple[SagaTransition, ...] = (
    _saga(
        None,
        "open",
        "begin fence undo_begin unwind seal report finish mistrust",
        "the saga's first statement",
    ),
    _saga("open", "sealed", "seal", "the workflow is done and exactly its effects stand"),
    _saga("sealed", "committed", "promote", "Temporal says that the workflow has completed"),
    _saga(
        "open", "unwinding", "undo_begin unwind report claim", "the workflow has failed, or its owner is gone"
    ),
    _saga(
        "sealed",
        "unwinding",
        "undo_begin unwind claim finish",
        "it failed after the seal, or a stray or double",
    ),
    _saga("committed", "unwinding", "claim finish", "undo after the fact, or a stray or double"),
    _saga("closed", "unwinding", "finish mistrust", "an effect stands, or may stand, that was believed gone"),
    _saga(
        "unwinding",
        "closed",
        "fence settle finish undo_begin undo_finish unwind report resolve claim",
        "nothing stands any more",
    ),
)
"""Every legal transition of a saga; the database refuses all others."""
