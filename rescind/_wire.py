"""What travels between a workflow and the activities around its tools; every one of these always decodes."""

from pydantic import BaseModel, ConfigDict, JsonValue

from rescind._calls import Restoration
from rescind._states import RecordState

PAYLOAD_LIMIT = 1_500_000
"""Bytes of JSON that a request or a result may have: Temporal refuses 2 MiB, and a codec adds to it."""


def says_changed(result: JsonValue) -> bool:
    """Whether a result as JSON says that the step changed anything; one that does not say, did."""
    return not (isinstance(result, dict) and result.get("changed") is False)


class _Wire(BaseModel):
    model_config = ConfigDict(frozen=True)


class SagaOrder(_Wire):
    """Addresses a saga: workflow id and first execution run id joined by '/', and the epoch of the caller."""

    saga: str
    epoch: int


class EffectOrder(SagaOrder):
    """Addresses one effect of a saga, and names its tool.

    Attributes:
        step: The step's name and number, `create_bucket#1`.
        seq: Its place in the order of the saga.
        tool: The tool's name.
    """

    step: str
    seq: tuple[int, ...]
    tool: str

    @property
    def key(self) -> str:
        """The effect's key."""
        return f"{self.saga}/{self.step}"


class ForwardOrder(EffectOrder):
    """Asks for a step.

    Attributes:
        request: What the tool is asked to do.
        approval: Who allowed a point of no return beforehand, in words.
        asked: Whether people were asked; the ledger has their approval, and uses it up.
    """

    request: JsonValue
    approval: str | None = None
    asked: bool = False


class UndoOrder(EffectOrder):
    """Asks for a step to be undone.

    Attributes:
        whole: False when only a part of the saga is rolled back.
        last_try: The number of the last try that may be begun; None leaves it to the tool.
        look_first: Ask the lookup first; an effect that it does not find any more is not undone again. An attempt
            may take twice as long then.
    """

    whole: bool = True
    last_try: int | None = None
    look_first: bool = False


class PartOrder(SagaOrder):
    """Asks what stands of a part of a saga: of the steps below `place` in its order."""

    place: tuple[int, ...]


class StepAnswer(_Wire):
    """What became of a step.

    Attributes:
        state: The state of its record.
        result: The result as JSON; None where there is none or it is too large to travel.
        changed: False for a no-op.
        recovered: True when the result comes from the lookup and not from the call.
        why: What is known where the step did not succeed.
    """

    state: RecordState
    result: JsonValue = None
    changed: bool = True
    recovered: bool = False
    why: str | None = None


class FailedAttempt(_Wire):
    """The detail of a failed activity: the state in which it left the record."""

    state: RecordState | None
    restoration: Restoration | None = None


class Reversal(_Wire):
    """How a step is settled and undone, as data, so that a stack can be carried on and rebuilt.

    Attributes:
        compensate: The compensation's activity name; None for a point of no return.
        settle: The activity that settles it.
        start_to_close: Seconds for one attempt of either.
        first_wait: Seconds before the second attempt.
        longest_wait: Seconds between two attempts at most.
    """

    compensate: str | None
    settle: str
    start_to_close: float
    first_wait: float
    longest_wait: float


class Orphan(_Wire):
    """An effect that the ledger knows of; `reversal` is None when no tool of this worker can undo it."""

    step: str
    seq: tuple[int, ...]
    tool: str
    state: RecordState
    changed: bool
    reversal: Reversal | None


class Survey(_Wire):
    """What stands of a saga when its unwinding begins, in any order.

    Attributes:
        standing: The effects that stand or may stand.
        lost: Steps that the workflow knows to stand, and of which the ledger knows nothing.
        more: Whether there are older ones, too many to be undone by one run.
    """

    standing: list[Orphan]
    lost: list[str] = []
    more: bool = False


class SealOrder(SagaOrder):
    """Asks for the seal: `digest` is over the keys of the effects that stand.

    `table` comes back as the answer, so that the history shows the final steps when no worker lives.
    """

    digest: str
    table: list[str]


class ReportOrder(SagaOrder):
    """Hands the saga's report to the ledger; `table` comes back as the seal's does."""

    report: JsonValue
    table: list[str]
