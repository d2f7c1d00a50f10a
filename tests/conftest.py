"""Fixtures for every test."""

import os

import pytest

from tests.application import application, idle_application
from tests.leftovers import nothing_left_open, pytest_collection_finish
from tests.longest_first import pytest_collection_modifyitems
from tests.stack_fixture import stack, stack_environment

__all__ = [
    "application",
    "idle_application",
    "nothing_left_open",
    "pytest_collection_finish",
    "pytest_collection_modifyitems",
    "stack",
    "stack_environment",
]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Where everything is installed, a skipped test is a failure: RESCIND_NOTHING_SKIPPED says so."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("RESCIND_NOTHING_SKIPPED") and reporter and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
