"""What the ledger's statements answer, as small immutable values."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import JsonValue

from rescind._states import RecordState, Repeat, SagaState


@dataclass(frozen=True, slots=True)
class EffectAddress:
    """Where one effect is found: its saga, its caller's epoch, its key, and its place in the order."""

    saga: str
    epoch: int
    key: str
    seq: tuple[int, ...]


class Refusal(StrEnum):
    """Why a statement was refused; `sentence` says it in words."""

    SAGA_NOT_OPEN = "saga_not_open"
    SAGA_COMMITTED = "saga_committed"
    SAGA_CLOSED = "saga_closed"
    KEY_REUSED = "key_reused"
    FENCED = "fenced"
    DECIDED = "decided"
    IN_DOUBT = "in_doubt"
    UNPROVEN = "unproven"
    UNSETTLED = "unsettled"
    KEYS_DIFFER = "keys_differ"
    NOT_FITTING = "not_fitting"
    NOT_COMMITTED = "not_committed"
    SIBLING_IN_DOUBT = "sibling_in_doubt"
    NOT_APPROVED = "not_approved"
    APPROVAL_CHANGED = "approval_changed"
    APPROVAL_EXPIRED = "approval_expired"
    APPROVAL_DECIDED = "approval_decided"
    APPROVED_TWICE = "approved_twice"

    @property
    def sentence(self) -> str:
        """The reason in words."""
        return _SENTENCES[self]


_SENTENCES = {
    Refusal.SAGA_NOT_OPEN: "the saga is not open any more, so nothing new may be begun in it",
    Refusal.SAGA_COMMITTED: "the saga is sealed or committed; it has to be claimed before it is undone",
    Refusal.SAGA_CLOSED: "the saga is closed, nothing of it stands",
    Refusal.KEY_REUSED: "the key was used before, with another tool or request",
    Refusal.FENCED: "the effect is fenced: it is being settled or undone",
    Refusal.DECIDED: "the effect was decided before; its state says how",
    Refusal.IN_DOUBT: "nobody can tell whether it took effect already",
    Refusal.UNPROVEN: "an earlier attempt has not reported, and this tool is never called twice",
    Refusal.UNSETTLED: "an effect is not settled: it may stand or not",
    Refusal.KEYS_DIFFER: "the effects that stand are not the ones that this run made",
    Refusal.NOT_FITTING: "the verdict does not fit the effect's state",
    Refusal.NOT_COMMITTED: "only a committed saga can be undone in part",
    Refusal.SIBLING_IN_DOUBT: (
        "an earlier saga of this workflow id has a step of which nobody can tell whether it took effect; that has to "
        "be decided first, or start under another workflow id"
    ),
    Refusal.NOT_APPROVED: (
        "its approval has expired, was used before, or is for another request; it has to be asked anew"
    ),
    Refusal.APPROVAL_CHANGED: "what waits for approval is not what was seen; look again with `approvals`",
    Refusal.APPROVAL_EXPIRED: "the time to approve it is over",
    Refusal.APPROVAL_DECIDED: "it was decided before",
    Refusal.APPROVED_TWICE: "this person has approved it already, and another one is needed",
}


@dataclass(frozen=True, slots=True)
class Go:
    """The attempt is on record and may act.

    Attributes:
        attempt: Its number.
        ask: Whether the lookup is asked before the call is sent.
        proven: Whether every earlier attempt is proven to have done nothing.
        before: The before-image that an earlier attempt has stored.
    """

    attempt: int
    ask: bool
    proven: bool
    before: JsonValue


@dataclass(frozen=True, slots=True)
class Replay:
    """The effect stands already, with this result; nothing is to be sent."""

    result: JsonValue


@dataclass(frozen=True, slots=True)
class Busy:
    """Another attempt may still be in flight; come back in `wait` seconds."""

    wait: float


