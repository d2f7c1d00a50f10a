"""Tools that change the schema of a PostgreSQL database, each in one transaction with the mark that proves it."""

from datetime import timedelta
from typing import Annotated

from psycopg import sql
from pydantic import AfterValidator, Field
from temporalio import activity

from activities._postgres import Cursor, found, once, one, undone
from activities._postgres_catalogue import column, definitions, is_type, kind_and_oid, table_oid
from rescind import Absent, Applied, Call, Receipt, Request, Restoration, Result, Risk, Tool, Unknown
from rescind.evidence import Conflict, Refused
from rescind.evidence.postgres import proves


def _fits(name: str) -> str:
    if "\0" in name or not 0 < len(name.encode()) <= 63:
        raise ValueError("an identifier of PostgreSQL has 1 to 63 bytes, none of them zero")
    return name


Name = Annotated[str, AfterValidator(_fits)]
"""An identifier, taken exactly as it is."""

TYPE = r"^[A-Za-z_][A-Za-z0-9_ .]*(\( ?[0-9]+( ?, ?[0-9]+)? ?\)[a-z ]*)?(\[\])*$"
"""The form of a type's name; that it is one, the server says."""


class RenameTable(Request):
    """Rename a table of a database that the worker knows by this alias."""

    database: str
    table: Name
    to: Name
    schema_name: Name = "public"


class RenamedTable(Result):
    """A renamed table, by what the undo compares before it renames it back."""

    oid: int
    definition: str


@activity.defn
async def rename_table(call: Call[RenameTable]) -> RenamedTable:
    """Rename the table; refused when it is not there, is not a table, or the new name is taken."""
    asked = call.request

    async def change(cursor: Cursor) -> RenamedTable:
        oid = await _locked_table(cursor, asked.schema_name, asked.table)
        if oid is None:
            raise Refused(f"there is no table {asked.schema_name}.{asked.table} in {asked.database!r}")
        if asked.table != asked.to:
            await _rename(cursor, asked.schema_name, asked.table, asked.to)
        now = (await definitions(cursor, oid))[oid]
        return RenamedTable(oid=oid, definition=now.digest, changed=asked.table != asked.to)

    return await once(asked.database, call.key, "postgres.rename_table", RenamedTable, change)


@activity.defn
async def rename_table_back(receipt: Receipt[RenameTable, RenamedTable]) -> Restoration:
    """Give the table its old name, if it is the same table, of the same definition, and the name is free."""
    asked = receipt.call.request
    shown = f"the table {asked.schema_name}.{asked.to} in {asked.database!r}"

    async def undo(cursor: Cursor, made: RenamedTable) -> Restoration:
        oid = await _locked_table(cursor, asked.schema_name, asked.to)
        now = (await definitions(cursor, made.oid)).get(made.oid)
        if now is None and oid is None:
            return Restoration.nothing(f"{shown} is not there any more")
        if oid != made.oid and await table_oid(cursor, asked.schema_name, asked.table) == made.oid:
            return Restoration.nothing(f"{shown} has its old name again already")
        if now is None or oid != made.oid:
            raise Conflict(f"{shown} is not the one that was renamed, which is {now.name if now else 'gone'}")
        if now.digest != made.definition:
            raise Conflict(f"{shown} was changed since it was renamed; it keeps its new name")
        if await kind_and_oid(cursor, asked.schema_name, asked.table):
            raise Conflict(f"{shown} can't be renamed back: the name {asked.table!r} is taken now")
        await _rename(cursor, asked.schema_name, asked.to, asked.table)
        return Restoration.exact()

    return await undone(asked.database, receipt.call.key, RenamedTable, undo)


@activity.defn
async def find_renamed_table(call: Call[RenameTable]) -> Applied[RenamedTable] | Absent | Unknown:
    """Tell by the mark, which is of the same transaction as the renaming."""
    return await found(call.request.database, call.key, RenamedTable)


RENAME_TABLE = Tool(
    name="postgres.rename_table",
    description="Rename a table; the undo gives it its old name, unless the table was changed since.",
    forward=rename_table,
    compensate=rename_table_back,
    lookup=find_renamed_table,
    is_reversible=True,
    acts_on=("postgres/{database}/{schema_name}/{table}", "postgres/{database}/{schema_name}/{to}"),
    risk=Risk.MEDIUM,
    timeout=timedelta(seconds=8),
    undo_timeout=timedelta(seconds=8),
    proves=proves,
)


class AddColumn(Request):
    """Add a column to a table, with a plain value as its default."""

    database: str
    table: Name
    column: Name
    type: Annotated[str, Field(pattern=TYPE)]
    default: bool | int | float | str | None = None
    nullable: bool = True
    schema_name: Name = "public"


class AddedColumn(Result):
    """An added column, by what the undo compares before it drops it."""

    table: int
    number: int
    definition: str


