"""Names the test module that left something open, rather than the one that the garbage collector runs in."""

import gc
from collections.abc import Iterator

import pytest


def pytest_collection_finish() -> None:
    """What is imported by now stays: the collector need not look at it again, which makes it quick."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def nothing_left_open() -> Iterator[None]:
    """A socket or loop that a module leaves to the garbage collector is an error of the module's last test."""
    yield
    gc.collect()
