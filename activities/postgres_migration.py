"""A tool that runs a migration of a PostgreSQL database, with the SQL that takes it back given beforehand."""

from datetime import timedelta
from typing import Any, Literal

from psycopg import sql
from pydantic import BaseModel, ConfigDict, Field
from temporalio import activity

from activities._postgres import Cursor, found, once, one, undone
from activities._postgres_catalogue import Definition, definitions, locked_for_change
from activities._sql import outside_transactions
from rescind import Absent, Applied, Call, Receipt, Request, Restoration, Result, Risk, Tool, Unknown
from rescind.evidence import Conflict, Refused
from rescind.evidence.postgres import proves


class Migrate(Request):
    """Run SQL against a database that the worker knows by this alias.

    Attributes:
        database: The alias.
        name: What people call the migration; it is not what tells whether it ran.
        up: The statements of the change, all run in one transaction.
        down: The statements that take it back.
        restores: How well `down` restores: `exact`, `equivalent`, or `residue`.
        difference: What differs or is left after `down`, unless it is exact.
    """

    database: str
    name: str = Field(min_length=1)
    up: str = Field(min_length=1)
    down: str = Field(min_length=1)
    restores: Literal["exact", "equivalent", "residue"] = "equivalent"
    difference: str = "what the migration's own down leaves different"


class Touched(BaseModel):
    """A table or view that the migration made or changed, as it left it.

    Attributes:
        made: Whether the migration made it. Only then its rows are compared before they are dropped.
        definition: Its name and a hash of its columns, constraints, indexes and triggers.
        rows: Their number and a hash of them.
    """

    model_config = ConfigDict(frozen=True)

    made: bool
    definition: Definition
    rows: str | None = None


class Migration(Result):
    """A migration that ran, by what its undo compares before it runs `down`."""

    name: str
    touched: dict[int, Touched]


@activity.defn
async def migrate(call: Call[Migrate]) -> Migration:
    """Run `up`, all or nothing; what can't be part of a transaction is refused before anything is sent."""
    asked = call.request
    for direction, text in (("up", asked.up), ("down", asked.down)):
        if outside := outside_transactions(text):
            raise Refused(
                f"{direction} of the migration {asked.name!r} holds what can't be part of a transaction, or would "
                f"end it: {'; '.join(outside)}. Nothing was sent to {asked.database!r}; leave it out, or run it by hand"
            )

    async def change(cursor: Cursor) -> Migration:
        before = await definitions(cursor)
        await _run(cursor, asked.up)
        ours = await locked_for_change(cursor)  # others make and change tables meanwhile, too
        touched = {
            oid: Touched(
                made=oid not in before, definition=now, rows=await _rows(cursor, now, made=oid not in before)
            )
            for oid, now in (await definitions(cursor)).items()
            if oid in ours and before.get(oid) != now
        }
        return Migration(name=asked.name, touched=touched)

    return await once(asked.database, call.key, "postgres.migrate", Migration, change)


@activity.defn
async def migrate_back(receipt: Receipt[Migrate, Migration]) -> Restoration:
    """Run `down`, if every table that `up` touched is as it left it, and those it made hold the same rows.

    Rows of tables that were there before `up` are not compared: they are the application's, and change.
    """
    asked = receipt.call.request

    async def undo(cursor: Cursor, made: Migration) -> Restoration:
        for oid, then in made.touched.items():
            await _refuse_if_changed(cursor, oid, then, asked)
        await _run(cursor, asked.down)
        return _declared(asked)

    return await undone(asked.database, receipt.call.key, Migration, undo)


@activity.defn
async def find_migration(call: Call[Migrate]) -> Applied[Migration] | Absent | Unknown:
    """Tell by the mark, which is of the same transaction as the migration."""
    return await found(call.request.database, call.key, Migration)


MIGRATE = Tool(
    name="postgres.migrate",
    description=(
        "Run the SQL `up` in one transaction; the undo runs `down`, unless what `up` made or changed is not as it "
        "left it."
    ),
    forward=migrate,
    compensate=migrate_back,
    lookup=find_migration,
    is_reversible=True,
    acts_on=("postgres/{database}",),
    risk=Risk.MEDIUM,
    timeout=timedelta(seconds=10),
    undo_timeout=timedelta(seconds=10),
    proves=proves,
)


async def _refuse_if_changed(cursor: Cursor, oid: int, then: Touched, asked: Migrate) -> None:
    now = (await definitions(cursor, oid)).get(oid)
    about = f"{then.definition.name} in {asked.database!r}, which the migration {asked.name!r} "
    about += "made" if then.made else "changed"
    if now is not None and then.rows is not None:
        await cursor.execute(_named("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE", now))
        now = (await definitions(cursor, oid)).get(oid)
    if now is None:
        raise Conflict(f"{about}, is gone; `down` was not run")
    if now != then.definition:
        raise Conflict(f"{about}, is not as it was left; `down` was not run")
    if await _rows(cursor, now, made=then.rows is not None) != then.rows:
        raise Conflict(f"{about}, has other rows in it since; they were kept and `down` was not run")


async def _rows(cursor: Cursor, table: Definition, *, made: bool) -> str | None:
    """The number of rows and a hash of them, whatever their order; None for what the migration did not make."""
    if not made or table.is_view:
        return None
    await cursor.execute("SELECT set_config('row_security', 'off', true)")
    query = "SELECT concat_ws(' ', count(*), sum(hashtextextended(t::text, 0))) FROM {} AS t"
    counted: Any = (await one(cursor, _named(query, table)))[0]
    return str(counted)


def _named(words: Any, table: Definition) -> sql.Composed:
    return sql.SQL(words).format(sql.Identifier(table.schema_name, table.table))


async def _run(cursor: Cursor, text: str) -> None:
    """Run all statements of a text as they are: as bytes, in which psycopg looks for no placeholders."""
    await cursor.execute(text.encode())


def _declared(asked: Migrate) -> Restoration:
    if asked.restores == "exact":
        return Restoration.exact()
    grade = Restoration.equivalent if asked.restores == "equivalent" else Restoration.residue
    return grade(asked.difference)
