"""Approvals of points of no return, as the ledger keeps them."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from pydantic import JsonValue

from rescind.ledger._answers import EffectAddress, Refused, refused
from rescind.ledger._connection import Answer, LedgerConnection, rows
from rescind.ledger._json import decode, encode, plain


class GateState(StrEnum):
    """What became of a question; `used` is an approval with which a step was begun."""

    WAITING = "waiting"
    GRANTED = "granted"
    USED = "used"
    REJECTED = "rejected"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class Said:
    """A person's word; `who` is taken on trust."""

    who: str
    note: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class GateAnswer:
    """How a question stands.

    Attributes:
        state: Its state.
        people: How many different people it takes.
        given: The approvals so far.
        refused: The rejection.
        left: Seconds until it expires.
    """

    state: GateState
    people: int
    given: tuple[Said, ...]
    refused: Said | None
    left: float


@dataclass(frozen=True, slots=True)
class OpenGate:
    """A question that waits for people; `shown` has the step, the workflow that waits, the tool and the request."""

    saga: str
    key: str
    digest: str
    shown: JsonValue
    people: int
    asked: datetime
    until: datetime
    given: tuple[Said, ...]


class Gates(LedgerConnection):
    """The part of the ledger that keeps approvals."""

    async def ask(
        self, at: EffectAddress, *, run: str, digest: str, people: int, seconds: float, shown: JsonValue
    ) -> GateAnswer | Refused:
        """Put the question on record whether a step may be begun; the same question is asked once.

        Args:
            at: The effect.
            run: The Temporal run that asks.
            digest: Of tool, request and key.
            people: How many different people have to approve.
            seconds: How long they may take, and then how long the approval may wait until it is used.
            shown: What people are to see.
        """
        answer = await self._call(
            "select rescind.ask(%s, %s, %s, %s, %s, %s::int, %s::float8, %s::jsonb)",
            (at.saga, at.epoch, at.key, run, digest, people, seconds, encode(shown)),
        )
        return _gate_answer(answer)

    async def look_at_gate(self, at: EffectAddress) -> GateAnswer | Refused:
        """How a question stands; it has expired by this when its time is over."""
        answer = await self._call("select rescind.look_at_gate(%s, %s, %s)", (at.saga, at.epoch, at.key))
        return _gate_answer(answer)

    async def decide(
        self, at: EffectAddress, *, digest: str, verdict: str, who: str, note: str | None, word: str
    ) -> GateAnswer | Refused:
        """Take a person's word on a question.

        Args:
            at: The effect.
            digest: Of what the person has seen.
            verdict: `approve` or `reject`.
            who: Who says it, taken on trust.
            note: Why.
            word: The word's id; the same word sent again is answered and not taken twice.
        """
        answer = await self._call(
            "select rescind.decide(%s, %s, %s, %s, %s, %s, %s, %s)",
            (at.saga, at.epoch, at.key, digest, verdict, plain(who), plain(note), word),
        )
        return _gate_answer(answer)

    async def gates(self, prefix: str = "", limit: int = 100) -> list[OpenGate]:
        """The questions that wait for people, of sagas whose id starts with `prefix`, oldest first."""
        answer = await self._call("select rescind.gates(%s, %s::int)", (prefix, limit))
        return [_open_gate(row) for row in rows(answer, "gates")]


def _gate_answer(answer: Answer) -> GateAnswer | Refused:
    if answer["answer"] == "refused":
        return refused(answer)
    return GateAnswer(
        GateState(answer["state"]),
        answer["people"],
        tuple(_said(row) for row in rows(answer, "given")),
        _said(answer["refused"]) if answer["refused"] else None,
        answer["left"],
    )


def _open_gate(row: Answer) -> OpenGate:
    return OpenGate(
        saga=row["saga"],
        key=row["key"],
        digest=row["digest"],
        shown=decode(row["shown"]),
        people=row["people"],
        asked=datetime.fromisoformat(row["asked"]),
        until=datetime.fromisoformat(row["until"]),
        given=tuple(_said(each) for each in rows(row, "given")),
    )


def _said(row: Answer) -> Said:
    return Said(row["who"], row.get("note"), datetime.fromisoformat(row["at"]))
