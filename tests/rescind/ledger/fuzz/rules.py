"""A ledger without one of its rules, so that a fuzzer can show that it would notice."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TypeAlias

import psycopg

from rescind.ledger import Ledger
from rescind.ledger._install import install_scripts, scripts
from tests.rescind.ledger.postgres import Server

Rule: TypeAlias = tuple[str, str, str]
"""The file that has it, its words, and the words without it."""


@asynccontextmanager
async def ledger_without(server: Server, taken_out: Rule) -> AsyncGenerator[Ledger]:
    """A ledger in a database of its own, which is gone after the block."""
    file, rule, without = taken_out
    parts = scripts()
    assert parts[file].count(rule) == 1
    parts[file] = parts[file].replace(rule, without)
    with psycopg.connect(server.create_database("broken")) as connection:
        install_scripts(connection, parts)
    async with Ledger(server.dsn("broken"), connections=16) as ledger:
        yield ledger
    server.drop_database("broken")
