"""Where the cells' things are: beside the stand-ins a database, a folder and a bucket, and faults in front of them."""

import asyncio
import json
import shutil
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
from tests.faults.git import GitFaults
from tests.faults.postgres import PostgresFaults
from tests.matrix.tools.cells import Cell
from tests.matrix.tools.fronts import fronts
from tests.matrix.tools.subjects import DATABASE, GIT, Side, Subject

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
        remotes: What stands in front of each cell's git repository, by the cell's name.
    """

    outside: dict[str, str]
    worker: dict[str, str]
    scripted: dict[Subject, Scripted]
    remotes: dict[str, GitFaults]

    def scripted_of(self, cell: Cell) -> Scripted | None:
        """What stands in front of this cell's provider; None where the sandbox's faults can meet it."""
        return self.remotes.get(cell.name) or self.scripted.get(cell.tool)

    def seen(self) -> list[Seen]:
        """Every call that was seen by what the tests themselves hold."""
        return [
            seen
            for provider in {*self.scripted.values(), *self.remotes.values()}
            for seen in provider.calls()
        ]


@asynccontextmanager
async def places_of(
    cells: Sequence[Cell], stack: Mapping[str, str], engine: Path | None
) -> AsyncGenerator[Places]:
    """Fresh places in running stand-ins; of Docker's engines only this one is looked at."""
    async with AsyncExitStack() as room:
        folder = Path(room.enter_context(tempfile.TemporaryDirectory(prefix="steps-")))
        (folder / "files").mkdir()
        admin = make_conninfo(stack["RESCIND_LEDGER_ADMIN_DSN"], dbname=f"{ALIAS}_{uuid.uuid4().hex}")
        database = await asyncio.to_thread(_database, admin, stack, cells)
        repositories = await asyncio.to_thread(_repositories, folder / "git", stack, cells)
        outside = {name: value for name, value in stack.items() if name != "RESCIND_DOCKER_SOCKET"} | {
            "RESCIND_FILE_ROOTS": json.dumps({ALIAS: str(folder / "files")}),
            "RESCIND_DATABASES": json.dumps({ALIAS: database}),
            "RESCIND_GIT_REMOTES": json.dumps({name: str(place) for name, place in repositories.items()}),
        }
        if engine:
            outside["RESCIND_DOCKER_SOCKET"] = str(engine)
        postgres = await room.enter_async_context(PostgresFaults(admin, _statements(cells)))
        postgres.late = 1.0
        files = room.enter_context(FileFaults(stands=STANDS_SECONDS))
        remotes = {
            name: await room.enter_async_context(GitFaults(place)) for name, place in repositories.items()
        }
        for remote in remotes.values():
            remote.late = 1.0
        worker = outside | {
            "RESCIND_DATABASES": json.dumps({ALIAS: postgres.through(database)}),
            "RESCIND_GIT_REMOTES": json.dumps({name: remote.url for name, remote in remotes.items()}),
        }
        worker |= await room.enter_async_context(fronts(dict(stack), engine))
        scripted: dict[Subject, Scripted] = {**dict.fromkeys(DATABASE, postgres), Subject.FILE: files}
        yield Places(outside, worker, scripted, remotes)


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
    (Subject.SCHEMA, Side.CALL): r'create\s+table\s+"{name}-new"',
    (Subject.SCHEMA, Side.UNDO): r'drop\s+table\s+"{name}-new"',
}


def _repositories(folder: Path, stack: Mapping[str, str], cells: Sequence[Cell]) -> dict[str, Path]:
    """A copy of the application's repository for each cell that has to do with git, by the cell's name."""
    template = json.loads(stack["RESCIND_GIT_REMOTES"])["app"]
    found = {cell.name: folder / f"{cell.name}.git" for cell in cells if cell.tool in GIT}
    for place in found.values():
        shutil.copytree(template, place)
    return found


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
