"""What the sweeper and the undo after the fact do with sagas as a whole: look, promote, claim."""

from collections.abc import Iterable
from datetime import timedelta
from typing import cast

from rescind._states import RecordState, SagaState
from rescind.ledger._answers import (
    Claimed,
    EffectAddress,
    EffectOutline,
    Extent,
    Refused,
    SagaOutline,
    Unfinished,
    refused,
)
from rescind.ledger._connection import Answer, rows
from rescind.ledger._errors import LedgerBehind
from rescind.ledger._json import decode, plain
from rescind.ledger._people import People


class Recovery(People):
    """The part of the ledger that takes sagas over."""

    async def promote(self, saga: str) -> SagaState | None:
        """Commit a sealed saga, once Temporal says COMPLETED; None if there is no such saga."""
        state = (await self._call("select rescind.promote(%s)", (saga,)))["state"]
        return SagaState(state) if state else None

    async def claim(
        self,
        saga: str,
        epoch: int,
        owner: str,
        extent: Extent = Extent.UNFINISHED,
        *,
        why: str | None = None,
        part: Iterable[str] = (),
        agreed: str | None = None,
    ) -> Claimed | Refused:
        """Take a saga over to undo it: everybody in an earlier epoch is locked out.

        It is unwinding from here on; only where a part of a committed saga is undone it stays committed, and the part
        is on record until nothing of it stands. The same claim sent twice is answered twice.

        Args:
            saga: The saga.
            epoch: The epoch in which the caller has seen it.
            owner: Who takes it.
            extent: UNFINISHED takes no committed saga, so that a sweeper that comes late takes none; WHOLE takes
                it too; PART takes no other.
            why: For the journal.
            part: With PART: the keys of its effects.
            agreed: The digest of what people have to have agreed to, by the approval of the undo; it is used up. None
                where nobody has to.
        """
        answer = await self._call(
            "select rescind.claim(%s, %s, %s, %s, %s, %s::text[], %s)",
            (saga, epoch, owner, extent.value, plain(why), list(part), agreed),
        )
        return Claimed(answer["epoch"]) if answer["answer"] == "claimed" else refused(answer)

    async def compare(self, namespace_id: str, remembered: int | None, *, is_look: bool) -> int:
        """Compare the ledger with what Temporal remembers of it, and count on if this is a look of the sweeper.

        Args:
            namespace_id: The namespace.
            remembered: The count that Temporal remembers; None if it remembers none.
            is_look: Whether to count on.

        Returns:
            The count.

        Raises:
            LedgerBehind: The ledger is older; from here on it lets nobody act, until `bring_in_step`.
        """
        answer = await self._call(
            "select rescind.compare_watermark(%s, %s::bigint, %s)", (namespace_id, remembered, is_look)
        )
        if answer["behind"] is not None:
            raise LedgerBehind(
                f"This ledger has counted {answer['n']} looks of the sweeper, and Temporal remembers {answer['behind']}"
            )
        return int(answer["n"])

    async def mistrust(self, at: EffectAddress, *, late: float, why: str) -> RecordState | None:
        """Say of an effect that a workflow has called for that a restored ledger may have lost an attempt of it.

        What is on record of its end stays. Otherwise it is `in_doubt`, or, where what was there before is on record,
        `intended` with one more attempt that has not reported. None where nothing was changed.

        Args:
            at: The effect; its epoch is not looked at.
            late: Seconds in which the lost attempt may still act.
            why: For people.
        """
        answer = await self._call(
            "select rescind.mistrust(%s, %s, %s::int[], %s::float8, %s)",
            (at.saga, at.key, list(at.seq), late, plain(why)),
        )
        return RecordState(answer["state"]) if answer["state"] else None

    async def bring_in_step(self, namespace_id: str, who: str) -> bool:
        """Let effects start again in a ledger that was behind; False if it was not."""
        answer = await self._call("select rescind.bring_in_step(%s, %s)", (namespace_id, who))
        return answer["n"] is not None

    async def unattended(self, namespace_id: str, within: timedelta) -> list[str]:
        """The ids of other namespaces that have unfinished sagas, and whose sweeper has not looked within a time.

        Args:
            namespace_id: The namespace that asks, which is not among them.
            within: The time, by the database's clock.
        """
        answer = await self._call(
            "select rescind.unattended(%s, %s::float8)", (namespace_id, within.total_seconds())
        )
        return list(answer["spaces"])

    async def outline(self, saga: str) -> SagaOutline | None:
        """A saga with what each of its effects did, in order; None if there is none of this id."""
        answer = cast("Answer | None", await self._call("select rescind.outline(%s)", (saga,)))
        if answer is None:
            return None
        return SagaOutline(
            SagaState(answer["state"]),
            answer["epoch"],
            answer["owner"],
            tuple(answer["part"]),
            answer["since_seal"],
            tuple(_effect(row) for row in rows(answer, "effects")),
        )

    async def sweep(self, namespace_id: str, limit: int = 1000, *, after: str = "") -> list[Unfinished]:
        """Unfinished sagas of one namespace by their ids; whether the owner is gone is Temporal's to say.

        Args:
            namespace_id: The namespace.
            limit: So many at most.
            after: The id of the saga that was looked at last.
        """
        answer = await self._call("select rescind.sweep(%s, %s, %s::int)", (namespace_id, after, limit))
        return [_saga(row) for row in rows(answer, "sagas")]

    async def look_again(self, sagas: Iterable[str]) -> list[Unfinished]:
        """The same of these sagas as they are now, whatever has become of them since."""
        answer = await self._call("select rescind.looked_at(%s::text[])", (list(sagas),))
        return [_saga(row) for row in rows(answer, "sagas")]


def _saga(row: Answer) -> Unfinished:
    return Unfinished(
        row["saga"],
        SagaState(row["state"]),
        row["epoch"],
        row["owner"],
        row["quiet"],
        row["standing"],
        row["undoable"],
        row["needs_person"],
        tuple(row["part"]),
    )


def _effect(row: Answer) -> EffectOutline:
    return EffectOutline(
        key=row["key"],
        seq=tuple(row["seq"]),
        tool=row["tool"],
        version=row["version"],
        state=RecordState(row["state"]),
        changed=row["changed"],
        no_op=row["no_op"],
        request=decode(row["request"]),
        before=decode(row["before"]),
        result=decode(row["result"]),
        restoration=decode(row["restoration"]),
        error=row["error"],
    )
