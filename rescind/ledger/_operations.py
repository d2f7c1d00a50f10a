"""What people and programs read in the ledger."""

from datetime import datetime

from rescind._states import RecordState, Repeat, SagaState
from rescind.ledger._answers import (
    EffectView,
    JournalLine,
    OpenTool,
    SagaSummary,
    SagaView,
)
from rescind.ledger._connection import Answer, rows
from rescind.ledger._json import decode
from rescind.ledger._rebuild import Line, OnRecord, Verified
from rescind.ledger._recovery import Recovery


class Operations(Recovery):
    """The part of the ledger that is only read."""

    async def show(self, saga: str) -> SagaView | None:
        """A saga with its effects in order and its journal; None if there is none of this name."""
        answer = await self._call("select rescind.show(%s)", (saga,))
        row: Answer | None = answer["saga"]
        if row is None:
            return None
        return SagaView(
            row["id"],
            SagaState(row["state"]),
            row["epoch"],
            row["owner"],
            tuple(row["part"]),
            decode(row["report"]),
            datetime.fromisoformat(row["started"]),
            tuple(_effect(effect) for effect in rows(answer, "effects")),
            tuple(_line(line) for line in rows(answer, "journal")),
        )

    async def sagas(self, prefix: str = "", limit: int = 100) -> list[SagaSummary]:
        """The newest sagas whose id (namespace id/workflow id/first run id) starts with `prefix`."""
        answer = await self._call("select rescind.list_sagas(%s, %s::int)", (prefix, limit))
        return [
            SagaSummary(
                row["id"],
                SagaState(row["state"]),
                row["epoch"],
                row["owner"],
                row["effects"],
                row["standing"],
                datetime.fromisoformat(row["started"]),
                row["left_standing"],
            )
            for row in rows(answer, "sagas")
        ]

    async def open_tools(self, namespace_id: str) -> list[OpenTool]:
        """Tools, with their versions, that effects which stand in one namespace still need."""
        answer = await self._call("select rescind.open_tools(%s)", (namespace_id,))
        return [OpenTool(row["tool"], row["version"]) for row in rows(answer, "tools")]

    async def verify(self, prefix: str = "", *, page: int = 200) -> Verified:
        """Compare the sagas whose id starts with `prefix` with what their journals say, page by page.

        Each page is one statement, so that workers may go on meanwhile.
        """
        verified, after = Verified(), ""
        while True:
            answer = await self._call("select rescind.on_record(%s, %s, %s::int)", (prefix, after, page))
            found = rows(answer, "sagas")
            for row in found:
                verified.add(OnRecord(row["id"], row["saga"], row["effects"], _chain(row)))
            if len(found) < page:
                return verified
            after = found[-1]["id"]


def _effect(row: Answer) -> EffectView:
    return EffectView(
        key=row["key"],
        seq=tuple(row["seq"]),
        tool=row["tool"],
        version=row["version"],
        repeat=Repeat(row["repeat"]) if row["repeat"] else None,
        digest=row["digest"],
        request=decode(row["request"]),
        state=RecordState(row["state"]),
        fenced=row["fenced"],
        attempt=row["attempt"],
        unproven=tuple(row["unproven"]),
        before=decode(row["before"]),
        result=decode(row["result"]),
        changed=row["changed"],
        found=row["found"],
        undo_try=row["undo_try"],
        dirty=row["dirty"],
        restoration=decode(row["restoration"]),
        error=row["error"],
    )


def _line(row: Answer) -> JournalLine:
    return JournalLine(row["n"], datetime.fromisoformat(row["at"]), row["event"], row["body"])


def _chain(row: Answer) -> list[Line]:
    return [Line(**line) for line in rows(row, "lines")]
