"""What travels between a saga that waits for people and the activities that keep its approvals."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, JsonValue

from rescind._wire import EffectOrder
from rescind.approvals._words import Verdict
from rescind.ledger import GateState

ASK = "rescind.ask_for_approval"
LOOK = "rescind.look_at_approval"
DECIDE = "rescind.take_approval"


class AskOrder(EffectOrder):
    """Asks people whether a step may be begun; `seconds` is how long they may take."""

    request: JsonValue
    people: int
    seconds: float


class DecideOrder(EffectOrder):
    """A person's word; `word` is its id."""

    digest: str
    verdict: Verdict
    who: str
    note: str | None
    word: str


class Standing(BaseModel):
    """How a question stands.

    Attributes:
        state: Its state.
        given: Who has approved so far, in words.
        why: Why it must not be begun.
        left: Seconds until it expires.
        refused: Why a person's word was not taken.
    """

    model_config = ConfigDict(frozen=True)

    state: GateState
    given: list[str] = []
    why: str | None = None
    left: float = 0
    refused: str | None = None
