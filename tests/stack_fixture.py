"""The stand-ins as fixtures for every test that needs them; one start for the whole session."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from embedded import Description, Stack, environment


@pytest.fixture(scope="session")
def stack() -> Iterator[Description]:
    """All stand-ins on fresh data and free ports, stopped after the session."""
    with (
        tempfile.TemporaryDirectory(prefix="rescind-") as directory,
        Stack(directory, ui_port=0) as started,
    ):
        yield started.description


@pytest.fixture(scope="session")
def stack_environment(stack: Description) -> dict[str, str]:
    """The complete environment of a worker or starter that uses the stand-ins and nothing else; no sweeper looks."""
    return environment(stack) | {"RESCIND_SWEEP_EVERY": "0"}


def fresh_stack(directory: Path) -> Stack:
    """Stand-ins of its own for a test that kills or restarts them; use it in a `with` statement."""
    return Stack(directory, ui_port=0)
