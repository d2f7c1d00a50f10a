"""Schema and rows of a PostgreSQL database, read from its catalogue with psycopg."""

import json
from collections import Counter
from collections.abc import Collection
from typing import Any, LiteralString

import psycopg
from psycopg import sql
from pydantic import BaseModel, ConfigDict

# Each query's first column is the schema. Objects with a number from 16384 on were not made by initdb.
SCHEMAS = """
    select n.nspname, obj_description(n.oid, 'pg_namespace')
    from pg_namespace n where n.oid >= 16384 or n.nspname = 'public'"""
RELATIONS = """
    select n.nspname, c.relname, c.relkind::text, obj_description(c.oid, 'pg_class'),
           case when c.relkind in ('v', 'm') then pg_get_viewdef(c.oid) end
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p', 'v', 'm', 'f', 'S') and c.oid >= 16384"""
COLUMNS = """
    select n.nspname, c.relname, a.attname,
           concat_ws(' ',
               row_number() over (partition by c.oid order by a.attnum) || '.',
               format_type(a.atttypid, a.atttypmod),
               case when a.attnotnull then 'not null' end,
               case a.attidentity when 'a' then 'identity always' when 'd' then 'identity by default' end,
               case when a.attgenerated <> '' then 'generated' end,
               'default ' || pg_get_expr(d.adbin, d.adrelid),
               'comment ' || col_description(c.oid, a.attnum))
    from pg_attribute a
    join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
    left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    where a.attnum > 0 and not a.attisdropped and c.relkind in ('r', 'p', 'v', 'm', 'f') and c.oid >= 16384"""
CONSTRAINTS = """
    select n.nspname, c.relname, k.conname, pg_get_constraintdef(k.oid)
    from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_namespace n on n.oid = c.relnamespace
    where k.oid >= 16384"""
INDEXES = """
    select n.nspname, t.relname, i.relname, pg_get_indexdef(i.oid)
    from pg_index x join pg_class i on i.oid = x.indexrelid join pg_class t on t.oid = x.indrelid
    join pg_namespace n on n.oid = t.relnamespace where i.oid >= 16384"""
TRIGGERS = """
    select n.nspname, c.relname, t.tgname, pg_get_triggerdef(t.oid)
    from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_namespace n on n.oid = c.relnamespace
    where not t.tgisinternal and t.oid >= 16384"""
ROUTINES = """
    select n.nspname, p.oid::regprocedure::text, md5(pg_get_functiondef(p.oid))
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where p.prokind in ('f', 'p') and p.oid >= 16384"""
TYPES = """
    select n.nspname, t.typname,
           (select string_agg(e.enumlabel, ', ' order by e.enumsortorder)
            from pg_enum e where e.enumtypid = t.oid)
    from pg_type t join pg_namespace n on n.oid = t.typnamespace
    where t.typtype in ('e', 'd') and t.oid >= 16384"""
KINDS = {"r": "table", "p": "partitioned", "v": "view", "m": "materialized", "f": "foreign", "S": "sequence"}
WITH_ROWS = ("table", "materialized")


class Relation(BaseModel):
    """One table, view or sequence; `rows` counts each distinct row, written as JSON."""

    model_config = ConfigDict(frozen=True)
    kind: str
    definition: str
    comment: str
    columns: dict[str, str]
    constraints: dict[str, str]
    indexes: dict[str, str]
    triggers: dict[str, str]
    rows: dict[str, int]


class Database(BaseModel):
    """All schemas but the system's, without the last values of sequences, which no undo gives back."""

    model_config = ConfigDict(frozen=True)
    schemas: dict[str, str]
    relations: dict[str, Relation]
    routines: dict[str, str]
    types: dict[str, str]


def database(dsn: str, without_schemas: Collection[str]) -> Database:
    """The database as one transaction sees it."""
    with psycopg.connect(dsn) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        return read(connection, without_schemas)


def read(connection: psycopg.Connection, without: Collection[str]) -> Database:
    """Puts the catalogue's rows together by relation."""

    def ask(query: LiteralString) -> list[tuple[Any, ...]]:
        found = connection.execute(query).fetchall()
        return [row for row in found if row[0] not in without and not row[0].startswith("pg_")]

    def by_relation(query: LiteralString) -> dict[tuple[str, str], dict[str, str]]:
        found: dict[tuple[str, str], dict[str, str]] = {}
        for schema, relation, name, text in ask(query):
            found.setdefault((schema, relation), {})[name] = text
        return found

    parts = [by_relation(query) for query in (COLUMNS, CONSTRAINTS, INDEXES, TRIGGERS)]
    relations: dict[str, Relation] = {}
    for schema, name, letter, comment, definition in ask(RELATIONS):
        columns, constraints, indexes, triggers = (part.get((schema, name), {}) for part in parts)
        relations[f"{schema}.{name}"] = Relation(
            kind=KINDS[letter],
            definition=definition or "",
            comment=comment or "",
            columns=columns,
            constraints=constraints,
            indexes=indexes,
            triggers=triggers,
            rows=rows(connection, schema, name) if KINDS[letter] in WITH_ROWS else {},
        )
    return Database(
        schemas={schema: comment or "" for schema, comment in ask(SCHEMAS)},
        relations=relations,
        routines={f"{schema}: {name}": text for schema, name, text in ask(ROUTINES)},
        types={f"{schema}.{name}": labels or "" for schema, name, labels in ask(TYPES)},
    )


def rows(connection: psycopg.Connection, schema: str, name: str) -> dict[str, int]:
    """Each distinct row as JSON, and how often it is there."""
    words = sql.SQL("select to_jsonb(t) from {} t").format(sql.Identifier(schema, name))
    return dict(Counter(json.dumps(row, sort_keys=True) for (row,) in connection.execute(words)))
