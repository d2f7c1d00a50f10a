"""The ledger as the workers use it: every method is one statement, one round trip and one transaction."""

from collections.abc import Iterable

from pydantic import JsonValue

from rescind._states import Outcome, RecordState, Repeat, SagaState, UndoOutcome
from rescind.ledger._answers import (
    Busy,
    EffectAddress,
    Fenced,
    Finished,
    Go,
    Refused,
    Replay,
    Sealed,
    Standing,
    UndoDone,
    UndoGo,
    Wait,
    refused,
)
from rescind.ledger._connection import Answer, rows
from rescind.ledger._json import decode, encode, encode_optional, plain
from rescind.ledger._operations import Operations

_BEGIN = (
    "select rescind.begin(%s, %s, %s, %s::int[], %s, %s::int, %s, %s, %s::jsonb, %s::float8, %s, %s::jsonb)"
)


class Ledger(Operations):
    """The effect ledger of one database, as an asynchronous context manager.

    Every method raises `LedgerUnavailable` when the database does not answer, and those that are given an
    epoch raise `TakenOver` when somebody else has claimed the saga; the second leaves the record as it was.
    Durations are seconds; only the database's clock decides, so the clocks of the workers need not agree.
    """

    async def begin(
        self,
        at: EffectAddress,
        *,
        tool: str,
        version: int,
        repeat: Repeat,
        digest: str,
        request: JsonValue,
        ttl: float,
        owner: str,
        approval: JsonValue = None,
    ) -> Go | Replay | Busy | Refused:
        """Put an attempt on record before it acts; only after `Go` may it act, and only within `ttl` seconds.

        Args:
            at: The effect that the attempt is for.
            tool: The tool's name.
            version: The tool's schema version.
            repeat: When the call may be sent again although an earlier attempt has not reported.
            digest: What the request must be equal in, for one key: a digest of tool and request.
            request: The request as it is needed to undo the effect.
            ttl: The time in which the attempt may act and its effect can land, in seconds from now.
            owner: The Temporal run that works on the saga.
            approval: Who has approved the call beforehand, in words, for the journal; or, where people were asked,
                `{"digest": ...}` of what they were: their approval is used up by this, else the attempt is refused.
        """
        answer = await self._call(
            _BEGIN,
            (
                *(at.saga, at.epoch, at.key, list(at.seq)),
                *(
                    tool,
                    version,
                    repeat.value,
                    digest,
                    encode(request),
                    ttl,
                    owner,
                    encode_optional(approval),
                ),
            ),
        )
        match answer["answer"]:
            case "go":
                return Go(answer["attempt"], answer["ask"], answer["proven"], decode(answer["before"]))
            case "replay":
                return Replay(decode(answer["result"]))
            case "busy":
                return Busy(answer["wait"])
            case _:
                return refused(answer)

    async def remember(self, at: EffectAddress, attempt: int, before: JsonValue) -> JsonValue:
        """Store what the attempt is going to overwrite, and return what is on record.

        What an earlier attempt stored stays while that attempt may have acted. Raises `EffectFenced` when the
        attempt must not act any more.
        """
        answer = await self._call(
            "select rescind.remember(%s, %s, %s, %s::int, %s::jsonb)",
            (at.saga, at.epoch, at.key, attempt, encode(before)),
        )
        return decode(answer["before"])

    async def finish(
        self,
        at: EffectAddress,
        attempt: int,
        outcome: Outcome,
        *,
        result: JsonValue = None,
        changed: bool = True,
        found: bool = False,
        late: float = 0,
        error: str | None = None,
    ) -> Finished:
        """Report what an attempt came to; a report is taken at any time, from anyone, and can be sent again.

        Args:
            at: The effect; its epoch is not looked at.
            attempt: The attempt's number, from `Go`.
            outcome: What the attempt proves about itself.
            result: The result, where the effect stands.
            changed: False if the world was already as wanted.
            found: True if the lookup found the effect, and this attempt did not send its call.
            late: How long the provider may still act, in seconds, where the outcome is unknown.
            error: What went wrong, for people.
        """
        answer = await self._call(
            "select rescind.finish(%s, %s, %s::int[], %s::int, %s, %s::jsonb, %s, %s, %s::float8, %s)",
            (
                *(at.saga, at.key, list(at.seq), attempt, outcome.value),
                *(encode_optional(result), changed, found, late, plain(error)),
            ),
        )
        return Finished(RecordState(answer["state"]), tuple(answer["unproven"]))

    async def fence(self, at: EffectAddress) -> Fenced:
        """Let no new attempt of this effect through, and say when the last one in flight has landed."""
        answer = await self._call(
            "select rescind.fence(%s, %s, %s, %s::int[])", (at.saga, at.epoch, at.key, list(at.seq))
        )
        return Fenced(
            RecordState(answer["state"]),
            decode(answer["result"]),
            decode(answer["request"]),
            decode(answer["before"]),
            answer["wait"],
        )

    async def settle(
        self, at: EffectAddress, verdict: RecordState, result: JsonValue = None, note: str | None = None
    ) -> RecordState | Wait:
        """Record what the lookup says of a fenced effect; a report that came first wins, and is returned.

        The verdict is `APPLIED`, `ABSENT` or `IN_DOUBT`. `ABSENT` is answered with `Wait` while an attempt
        may still land. Raises `IllegalTransition` when the effect is not fenced.
        """
        answer = await self._call(
            "select rescind.settle(%s, %s, %s, %s, %s::jsonb, %s)",
            (at.saga, at.epoch, at.key, verdict.value, encode_optional(result), plain(note)),
        )
        return Wait(answer["wait"]) if answer["answer"] == "wait" else RecordState(answer["state"])

    async def undo_begin(
        self, at: EffectAddress, *, ttl: float, whole: bool
    ) -> UndoGo | UndoDone | Busy | Refused:
        """Put a try to undo an effect on record before it acts; only after `UndoGo` may it act.

        With `whole` the saga is unwinding from here on; a rollback to a savepoint passes False.
        """
        answer = await self._call(
            "select rescind.undo_begin(%s, %s, %s, %s::int[], %s::float8, %s)",
            (at.saga, at.epoch, at.key, list(at.seq), ttl, whole),
        )
        match answer["answer"]:
            case "go":
                return _undo_go(answer)
            case "done":
                return UndoDone(decode(answer["restoration"]))
            case "busy":
                return Busy(answer["wait"])
            case _:
                return refused(answer)

    async def undo_finish(
        self,
        at: EffectAddress,
        attempt: int,
        outcome: UndoOutcome,
        restoration: JsonValue = None,
        error: str | None = None,
    ) -> RecordState:
        """Report what a try to undo came to; the saga is closed when nothing of it stands any more.

        `APPLIED` as the answer means that the effect had happened twice, and has to be undone once more.
        """
        answer = await self._call(
            "select rescind.undo_finish(%s, %s, %s::int, %s, %s::jsonb, %s)",
            (at.saga, at.key, attempt, outcome.value, encode_optional(restoration), plain(error)),
        )
        return RecordState(answer["state"])

    async def give_up(self, at: EffectAddress, why: str) -> RecordState:
        """Hand an effect that cannot be undone, or whose tries are used up, to a person: it is stuck."""
        answer = await self._call(
            "select rescind.give_up(%s, %s, %s, %s)", (at.saga, at.epoch, at.key, plain(why))
        )
        return RecordState(answer["state"])

    async def unwind(self, saga: str, epoch: int, *, limit: int | None = None) -> list[Standing]:
        """Start to unwind the whole saga, and list what stands, newest first; no-ops are undone with this.

        Nothing is fenced. Raises `IllegalTransition` when the saga is committed: it has to be claimed first.
        With a `limit` only so many of the newest are listed.
        """
        answer = await self._call("select rescind.unwind(%s, %s, %s::int)", (saga, epoch, limit))
        return [_standing(row) for row in rows(answer, "standing")]

    async def part(self, saga: str, epoch: int, place: tuple[int, ...]) -> list[Standing]:
        """What stands of the effects below one place of an open saga, newest first; no-ops are undone with this."""
        answer = await self._call("select rescind.part(%s, %s, %s::int[])", (saga, epoch, list(place)))
        return [_standing(row) for row in rows(answer, "standing")]

    async def missing(self, keys: Iterable[str]) -> list[str]:
        """Of these effects, those that are not on record; some may have been lost with an older copy of the ledger."""
        answer = await self._call("select rescind.missing(%s::text[])", (list(keys),))
        return [str(key) for key in answer["missing"]]

    async def seal(self, saga: str, epoch: int, digest: str) -> Sealed | Refused:
        """Seal the saga if exactly the effects stand whose keys make `digest`, and none is unsettled."""
        answer = await self._call("select rescind.seal(%s, %s, %s)", (saga, epoch, digest))
        return Sealed() if answer["answer"] == "sealed" else refused(answer)

    async def report(self, saga: str, epoch: int, body: JsonValue) -> SagaState:
        """Store the saga's report; an open saga is unwinding by this, and closed where nothing stands."""
        answer = await self._call("select rescind.report(%s, %s, %s::jsonb)", (saga, epoch, encode(body)))
        return SagaState(answer["state"])


def _undo_go(answer: Answer) -> UndoGo:
    return UndoGo(
        answer["attempt"],
        decode(answer["request"]),
        decode(answer["before"]),
        decode(answer["result"]),
        tuple(answer["unproven"]),
        answer["tool"],
        answer["version"],
    )


def _standing(row: Answer) -> Standing:
    return Standing(
        row["key"],
        tuple(row["seq"]),
        row["tool"],
        row["version"],
        RecordState(row["state"]),
        row["changed"],
    )
