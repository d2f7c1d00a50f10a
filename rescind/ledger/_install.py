"""Puts the ledger's tables, functions and roles into a database, once or again."""

import hashlib
from collections.abc import Iterable
from importlib.resources import files
from typing import cast

import psycopg
from psycopg import sql

from rescind._states import RECORD_TRANSITIONS, SAGA_TRANSITIONS
from rescind.ledger._errors import LedgerNotInstalled, LedgerUnavailable
from rescind.ledger._version import VERSION

Scripts = dict[str, str]
Connection = psycopg.Connection[tuple[object, ...]]

_TABLES = "tables.sql"
_REPLACED = (
    *("journal.sql", "restore.sql", "forward.sql", "settle.sql", "undo.sql"),
    *("saga.sql", "recovery.sql", "people.sql", "gates.sql", "views.sql", "roles.sql"),
)
_ROLES = ("rescind_owner", "rescind_worker", "rescind_reader")
_LOCK = 0x5E5C1D  # any number that other programs on the database are unlikely to lock
_INSTALLED = (
    "create table if not exists rescind.installed ("
    " version int primary key, checksum text not null, at timestamptz not null default clock_timestamp())"
)


def scripts() -> Scripts:
    """The SQL that the ledger is made of, by file name."""
    folder = files("rescind.ledger")
    return {name: (folder / name).read_text(encoding="utf-8") for name in (_TABLES, *_REPLACED)}


def install(dsn: str, *, workers: Iterable[str] = (), readers: Iterable[str] = ()) -> int:
    """Install the ledger in the database of an administrator's DSN, or bring it up to date.

    It is one transaction: after a failure the database is as it was. It may be run again at any time, and by
    several at once. Returns the version that is installed.

    Args:
        dsn: Connection string of a role that may create roles and schemas.
        workers: Login roles that become members of rescind_worker; made without a password if missing.
        readers: The same for rescind_reader.
    """
    try:
        with psycopg.connect(dsn, connect_timeout=10) as connection:
            return install_scripts(connection, scripts(), workers, readers)
    except psycopg.OperationalError as error:
        raise LedgerUnavailable(
            f"The ledger's database cannot be reached: {error}. Nothing was changed.", ran=False
        ) from error


def install_scripts(
    connection: Connection, parts: Scripts, workers: Iterable[str] = (), readers: Iterable[str] = ()
) -> int:
    """Do the same with the given SQL, in the connection's transaction."""
    connection.execute("select pg_advisory_xact_lock(%s)", (_LOCK,))
    for role in _ROLES:
        _create_role(connection, role, login=False)
    _become_owner(connection)
    _install_version(connection, parts)
    connection.execute("reset role")
    for group, members in (("rescind_worker", workers), ("rescind_reader", readers)):
        for member in members:
            _create_role(connection, member, login=True)
            connection.execute(
                sql.SQL("grant {} to {}").format(sql.Identifier(group), sql.Identifier(member))
            )
    return VERSION


def _create_role(connection: Connection, name: str, *, login: bool) -> None:
    # Roles belong to the cluster, so another database's installation may make the same one meanwhile.
    if connection.execute("select from pg_roles where rolname = %s", (name,)).fetchone():
        return
    statement = sql.SQL("create role {} {}").format(
        sql.Identifier(name), sql.SQL("login" if login else "nologin")
    )
    try:
        with connection.transaction():
            connection.execute(statement)
    except (psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):
        return


def _become_owner(connection: Connection) -> None:
    try:
        with connection.transaction():
            connection.execute("grant rescind_owner to current_user")
    except psycopg.errors.InsufficientPrivilege:
        pass  # somebody else has made the role; being a member already is enough
    connection.execute("create schema if not exists rescind authorization rescind_owner")
    connection.execute("set local role rescind_owner")
    connection.execute("set local search_path = rescind, pg_catalog")


def _install_version(connection: Connection, parts: Scripts) -> None:
    connection.execute(_INSTALLED)
    row = connection.execute(
        "select version, checksum from rescind.installed order by version desc limit 1"
    ).fetchone()
    if row and cast("int", row[0]) > VERSION:
        raise LedgerNotInstalled(
            f"The database has a ledger of version {row[0]}, this program knows versions up to {VERSION}. "
            "Nothing was changed. Install it with the newest Rescind that uses this database."
        )
    checksum = _checksum(parts)
    if row == (VERSION, checksum):
        return
    _define_transitions(connection)
    for name in _REPLACED if row else (_TABLES, *_REPLACED):
        _run(connection, parts[name])
    connection.execute(
        "insert into rescind.installed (version, checksum) values (%s, %s)"
        " on conflict (version) do update set checksum = excluded.checksum, at = clock_timestamp()",
        (VERSION, checksum),
    )


def _run(connection: Connection, script: str) -> None:
    connection.execute(script.encode())


def _define_transitions(connection: Connection) -> None:
    tables: dict[str, list[tuple[str | None, str]]] = {
        "effect": [(each.from_, each.to) for each in RECORD_TRANSITIONS],
        "saga": [(each.from_, each.to) for each in SAGA_TRANSITIONS],
    }
    for subject, transitions in tables.items():
        legal = ", ".join(f"'{before or ''}>{after}'" for before, after in transitions)
        _run(
            connection,
            f"create or replace function legal_{subject}_change(before text, after text) returns boolean"
            f" language sql immutable as $$ select before || '>' || after in ({legal}) $$",
        )


def _checksum(parts: Scripts) -> str:
    text = "\n".join(parts[name] for name in _REPLACED) + repr((RECORD_TRANSITIONS, SAGA_TRANSITIONS))
    return hashlib.sha256(text.encode()).hexdigest()
