"""One ledger for all checks of this folder."""

from collections.abc import Iterator

import pytest

from rescind.testing import own_database


@pytest.fixture(scope="session")
def test_ledger() -> Iterator[str]:
    """A database of this session's own."""
    with own_database() as dsn:
        yield dsn
