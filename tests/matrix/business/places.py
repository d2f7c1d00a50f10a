"""Where the cells' things are: beside the stand-ins a database, a folder and a bucket, and faults in front of them."""

import asyncio
import json
import tempfile
import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.faults import Fault, Seen
from tests.faults.files import FileFaults
from tests.faults.postgres import PostgresFaults
from tests.matrix.business.aws_front import fronts
from tests.matrix.business.cells import Cell
from tests.matrix.business.subjects import DATABASE, Side, Subject

ALIAS = "steps"
"""The worker's name of the database and of the folder."""

OBJECTS = "matrix-steps"
STANDS_SECONDS = 4.0
"""How long a file that hangs does so: longer than an attempt's calls may take."""

_MARKS = """
CREATE SCHEMA rescind_marks;
CREATE TABLE rescind_marks.rescind_effects (
    key text PRIMARY KEY, tool text NOT NULL, effect jsonb NOT NULL, made_at timestamptz NOT NULL DEFAULT now())
"""
"""Made beforehand, as for a role that may not: cells that stand in its creation would hold up all others."""


class Scripted(Protocol):
    """A provider whose faults the test itself holds."""

    async def plan(self, operation: str, faults: Sequence[Fault | None]) -> None:
        """See FaultyProvider."""

    def calls(self) -> list[Seen]:
        """See FaultyProvider."""
        ...


@dataclass(frozen=True)
class Places:
    """Where things are.

    Attributes:
        outside: The environment of whoever looks at all of it, past all faults.
        worker: The worker's.
        scripted: What stands in front of the tools that the sandbox's faults can't meet.
    """

    outside: dict[str, str]
    worker: dict[str, str]
    scripted: dict[Subject, Scripted]


@asynccontextmanager
async def places_of(cells: Sequence[Cell], stack: Mapping[str, str]) -> AsyncGenerator[Places]:
    """Fresh places in running stand-ins; the machine's Docker is not looked at."""
    async with AsyncExitStack() as room:
        folder = Path(room.enter_context(tempfile.TemporaryDirectory(prefix="steps-")))
        admin = make_conninfo(stack["RESCIND_LEDGER_ADMIN_DSN"], dbname=f"{ALIAS}_{uuid.uuid4().hex}")
        database = await asyncio.to_thread(_database, admin, stack, cells)
        outside = {name: value for name, value in stack.items() if name != "RESCIND_DOCKER_SOCKET"} | {
            "RESCIND_FILE_ROOTS": json.dumps({ALIAS: str(folder)}),
            "RESCIND_DATABASES": json.dumps({ALIAS: database}),
        }
        postgres = await room.enter_async_context(PostgresFaults(admin, _statements(cells)))
        postgres.late = 1.0
        files = room.enter_context(FileFaults(stands=STANDS_SECONDS))
        worker = outside | {"RESCIND_DATABASES": json.dumps({ALIAS: postgres.through(database)})}
        worker |= await room.enter_async_context(fronts(stack["RESCIND_S3_ENDPOINT"], dict(stack)))
        scripted: dict[Subject, Scripted] = {**dict.fromkeys(DATABASE, postgres), Subject.FILE: files}
        yield Places(outside, worker, scripted)


def statement(side: Side, cell: Cell) -> str:
    """The name of a cell's statement on one side."""
    return f"{side.value} of {cell.name}"


def _statements(cells: Sequence[Cell]) -> dict[str, str]:
    return {
        statement(side, cell): _PATTERNS[cell.tool, side].replace("{name}", cell.name)
        for cell in cells
        if cell.tool in DATABASE
        for side in Side
    }


_PATTERNS = {
    (Subject.TABLE, Side.CALL): r'rename\s+to\s+"{name}-new"',
    (Subject.TABLE, Side.UNDO): r'rename\s+to\s+"{name}"',
    (Subject.COLUMN, Side.CALL): r'alter\s+table\s+"public"."{name}"\s+add\s+column',
    (Subject.COLUMN, Side.UNDO): r'alter\s+table\s+"public"."{name}"\s+drop\s+column',
}


def _database(admin: str, stack: Mapping[str, str], cells: Sequence[Cell]) -> str:
    """A database of the application's with the marks and a table for each cell; left to the end of the stand-ins."""
    name = conninfo_to_dict(admin)["dbname"]
    with psycopg.connect(stack["RESCIND_LEDGER_ADMIN_DSN"], autocommit=True) as connection:
        create = sql.SQL("CREATE DATABASE {} OWNER app TEMPLATE template0")
        connection.execute(create.format(sql.Identifier(str(name))))
    made = make_conninfo(json.loads(stack["RESCIND_DATABASES"])["app"], dbname=name)
    with psycopg.connect(made) as connection:
        connection.execute(_MARKS)
        for table in [sql.Identifier("public", cell.name) for cell in cells if cell.tool in DATABASE]:
            connection.execute(sql.SQL("CREATE TABLE {} (id int PRIMARY KEY)").format(table))
            connection.execute(sql.SQL("INSERT INTO {} VALUES (1), (2)").format(table))
    return made
