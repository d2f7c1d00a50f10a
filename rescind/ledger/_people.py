"""What needs a person, and how a person's word is taken."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from pydantic import JsonValue
from pydantic_core import to_json

from rescind._states import RecordState, SagaState, Verdict
from rescind.ledger._answers import EffectAddress, Refused, Wait, refused
from rescind.ledger._connection import Answer, rows
from rescind.ledger._gates import Gates
from rescind.ledger._json import decode, encode_optional, plain


class HowOpen(StrEnum):
    """How an effect came to need a person.

    `untried` is one whose undo was never tried, since the tool has none or since nobody knows the tool.
    """

    IN_DOUBT = "in_doubt"
    CONFLICT = "conflict"
    FAILED = "failed"
    UNTRIED = "untried"


@dataclass(frozen=True, slots=True)
class OpenEffect:
    """One effect that needs a person; `since` is when it first did."""

    key: str
    seq: tuple[int, ...]
    tool: str
    version: int
    request: JsonValue
    before: JsonValue
    state: RecordState
    how: HowOpen
    since: datetime
    error: str | None
    undo_try: int


@dataclass(frozen=True, slots=True)
class OpenSaga:
    """A saga's effects that need a person, newest first; `total` counts them all, `effects` are the newest.

    `error` and `failed_at` are those of the saga's own report.
    """

    id: str
    state: SagaState
    epoch: int
    owner: str | None
    error: str | None
    failed_at: str | None
    total: int
    effects: tuple[OpenEffect, ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """What the lookup said when a person's word was taken, and whether that disagrees with it."""

    words: str
    disagrees: bool = False


class People(Gates):
    """The part of the ledger that a reconciliation works with."""

    async def open_effects(self, saga: str, limit: int = 100) -> OpenSaga | None:
        """What needs a person in one saga; None if there is no saga of this id."""
        answer = await self._call("select rescind.open_effects(%s, %s::int)", (saga, limit))
        row: Answer | None = answer["saga"]
        return None if row is None else _open_saga(row)

    async def desk(self, prefix: str = "", limit: int = 100) -> list[OpenSaga]:
        """The sagas that need a person and whose id starts with `prefix`, oldest first."""
        answer = await self._call("select rescind.desk(%s, %s::int)", (prefix, limit))
        return [_open_saga(row) for row in rows(answer, "sagas")]

    async def resolve(
        self,
        at: EffectAddress,
        verdict: Verdict,
        *,
        who: str,
        note: str | None = None,
        result: JsonValue = None,
        word: str | None = None,
        seen: Seen | None = None,
    ) -> RecordState | Wait | Refused:
        """Put a person's word on an effect that is stuck or in doubt on record, with who and why.

        Args:
            at: The effect.
            verdict: What is said. A retry of an effect in doubt leaves it in doubt, to be asked again.
            who: Who says it, taken on trust.
            note: Why.
            result: The result that a person confirms.
            word: The word's id; the same word sent again is answered and not taken twice.
            seen: What the lookup said. Where it disagrees with "done", the effect is resolved and not called clean.
        """
        said = None if seen is None else {"words": plain(seen.words), "disagrees": seen.disagrees}
        answer = await self._call(
            "select rescind.resolve(%s, %s, %s, %s, %s, %s, %s::jsonb, %s, %s::jsonb)",
            (
                *(at.saga, at.epoch, at.key, verdict.value, plain(who), plain(note), encode_optional(result)),
                *(word, None if said is None else to_json(said).decode()),
            ),
        )
        match answer["answer"]:
            case "refused":
                return refused(answer)
            case "wait":
                return Wait(answer["wait"])
            case _:
                return RecordState(answer["state"])


def _open_saga(row: Answer) -> OpenSaga:
    return OpenSaga(
        row["id"],
        SagaState(row["state"]),
        row["epoch"],
        row["owner"],
        row["error"],
        row["failed_at"],
        row["total"],
        tuple(_open_effect(effect) for effect in rows(row, "effects")),
    )


def _open_effect(row: Answer) -> OpenEffect:
    return OpenEffect(
        key=row["key"],
        seq=tuple(row["seq"]),
        tool=row["tool"],
        version=row["version"],
        request=decode(row["request"]),
        before=decode(row["before"]),
        state=RecordState(row["state"]),
        how=HowOpen(row["why"]),
        since=datetime.fromisoformat(row["since"]),
        error=row["error"],
        undo_try=row["undo_try"],
    )
