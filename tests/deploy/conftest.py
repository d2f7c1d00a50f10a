"""Stand-ins of their own for the deployment's scripts, which create logins and namespaces."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from embedded import Description, environment
from embedded.postgres import binaries
from tests.stack_fixture import fresh_stack

DEPLOY = Path(__file__).parent.parent.parent / "deploy"


@pytest.fixture(scope="package")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Description]:
    """A Temporal server and a PostgreSQL server on which nothing was set up."""
    directory = tmp_path_factory.mktemp("servers")
    with fresh_stack(directory) as started:
        yield started.description


@pytest.fixture
def surroundings(servers: Description) -> dict[str, str]:
    """The environment of a job: the stand-ins' addresses, and a PATH with `psql` and `temporal`."""
    found = environment(servers)
    programs = [str(binaries()), str(Path(sys.executable).parent), found["PATH"]]
    return found | {"PATH": os.pathsep.join(programs)}