@dataclass(frozen=True, slots=True)
class Wait:
    """The verdict was not taken, since an attempt may still land; come back in `wait` seconds."""

    wait: float


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing was changed; `why` says the reason, `state` the state that it was refused in."""

    why: Refusal
    state: RecordState | SagaState


def refused(answer: dict[str, Any]) -> Refused:
    """The refusal in an answer of the database."""
    state: str = answer["state"]
    return Refused(Refusal(answer["why"]), SagaState(state) if answer["of"] == "saga" else RecordState(state))


@dataclass(frozen=True, slots=True)
class Finished:
    """The report is on record; `unproven` are the attempts that have not reported."""

    state: RecordState
    unproven: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Fenced:
    """No new attempt is let through; `wait` seconds from now the last one in flight has landed."""

    state: RecordState
    result: JsonValue
    request: JsonValue
    before: JsonValue
    wait: float


@dataclass(frozen=True, slots=True)
class UndoGo:
    """The try is on record and may act; with `unproven` attempts the lookup is asked again after the undo."""

    attempt: int
    request: JsonValue
    before: JsonValue
    result: JsonValue
    unproven: tuple[int, ...]
    tool: str
    version: int


@dataclass(frozen=True, slots=True)
class UndoDone:
    """Nothing is left to undo; `restoration` is `{"grade": ..., "detail": ...}`."""

    restoration: JsonValue


@dataclass(frozen=True, slots=True)
class Sealed:
    """The saga is sealed: exactly the effects of this run stand."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """The saga is the caller's now, in this epoch; everybody in an earlier one is locked out."""

    epoch: int


@dataclass(frozen=True, slots=True)
class Standing:
    """One effect that is not finished with, as the unwinding needs it."""

    key: str
    seq: tuple[int, ...]
    tool: str
    version: int
    state: RecordState
    changed: bool


class Extent(StrEnum):
    """How much of a saga a claim is for."""

    UNFINISHED = "unfinished"
    WHOLE = "whole"
    PART = "part"


@dataclass(frozen=True, slots=True)
class Unfinished:
    """One saga that the sweeper has to look at.

    Attributes:
        saga: Its id.
        state: Its state.
        epoch: Its epoch; above 0 somebody has claimed it.
        owner: Who works on it: a run's id, or who has claimed it.
        quiet: Seconds since the ledger last heard of it.
        standing: Effects that it is not finished with.
        undoable: Those of them that an undo can still do something about; of a committed saga only those in its part.
        needs_person: Those that need a person.
        part: The keys of the part that is being undone, while the rest of the saga stays committed.
    """

    saga: str
    state: SagaState
    epoch: int
    owner: str | None
    quiet: float
    standing: int
    undoable: int
    needs_person: int
    part: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EffectOutline:
    """One effect as an undo after the fact needs it; what is longer than 64 kB of JSON is None."""

    key: str
    seq: tuple[int, ...]
    tool: str
    version: int
    state: RecordState
    changed: bool
    no_op: bool
    request: JsonValue
    before: JsonValue
    result: JsonValue
    restoration: JsonValue
    error: str | None


@dataclass(frozen=True, slots=True)
class SagaOutline:
    """A saga and its effects in order.

    Attributes:
        state: Its state.
        epoch: Its epoch; above 0 somebody has claimed it.
        owner: Who works on it.
        part: The keys of the part that is being undone, while the rest of the saga stays committed.
        since_seal: How many seconds ago it was sealed; None if it never was.
        effects: The effects.
    """

    state: SagaState
    epoch: int
    owner: str | None
    part: tuple[str, ...]
    since_seal: float | None
    effects: tuple[EffectOutline, ...]


@dataclass(frozen=True, slots=True)
class OpenTool:
    """A tool and its schema version that an effect on record still needs."""

    tool: str
    version: int


@dataclass(frozen=True, slots=True)
class EffectView:
    """One effect as it is on record."""

    key: str
    seq: tuple[int, ...]
    tool: str
    version: int
    repeat: Repeat | None
    digest: str
    request: JsonValue
    state: RecordState
    fenced: bool
    attempt: int
    unproven: tuple[int, ...]
    before: JsonValue
    result: JsonValue
    changed: bool
    found: bool
    undo_try: int
    dirty: bool
    restoration: JsonValue
    error: str | None


@dataclass(frozen=True, slots=True)
class JournalLine:
    """One line of the journal: what was done, and what it changed."""

    n: int
    at: datetime
    event: str
    body: JsonValue


@dataclass(frozen=True, slots=True)
class SagaSummary:
    """One saga in a list; `left_standing` counts what a person has decided to leave, and what is not clean by it."""

    id: str
    state: SagaState
    epoch: int
    owner: str | None
    effects: int
    standing: int
    started: datetime
    left_standing: int = 0


@dataclass(frozen=True, slots=True)
class SagaView:
    """A saga with its effects in order and its journal; `part` has the keys of the part that is being undone."""

    id: str
    state: SagaState
    epoch: int
    owner: str | None
    part: tuple[str, ...]
    report: JsonValue
    started: datetime
    effects: tuple[EffectView, ...]
    journal: tuple[JournalLine, ...]
