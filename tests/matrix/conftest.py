"""Runs the cells whose tests were chosen, all at the same time, once for the session."""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.matrix.cells import Cell, compact, soak
from tests.matrix.engine import an_engine
from tests.matrix.run import Outcome, run_matrix

CELLS = (soak if os.environ.get("RESCIND_SOAK") else compact)(engine=True)
"""Those of containers are skipped where no engine can be started."""


@pytest.fixture(scope="session")
def engine() -> Iterator[tuple[Path | None, str]]:
    """The socket of a Docker engine, or None and the reason."""
    with an_engine() as found:
        yield found


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def matrix(
    request: pytest.FixtureRequest,
    stack_environment: dict[str, str],
    engine: tuple[Path | None, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Outcome]:
    """What became of every cell that a chosen test asks for."""
    socket, _ = engine
    yield await run_matrix(
        chosen(request, socket), stack_environment, tmp_path_factory.mktemp("matrix"), socket
    )


def chosen(request: pytest.FixtureRequest, socket: Path | None) -> list[Cell]:
    """The cells of the tests that were selected; all of them where only the totals were."""
    asked: set[Cell] = set()
    for item in request.session.items:
        if isinstance(item, pytest.Function) and hasattr(item, "callspec"):
            cell: object = item.callspec.params.get("cell")
            if isinstance(cell, Cell):
                asked.add(cell)
    possible = (soak if os.environ.get("RESCIND_SOAK") else compact)(engine=socket is not None)
    return [cell for cell in possible if cell in asked] or possible
