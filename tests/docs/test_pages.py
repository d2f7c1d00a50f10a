"""The code on the pages is run as they say, and what they quote is in the source."""

import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.client import Client

from embedded import Description
from rescind.ledger import install
from rescind.recovery._sweeping import SWEEP_ID
from tests.docs.pages import ROOT, quotations, text, unaccounted, write_files

PAGES = ("README.md", "docs/tutorial.md")
README_RUN = """
import asyncio, sys, uuid
from temporalio.client import Client, WorkflowFailureError
from temporalio.worker import Worker
from embedded import environment, running
from rescind import RescindPlugin
from rooms import RESERVE_ROOM, ask
from stay import BookStay

async def main():
    settings = environment(running(".rescind"))
    plugin = RescindPlugin([RESERVE_ROOM], ledger=settings["RESCIND_LEDGER_DSN"], sweeping=None)
    client = await Client.connect(settings["TEMPORAL_ADDRESS"], plugins=[plugin])
    async with Worker(client, task_queue="readme", workflows=[BookStay]):
        for rooms in ([101, 102], [201, 102]):
            try:
                print(await client.execute_workflow(BookStay.run, rooms, id=str(uuid.uuid4()), task_queue="readme"))
            except WorkflowFailureError as failed:
                print(failed.cause.type)
    print(ask("select room from taken order by room"))

asyncio.run(main())
"""


@pytest.fixture
def folder(tmp_path: Path, stack: Description, stack_environment: dict[str, str]) -> Path:
    """A folder beside the stand-ins' data."""
    install(stack_environment["RESCIND_LEDGER_ADMIN_DSN"], workers=["rescind_ledger_worker"])
    (tmp_path / ".rescind").symlink_to(stack.directory)
    return tmp_path


DIED_AT_EXIT = (-signal.SIGABRT, -signal.SIGSEGV)
"""A short program with Temporal's client may die when all is said and done (sdk-python, issue 300)."""


def run(folder: Path, settings: dict[str, str]) -> str:
    """Run `run.py` of a folder with the project on its path; answer with what it prints."""
    ran = subprocess.run(
        [sys.executable, "run.py"],
        cwd=folder,
        env=settings | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert ran.returncode in (0, *DIED_AT_EXIT), ran.stderr
    return ran.stdout


@pytest.mark.parametrize("page", PAGES)
def test_every_python_block_is_run_or_quoted(page: str) -> None:
    """No code on the page escapes the tests."""
    assert unaccounted(page) == 0


def test_the_readme_quotes_the_one_finally() -> None:
    """The quotation is in the source, letter by letter."""
    (quoted,) = quotations("README.md")
    assert quoted[1] in text(quoted[0])
    assert "finally:" in quoted[1]


def test_the_readme_s_tool_and_workflow(folder: Path, stack_environment: dict[str, str]) -> None:
    """A stay succeeds, and one that wants a taken room is undone."""
    write_files("README.md", folder)
    (folder / "run.py").write_text(README_RUN, encoding="utf-8")
    printed = run(folder, stack_environment).splitlines()
    assert printed == ["[101, 102]", "SagaUndone", "[(101,), (102,)]"]


@pytest.fixture
async def no_sweeper_stays(stack_environment: dict[str, str]) -> AsyncIterator[None]:
    """A worker with the plugin's own settings makes a schedule, which would sweep other tests' sagas."""
    yield
    client = await Client.connect(stack_environment["TEMPORAL_ADDRESS"])
    await client.get_schedule_handle(SWEEP_ID).delete()


@pytest.mark.usefixtures("no_sweeper_stays")
def test_the_tutorial_prints_what_it_says(folder: Path, stack_environment: dict[str, str]) -> None:
    """The last command's output is the one on the page."""
    write_files("docs/tutorial.md", folder)
    promised = text("docs/tutorial.md").partition("$ python run.py\n")[2].partition("```")[0]
    assert run(folder, stack_environment) == promised