@activity.defn
async def add_column(call: Call[AddColumn]) -> AddedColumn:
    """Add the column; a column of that name that was there before is refused, and never claimed."""
    asked = call.request
    shown = f"{asked.schema_name}.{asked.table} in {asked.database!r}"

    async def change(cursor: Cursor) -> AddedColumn:
        oid = await _locked_table(cursor, asked.schema_name, asked.table)
        if oid is None:
            raise Refused(f"there is no table {shown}")
        if await column(cursor, oid, asked.column):
            raise Refused(f"there is a column {asked.column!r} in {shown} already; it was left as it is")
        if not await is_type(cursor, asked.type):
            raise Refused(f"the server of {asked.database!r} knows no type {asked.type!r}")
        await cursor.execute(_add(asked))
        if (added := await column(cursor, oid, asked.column)) is None:
            raise Refused(f"{shown} has no column {asked.column!r} although it was added; rolled back")
        return AddedColumn(table=oid, number=added.number, definition=added.digest)

    return await once(asked.database, call.key, "postgres.add_column", AddedColumn, change)


@activity.defn
async def drop_column(receipt: Receipt[AddColumn, AddedColumn]) -> Restoration:
    """Drop the column, if it is as it was added, nothing was built on it, and it holds only its default."""
    asked = receipt.call.request
    shown = f"the column {asked.column!r} of {asked.schema_name}.{asked.table} in {asked.database!r}"

    async def undo(cursor: Cursor, made: AddedColumn) -> Restoration:
        oid = await _locked_table(cursor, asked.schema_name, asked.table)
        if oid != made.table:
            if elsewhere := (await definitions(cursor, made.table)).get(made.table):
                raise Conflict(f"{shown} is now in a table called {elsewhere.name}; it was left there")
            return Restoration.nothing(f"{shown} went with its table")
        now = await column(cursor, made.table, asked.column)
        if now is None and not await _has_column(cursor, made):
            return Restoration.nothing(f"{shown} is not there any more")
        if now is None or (now.number, now.digest) != (made.number, made.definition):
            raise Conflict(f"{shown} was changed, or something was built on it, since it was added")
        await cursor.execute("SELECT set_config('row_security', 'off', true)")
        if (await one(cursor, _holds_data(asked)))[0]:
            raise Conflict(f"{shown} has data in it since; it was kept")
        await cursor.execute(
            sql.SQL("ALTER TABLE {} DROP COLUMN {} RESTRICT").format(
                _table(asked), sql.Identifier(asked.column)
            )
        )
        return Restoration.exact()

    return await undone(asked.database, receipt.call.key, AddedColumn, undo)


@activity.defn
async def find_added_column(call: Call[AddColumn]) -> Applied[AddedColumn] | Absent | Unknown:
    """Tell by the mark, which is of the same transaction as the column."""
    return await found(call.request.database, call.key, AddedColumn)


ADD_COLUMN = Tool(
    name="postgres.add_column",
    description="Add a column to a table; the undo drops it again, unless there is data in it by then.",
    forward=add_column,
    compensate=drop_column,
    lookup=find_added_column,
    is_reversible=True,
    acts_on=("postgres/{database}/{schema_name}/{table}",),
    risk=Risk.MEDIUM,
    timeout=timedelta(seconds=8),
    undo_timeout=timedelta(seconds=8),
    proves=proves,
)


async def _locked_table(cursor: Cursor, schema: str, name: str) -> int | None:
    """Lock the table against everybody and give its oid; None where there is no table of this name."""
    kind = await kind_and_oid(cursor, schema, name)
    if kind is None or kind[0] not in ("r", "p"):
        return None
    await cursor.execute(
        sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(sql.Identifier(schema, name))
    )
    return await table_oid(cursor, schema, name)


async def _rename(cursor: Cursor, schema: str, table: str, to: str) -> None:
    words = sql.SQL("ALTER TABLE {} RENAME TO {}")
    await cursor.execute(words.format(sql.Identifier(schema, table), sql.Identifier(to)))


async def _has_column(cursor: Cursor, made: AddedColumn) -> bool:
    """Whether the column is still there, under whatever name."""
    of_table = (
        "SELECT EXISTS (SELECT FROM pg_attribute WHERE attrelid = %s AND attnum = %s AND NOT attisdropped)"
    )
    return (await one(cursor, of_table, (made.table, made.number)))[0] is True


def _table(asked: AddColumn) -> sql.Identifier:
    return sql.Identifier(asked.schema_name, asked.table)


def _add(asked: AddColumn) -> sql.Composed:
    # The type has the form TYPE and is one, says the server: it can't hold anything but a name.
    words = sql.SQL("ALTER TABLE {} ADD COLUMN {} {}").format(
        _table(asked),
        sql.Identifier(asked.column),
        sql.SQL(asked.type),  # pyright: ignore[reportArgumentType]
    )
    if asked.default is not None:
        words += sql.SQL(" DEFAULT {}").format(sql.Literal(asked.default))
    return words if asked.nullable else words + sql.SQL(" NOT NULL")


def _holds_data(asked: AddColumn) -> sql.Composed:
    # Compared as text, since types such as json have no equality.
    return sql.SQL("SELECT EXISTS (SELECT FROM {} WHERE {}::text IS DISTINCT FROM ({}::{})::text)").format(
        _table(asked),
        sql.Identifier(asked.column),
        sql.Literal(asked.default),
        sql.SQL(asked.type),  # pyright: ignore[reportArgumentType]
    )
