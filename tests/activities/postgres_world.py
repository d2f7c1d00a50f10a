"""A real PostgreSQL server, a fresh database for each test, and a full snapshot of what is in it."""

import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from embedded import ports, postgres
from embedded.processes import launch

ALIAS = "app"

_SNAPSHOT = {
    "columns": """SELECT table_schema, table_name, column_name, ordinal_position, data_type, is_nullable, column_default
                  FROM information_schema.columns WHERE table_schema !~ '^(pg_|information_schema)' ORDER BY 1, 2, 4""",
    "schemas": "SELECT nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema)' ORDER BY 1",
    "constraints": """SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
                      WHERE connamespace::regnamespace::text !~ '^(pg_|information_schema)' ORDER BY 1, 2""",
    "indexes": "SELECT indexdef FROM pg_indexes WHERE schemaname !~ '^(pg_|information_schema)' ORDER BY 1",
    "types": """SELECT typname FROM pg_type
                WHERE typnamespace::regnamespace::text !~ '^(pg_|information_schema)' ORDER BY 1""",
}


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The address of a database server of this session's own, up to the database's name."""
    with tempfile.TemporaryDirectory(prefix="rescind-pg-") as folder:
        directory = Path(folder)
        directory.chmod(0o755)
        postgres.create(directory, "secret", {})
        port = ports.choose(("postgres",), directory / "ports.json", {})["postgres"]
        program = postgres.program(directory, port, "secret", {})
        program.command.extend(("-c", "fsync=off"))  # the data is thrown away, and each test makes a database
        leashed = launch(program, directory / "log")
        try:
            while not program.ready():
                time.sleep(0.1)
            yield f"postgresql://postgres:secret@127.0.0.1:{port}"
        finally:
            leashed.let_go()
            leashed.wait_until_gone()


@pytest.fixture
def database(server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a fresh database with one table of two rows, known to the tools as `app`."""
    name = f"t{uuid4().hex}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {} STRATEGY file_copy").format(sql.Identifier(name)))
    address = f"{server}/{name}"
    monkeypatch.setenv("RESCIND_DATABASES", json.dumps({ALIAS: address}))
    run(
        address, "CREATE TABLE orders (id int PRIMARY KEY, item text NOT NULL); CREATE INDEX ON orders (item)"
    )
    run(address, "INSERT INTO orders VALUES (1, 'tea'), (2, 'milk')")
    yield address
    with psycopg.connect(f"{server}/postgres", autocommit=True) as admin:
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def run(address: str, statement: str) -> list[tuple[Any, ...]]:
    """Run a statement as somebody else would."""
    with psycopg.connect(address, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def snapshot(address: str) -> dict[str, list[tuple[Any, ...]]]:
    """All schemas, tables, columns, constraints, indexes, types and rows of the database."""
    world = {part: run(address, query) for part, query in _SNAPSHOT.items()}
    for schema, table in sorted({(row[0], row[1]) for row in world["columns"]}):
        world[f"rows of {schema}.{table}"] = run(
            address, f'SELECT t::text FROM "{schema}"."{table}" t ORDER BY 1'
        )
    return world
