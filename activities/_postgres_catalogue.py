"""What a table or a column is, read from PostgreSQL's catalogue, so that an undo can compare before it undoes."""

from typing import LiteralString

from pydantic import BaseModel, ConfigDict

from activities._postgres import Cursor, one

_DEFINITIONS: LiteralString = """
SELECT c.oid::bigint, n.nspname, c.relname, c.relkind IN ('v', 'm'), md5(concat_ws(E'\\n', c.relkind, c.relowner,
  (SELECT string_agg(concat_ws(' ', a.attnum, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
     a.attidentity, a.attgenerated, pg_get_expr(d.adbin, d.adrelid)), E'\\n' ORDER BY a.attnum)
   FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
   WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
  (SELECT string_agg(conname || ' ' || pg_get_constraintdef(oid), E'\\n' ORDER BY conname)
   FROM pg_constraint WHERE conrelid = c.oid),
  (SELECT string_agg(pg_get_indexdef(indexrelid), E'\\n' ORDER BY indexrelid)
   FROM pg_index WHERE indrelid = c.oid),
  (SELECT string_agg(pg_get_triggerdef(oid), E'\\n' ORDER BY tgname)
   FROM pg_trigger WHERE tgrelid = c.oid AND NOT tgisinternal),
  CASE WHEN c.relkind IN ('v', 'm') THEN pg_get_viewdef(c.oid) END))
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT LIKE 'pg\\_%%'
  AND n.nspname NOT IN ('information_schema', 'rescind_marks') AND (%(oid)s::bigint IS NULL OR c.oid = %(oid)s)
"""

_COLUMN: LiteralString = """
SELECT a.attnum::int, md5(concat_ws(E'\\n', a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
  pg_get_expr(d.adbin, d.adrelid), a.attacl::text, col_description(a.attrelid, a.attnum),
  (SELECT string_agg(concat_ws(':', classid, objid, objsubid), ' ' ORDER BY classid, objid, objsubid)
   FROM pg_depend WHERE refclassid = 'pg_class'::regclass AND refobjid = a.attrelid AND refobjsubid = a.attnum)))
FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = %s AND a.attname = %s AND NOT a.attisdropped
"""

# The modes that a change of a definition takes, from VALIDATE CONSTRAINT to DROP ("Explicit Locking" in the manual).
_LOCKED: LiteralString = """
SELECT relation::bigint FROM pg_locks
WHERE locktype = 'relation' AND pid = pg_backend_pid() AND granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND mode NOT IN ('AccessShareLock', 'RowShareLock', 'RowExclusiveLock')
"""


class Definition(BaseModel):
    """A table or view: its name, and a hash of its columns, constraints, indexes and triggers."""

    model_config = ConfigDict(frozen=True)

    schema_name: str
    table: str
    digest: str
    is_view: bool = False

    @property
    def name(self) -> str:
        """The name as people write it."""
        return f"{self.schema_name}.{self.table}"


class Column(BaseModel):
    """A column: its number, which no later column of the table gets, and a hash of all that hangs on it."""

    model_config = ConfigDict(frozen=True)

    number: int
    digest: str


async def definitions(cursor: Cursor, oid: int | None = None) -> dict[int, Definition]:
    """Every table and view of the database by its oid, or the one of the given oid if it is there."""
    await cursor.execute(_DEFINITIONS, {"oid": oid})
    return {
        oid: Definition(schema_name=schema, table=table, digest=digest, is_view=is_view)
        for oid, schema, table, is_view, digest in await cursor.fetchall()
    }


async def locked_for_change(cursor: Cursor) -> set[int]:
    """The oids of what this transaction may have made or changed; nobody else changes these until it ends."""
    await cursor.execute(_LOCKED)
    return {oid for (oid,) in await cursor.fetchall()}


async def table_oid(cursor: Cursor, schema: str, name: str) -> int | None:
    """The oid of the ordinary or partitioned table of exactly this name, or None."""
    found = await kind_and_oid(cursor, schema, name)
    return found[1] if found and found[0] in ("r", "p") else None


async def kind_and_oid(cursor: Cursor, schema: str, name: str) -> tuple[str, int] | None:
    """The kind (as in pg_class.relkind) and the oid of whatever has this name among the tables, or None."""
    await cursor.execute(
        "SELECT c.relkind::text, c.oid::bigint FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = %s AND c.relname = %s",
        (schema, name),
    )
    row = await cursor.fetchone()
    return None if row is None else (row[0], row[1])


async def column(cursor: Cursor, oid: int, name: str) -> Column | None:
    """The column of this name, or None."""
    await cursor.execute(_COLUMN, (oid, name))
    row = await cursor.fetchone()
    return None if row is None else Column(number=row[0], digest=row[1])


async def is_type(cursor: Cursor, name: str) -> bool:
    """Whether the server knows a type of this name; a text that is no type raises its syntax error."""
    return (await one(cursor, "SELECT to_regtype(%s) IS NOT NULL", (name,)))[0] is True
