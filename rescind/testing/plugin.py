"""The pytest plugin: a ledger for the tests of tools, and `check_tool` bound to it."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator
from typing import Protocol

import pytest

from rescind._calls import Req, Res
from rescind._tool import Tool
from rescind.testing._certificate import Certificate
from rescind.testing._check import check_tool
from rescind.testing._postgres import own_database
from rescind.testing._world import World

VARIABLE = "RESCIND_TEST_LEDGER_DSN"
"""Where the connection string of a database for tests may be given; otherwise a server is started."""


class CheckTool(Protocol):
    """What the fixture `rescind_check_tool` gives: `check_tool` with a ledger."""

    def __call__(
        self, tool: Tool[Req, Res], request: Req | Callable[[], Req], world: World, *, case: str = ""
    ) -> Awaitable[Certificate]:
        """Try every law on a tool."""
        ...


@pytest.fixture(scope="session")
def rescind_test_ledger() -> Iterator[str]:
    """An administrator's connection string of a database for tests; one server for the whole session.

    It is that of the environment variable RESCIND_TEST_LEDGER_DSN, where that is set.
    """
    if given := os.environ.get(VARIABLE):
        yield given
        return
    with own_database() as dsn:
        yield dsn


@pytest.fixture
def rescind_check_tool(rescind_test_ledger: str) -> CheckTool:
    """`check_tool` with the session's ledger; await what it answers."""

    def check(
        tool: Tool[Req, Res], request: Req | Callable[[], Req], world: World, *, case: str = ""
    ) -> Awaitable[Certificate]:
        return check_tool(tool, request, world, ledger=rescind_test_ledger, case=case)

    return check
