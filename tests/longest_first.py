"""Begins with the files that take longest, so that none of them is left over for one process at the end."""

import pytest

LONGEST = (
    "matrix/test_processes.py",
    "matrix/tools/test_tools_matrix.py",
    "matrix/test_matrix.py",
    "test_demo.py",
    "certificates/",
    "rescind/recovery/",
    "rescind/test_in_doubt.py",
    "test_exit.py",
    "test_starter.py",
    "matrix/",
    "plan_model/",
    "storm/",
    "model/",
)
"""In this order; under tests/. The others come as they are."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort by the list; within a file and among the others the order stays."""
    items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    below = item.nodeid.removeprefix("tests/")
    return next((place for place, start in enumerate(LONGEST) if below.startswith(start)), len(LONGEST))
