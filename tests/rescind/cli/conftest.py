"""The toy program against the stand-ins."""

import uuid
from collections.abc import Iterator

import pytest

from tests.rescind.cli.program import Program


@pytest.fixture(scope="session")
def unattended(stack_environment: dict[str, str], ledger_dsn: str) -> Program:
    """The program on a queue that no worker polls."""
    return Program(stack_environment | {"RESCIND_LEDGER_DSN": ledger_dsn}, f"toy-{uuid.uuid4()}")


@pytest.fixture(scope="module")
def program(unattended: Program) -> Iterator[Program]:
    """The program with a worker and a world for the tests of one file.

    In it `refused` is refused, `theirs` is somebody else's by now, and each `theirs-N` as well; the answer to each
    `doubtful-N` is lost.
    """
    attended = Program(unattended.environment, f"toy-{uuid.uuid4()}")
    plan = {
        "make refused": ["refuse"] * 99,
        **{f"make doubtful-{number}": ["lose_reply"] for number in range(9)},
        **{f"unmake theirs-{number}": ["conflict"] * 9 for number in range(9)},
        "unmake theirs": ["conflict"] * 99,
        "make slow": ["slow"] * 99,
    }
    with attended.worker(plan):
        yield attended


@pytest.fixture
def workflow_id() -> str:
    """An id of this test's own."""
    return f"toy-{uuid.uuid4()}"
