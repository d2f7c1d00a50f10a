"""The plans of faults and the log of calls, kept beside what the calls do, so that every stand-in shares them."""

import random
from typing import LiteralString

from psycopg.types.json import Jsonb

from embedded.sandbox.faults import Fault, KeptPlan, Meeting, Plan, Row, Seen
from embedded.sandbox.storage import Storage

# The log need not be on the disk before a call goes on, so its commits are not waited for; what a call does is.
_ARRIVED: LiteralString = """
    insert into call (operation, key, call, fault) select %s, %s, %s, %s
    from (select set_config('synchronous_commit', 'off', true)) as quick
    returning number, exists (select from fault where not spent) as planned"""
_LEFT: LiteralString = """
    update call set status = %s, acted = %s, under_way = false
    from (select set_config('synchronous_commit', 'off', true)) as quick where number = %s"""
_CALLS: LiteralString = """
    select number, operation, key, call, fault, status, acted, under_way, extract(epoch from at)::float as at
    from call where (%s::text is null or operation = %s or operation like %s) and (%s::text is null or key = %s)
    order by number"""


class Plans:
    """What is to go wrong, and what came; safe to be used by several processes at once."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def add(self, plan: Plan) -> KeptPlan:
        """Holds for every call that arrives after this has returned."""
        (row,) = await self._storage.rows(
            "insert into fault (plan) values (%s) returning *", Jsonb(plan.model_dump(mode="json"))
        )
        return _kept(row)

    async def all(self) -> list[KeptPlan]:
        """Every plan, spent ones too, oldest first."""
        return [_kept(row) for row in await self._storage.rows("select * from fault order by number")]

    async def remove(self, number: int | None = None) -> None:
        """Forgets one plan, or all of them; calls that have met one already are not changed."""
        if number is None:
            await self._storage.rows("delete from fault")
        else:
            await self._storage.rows("delete from fault where number = %s", number)

    async def arrive(
        self, operation: str, key: str | None, call: str, body: bytes, told: Meeting | None = None
    ) -> tuple[int, Meeting | None]:
        """A call is logged and meets its fault, `told` before any plan; `leave` must follow with its number."""
        fault = told.fault if told else None
        (row,) = await self._storage.rows(_ARRIVED, operation, key, call, fault)
        if told or not row["planned"]:
            return row["number"], told
        met = await self._take(operation, key, call.encode() + b"\n" + body)
        if met:
            await self._storage.rows("update call set fault = %s where number = %s", met.fault, row["number"])
        return row["number"], met

    async def leave(self, number: int, status: int | None, *, acted: bool) -> None:
        """A call that arrived can change nothing any more."""
        await self._storage.rows(_LEFT, status, acted, number)

    async def calls(self, operation: str | None = None, key: str | None = None) -> list[Seen]:
        """The calls since the last `forget`, in order of arrival."""
        rows = await self._storage.rows(_CALLS, operation, operation, f"{operation}.%", key, key)
        return [Seen.model_validate(row) for row in rows]

    async def forget(self) -> None:
        """Empties the log."""
        await self._storage.rows("delete from call where not under_way")

    async def _take(self, operation: str, key: str | None, text: bytes) -> Meeting | None:
        """The oldest matching plan's fault; a plan gives out no more faults than it has."""
        async with self._storage.transaction() as connection:
            await connection.execute("select pg_advisory_xact_lock(7264311)")
            cursor = await connection.execute("select * from fault where not spent order by number")
            for row in await cursor.fetchall():
                plan = Plan.model_validate(row["plan"])
                if not matches(plan, operation, key, text):
                    continue
                hit = _hits(plan, row["matched"])
                used = row["used"] + hit
                await connection.execute(
                    "update fault set matched = matched + 1, used = %s, spent = %s where number = %s",
                    (used, used == plan.calls, row["number"]),
                )
                if hit:
                    return Meeting(fault=_fault(plan, row["matched"]), seconds=plan.seconds)
        return None


def matches(plan: Plan, operation: str, key: str | None, text: bytes) -> bool:
    """Whether this plan is for such a call; the text is its first line and its body."""
    named = plan.operation in ("*", operation, operation.partition(".")[0])
    keyed = plan.key is None or plan.key == key
    return named and keyed and (plan.contains is None or plan.contains.encode() in text)


def _hits(plan: Plan, matched: int) -> bool:
    drawn = random.Random(f"{plan.seed} {plan.operation} {matched}").random()  # noqa: S311 - repeatable by intent
    return matched >= plan.skip and drawn < plan.chance


def _fault(plan: Plan, matched: int) -> Fault:
    if not plan.among:
        return plan.fault
    drawn = random.Random(f"{plan.seed} {plan.operation} {matched} fault")  # noqa: S311 - as above
    return drawn.choice(plan.among)


def _kept(row: Row) -> KeptPlan:
    return KeptPlan(**row["plan"], number=row["number"], matched=row["matched"], used=row["used"])
