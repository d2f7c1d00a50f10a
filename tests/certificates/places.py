"""A repository, a folder, a database and a Docker engine as worlds."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import docker
import psycopg

from activities.container import DeployContainer
from activities.files import WriteFile
from activities.git import CreateBranch
from activities.git_find import FindBranch
from activities.postgres import AddColumn, RenameTable
from activities.postgres_migration import Migrate
from embedded.demo_image import IMAGE, SERVE
from embedded.world._database import database

_BEGINNING = """
DROP SCHEMA IF EXISTS rescind_marks CASCADE; DROP SCHEMA public CASCADE; CREATE SCHEMA public;
CREATE TABLE orders (id int PRIMARY KEY, item text NOT NULL);
INSERT INTO orders VALUES (1, 'tea'), (2, 'milk');
"""
ALIAS = "certified"
LOOKED_AT = "looked-at"
BRANCH = "feature/certified"


class Repository:
    """A bare repository with all its refs."""

    compares = "every ref of the repository with its object, markers included"

    def __init__(self, place: Path, template: Path, environment: Mapping[str, str]) -> None:
        self.place, self.template, self.environment = place, template, dict(environment)

    def request(self) -> CreateBranch:
        """Create a branch."""
        return CreateBranch(remote=ALIAS, branch=BRANCH)

    def find(self) -> FindBranch:
        """Read a branch."""
        return FindBranch(remote=LOOKED_AT, branch="main")

    async def reset(self) -> None:
        await asyncio.to_thread(shutil.rmtree, self.place, ignore_errors=True)
        await asyncio.to_thread(shutil.copytree, self.template, self.place)

    async def snapshot(self) -> list[str]:
        return (await self._git("for-each-ref", "--format=%(refname) %(objectname)")).splitlines()

    async def disturb(self) -> None:
        tree = await self._git("rev-parse", "main^{tree}")
        author = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.com"]
        commit = await self._git(*author, "commit-tree", tree, "-p", "main", "-m", "Theirs")
        await self._git("update-ref", f"refs/heads/{BRANCH}", commit)

    async def take_away(self) -> None:
        await self._git("update-ref", "-d", f"refs/heads/{BRANCH}")

    async def already(self) -> None:
        await self._git("update-ref", f"refs/heads/{BRANCH}", "refs/heads/main")

    async def _git(self, *words: str) -> str:
        def run() -> str:
            command = ["git", f"--git-dir={self.place}", *words]
            done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=True)
            return done.stdout.strip()

        return await asyncio.to_thread(run)


class Folder:
    """A folder with one file, written over or made."""

    compares = "every file of the folder, hidden ones too, with its content, permissions, time of change and attributes"

    def __init__(self, place: Path, path: str) -> None:
        self.place, self.path = place, path

    def request(self) -> WriteFile:
        """Write a file."""
        return WriteFile(folder=self.place.name, path=self.path, text="new\n")

    async def reset(self) -> None:
        shutil.rmtree(self.place, ignore_errors=True)
        (self.place / "notes").mkdir(parents=True)
        self._write("notes/kept.txt", "old\n")
        (self.place / "notes/kept.txt").chmod(0o640)

    async def snapshot(self) -> dict[str, Any]:
        return {
            str(each.relative_to(self.place)): (
                each.read_bytes(),
                each.stat().st_mode,
                each.stat().st_mtime_ns,
                {name: os.getxattr(each, name) for name in os.listxattr(each)},
            )
            for each in sorted(self.place.rglob("*"))
            if each.is_file()
        }

    async def disturb(self) -> None:
        self._write(self.path, "theirs\n")

    async def already(self) -> None:
        self._write(self.path, "new\n")

    def _write(self, path: str, text: str) -> None:
        (self.place / path).write_text(text)


class NewFile(Folder):
    """The same, where somebody can take the new file away."""

    async def take_away(self) -> None:
        (self.place / self.path).unlink()


class Database:
    """A database with two tables, read from its catalogue."""

    compares = "all schemas, tables, columns, constraints, indexes, triggers, routines, types and rows of the database"

    def __init__(self, dsn: str, *, change: str, removal: str, disturbance: str) -> None:
        self.dsn = dsn
        self.change, self.removal, self.disturbance = change, removal, disturbance

    async def reset(self) -> None:
        await self._run(_BEGINNING)

    async def snapshot(self) -> Any:
        return await asyncio.to_thread(database, self.dsn, ())

    async def disturb(self) -> None:
        await self._run(self.disturbance)

    async def already(self) -> None:
        await self._run(self.change)

    async def _run(self, statement: str) -> None:
        async with await psycopg.AsyncConnection.connect(self.dsn, autocommit=True) as connection:
            await connection.execute(statement.encode())


class MendableDatabase(Database):
    """The same, where somebody can take the change back by hand."""

    async def take_away(self) -> None:
        await self._run(self.removal)


def renamed(dsn: str) -> tuple[RenameTable, Database]:
    """A table that is renamed."""
    world = MendableDatabase(
        dsn,
        change="ALTER TABLE orders RENAME TO purchases",
        removal="ALTER TABLE purchases RENAME TO orders",
        disturbance="ALTER TABLE purchases ADD note text",
    )
    return RenameTable(database="postgres.rename_table", table="orders", to="purchases"), world


def widened(dsn: str) -> tuple[AddColumn, Database]:
    """A table that gets a column."""
    world = MendableDatabase(
        dsn,
        change="ALTER TABLE orders ADD note text",
        removal="ALTER TABLE orders DROP note",
        disturbance="UPDATE orders SET note = 'theirs'",
    )
    return AddColumn(database="postgres.add_column", table="orders", column="note", type="text"), world


def migrated(dsn: str) -> tuple[Migrate, Database]:
    """A migration that makes a table; where that is gone, its undo asks a person, since `up` may have done more."""
    up, down = "CREATE TABLE settings (name text PRIMARY KEY)", "DROP TABLE settings"
    world = Database(dsn, change=up, removal=down, disturbance="INSERT INTO settings VALUES ('theirs')")
    return Migrate(database="postgres.migrate", name="settings", up=up, down=down, restores="exact"), world


class Containers:
    """The containers of one service on a Docker engine, where one runs already."""

    compares = "every container of the service by its id, with name, image, state, labels and command"

    def __init__(self, client: docker.DockerClient) -> None:
        self.client: Any = client
        self.service = ""

    def request(self) -> DeployContainer:
        """Deploy another version."""
        return DeployContainer(service=self.service, image=f"{IMAGE}:2", network="none")

    async def reset(self) -> None:
        await asyncio.to_thread(self.remove_all)
        self.service = f"certified-{uuid.uuid4().hex[:12]}"  # the engine may be that of the whole machine
        await asyncio.to_thread(self._deploy, "before")

    async def snapshot(self) -> Any:
        return await asyncio.to_thread(self._look)

    async def disturb(self) -> None:
        await asyncio.to_thread(self._deploy, "theirs")

    def _deploy(self, name: str) -> None:
        labels = {"rescind.service": self.service}
        self.client.containers.run(
            f"{IMAGE}:1",
            SERVE,
            name=f"{self.service}-{name}",
            labels=labels,
            network_mode="none",
            detach=True,
        )

    def _look(self) -> dict[str, Any]:
        listed: Any = self.client.api.containers(
            all=True, filters={"label": f"rescind.service={self.service}"}
        )
        return {
            each["Id"]: (each["Names"], each["Image"], each["State"], each["Labels"], each["Command"])
            for each in listed
        }

    def remove_all(self) -> None:
        """Remove every container of the service."""
        for each in self.client.containers.list(
            all=True, filters={"label": f"rescind.service={self.service}"}
        ):
            each.remove(force=True, v=True)
