"""What travels between a reconciliation, its activities and the people who speak to it."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from rescind._persons_word import Note, Who
from rescind._states import RecordState, SagaState
from rescind._wire import EffectOrder, Reversal
from rescind.ledger import HowOpen
from rescind.reconciliation._pace import Pace


class Verb(StrEnum):
    """What a person can say of an effect, by the Update of this name."""

    RETRY = "retry"
    RESOLVE = "resolve"
    WAIVE = "waive"
    CONFIRM = "confirm"
    ABSENT = "absent"


class _Case(BaseModel):
    model_config = ConfigDict(frozen=True)


class OpenStep(_Case):
    """One effect that needs a person.

    Attributes:
        step: The step's name and number.
        seq: Its place in the saga's order.
        tool: The tool's name.
        summary: The step in words.
        state: `stuck` or `in_doubt`.
        how: How it came to need a person.
        since: When it first did.
        known: The last error, in the provider's own words, or why nobody can tell.
        undo_try: Tries to undo it so far.
        tries: Tries that a person's retry may take.
        reversal: How it is settled and undone; None when the worker does not know the tool.
        has_lookup: Whether its tool has a lookup.
    """

    step: str
    seq: tuple[int, ...]
    tool: str
    summary: str
    state: RecordState
    how: HowOpen
    since: datetime
    known: str
    undo_try: int = 0
    tries: int = 1
    reversal: Reversal | None = None
    has_lookup: bool = False

    @property
    def is_irreversible(self) -> bool:
        """Whether it stands and its tool has no undo."""
        known = self.reversal is not None and self.reversal.compensate is None
        return known and self.state is RecordState.STUCK

    @property
    def goes_on_by_itself(self) -> bool:
        """Whether it is tried again without a person: failed undos and lookups are, conflicts are not."""
        if self.reversal is None or self.how is HowOpen.CONFLICT:
            return False
        if self.state is RecordState.IN_DOUBT:
            return self.has_lookup
        return self.reversal.compensate is not None

    @property
    def can(self) -> tuple[Verb, ...]:
        """What a person can say of it."""
        words: tuple[Verb, ...] = (Verb.RESOLVE, Verb.WAIVE)
        if self.state is RecordState.IN_DOUBT:
            words = (*((Verb.CONFIRM,) if self.reversal else ()), Verb.ABSENT, *words)
            return (Verb.RETRY, *words) if self.reversal and self.has_lookup else words
        can_retry = self.reversal is not None and self.reversal.compensate is not None
        return (Verb.RETRY, *words) if can_retry else words


class Case(_Case):
    """What is open of one saga, and how the worker that looked wants it handled.

    Attributes:
        state: The saga's state in the ledger.
        epoch: Its present epoch.
        error: Why it failed.
        failed_at: Where.
        total: How many effects need a person.
        steps: The newest of them, newest first.
        channels: The names of the worker's alert channels.
        pace: Its schedule.
    """

    state: SagaState
    epoch: int
    error: str | None = None
    failed_at: str | None = None
    total: int = 0
    steps: list[OpenStep] = []
    channels: list[str] = []
    pace: Pace = Pace()


class Word(BaseModel):
    """What a person says of one effect; the argument of each Update.

    Attributes:
        step: The step's name and number, `create_bucket#1`.
        who: Who says it; taken on trust and kept in the journal.
        note: Why, or what was done; `resolve` and `waive` need one.
        result: With `confirm`: the tool's result, as JSON; by default what the lookup finds.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    step: str = Field(min_length=1, max_length=1000)
    who: Who
    note: Note | None = None
    result: JsonValue = None


class Answer(_Case):
    """What became of an effect by a person's word.

    Attributes:
        step: The step.
        state: Its state now.
        words: The same in words.
        disagreement: What the lookup says against it, which is in the journal, too.
    """

    step: str
    state: RecordState
    words: str
    disagreement: str | None = None


class WordOrder(EffectOrder):
    """Asks the ledger to take a person's word, after the lookup was asked."""

    verb: Verb
    word: Word


class Taken(_Case):
    """The word is on record; `seen` is what the lookup said, if it was asked."""

    state: RecordState
    seen: str | None = None
    disagrees: bool = False


class Progress(BaseModel):
    """What a reconciliation carries on when it continues as new.

    Attributes:
        alerts: Alerts so far since the last new effect.
        all_alerts: Alerts so far.
        next_alert: When the next is due; None before the first look.
        retries: Tries by itself so far since the last new effect.
        next_retry: When the next is due.
        seen: The steps that people were alerted of.
        closed: What became of each step that is closed, in words, by its name.
        told: The channels that have told anybody; they are told of the end, too.
    """

    alerts: int = 0
    all_alerts: int = 0
    next_alert: datetime | None = None
    retries: int = 0
    next_retry: datetime | None = None
    seen: list[str] = []
    closed: dict[str, str] = {}
    told: list[str] = []


class ReconcileOrder(BaseModel):
    """Starts `rescind.Reconcile` for one saga.

    Attributes:
        saga: Workflow id and first run id, joined by '/'.
        task_queue: The queue of the saga's workers, who know its tools; None is this workflow's own.
        reference: What the business calls the case.
        progress: From the run before.
        longest_history: Events after which it continues as new.
    """

    saga: str
    task_queue: str | None = None
    reference: str | None = None
    progress: Progress = Progress()
    longest_history: int = 2_000


class Reconciled(_Case):
    """How a reconciliation ended: what became of each step that it had."""

    saga: str
    closed: dict[str, str]
