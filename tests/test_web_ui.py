"""The Temporal Web UI as the dashboard of a saga, in a real browser."""

import json
import shutil
import subprocess
import time
import uuid
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import FrameLocator, Locator, Page, expect, sync_playwright

from embedded import Description
from embedded.temporal import find_program
from tests.application import Application, until

CHROMIUM = shutil.which("chromium")
OPTIONS = (
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run"),
)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium program on the PATH"),
    pytest.mark.timeout(240),
]
expect.set_options(timeout=60_000)


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    """A page of a browser that reaches loopback only; its last picture is kept with the test's files."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(OPTIONS))
        opened = browser.new_page(viewport={"width": 1500, "height": 1700})
        opened.set_default_timeout(60_000)
        yield opened
        opened.screenshot(path=tmp_path / "page.png")
        browser.close()


def test_an_undone_saga(application: Application, stack: Description, page: Page) -> None:
    """Its page shows each step and its undo in words, and its details the table of steps."""
    name = f"ui-{uuid.uuid4().hex[:8]}"
    ran = application.provision("--name", name, "--webhook", "revoked")
    assert ran.code == 1, ran
    page.goto(f"{stack.web_ui}/namespaces/default/workflows/provision-{name}")
    expect(page.get_by_text("FAILED").first).to_be_visible()
    for words in (
        f"create_bucket • s3.create_bucket bucket=env-{name}",
        f"undo: s3.create_bucket bucket=env-{name}",
    ):
        expect(page.get_by_text(words).first).to_be_attached()
    summary, _, current = metadata(page)
    expect(summary.get_by_text(f"Provision env/{name}: all five steps, or none")).to_be_visible()
    expect(current.get_by_role("row").filter(has_text="create_bucket#1")).to_contain_text("undone: exact")


@pytest.mark.parametrize("fault", ["hang", "throttled"])
def test_a_saga_under_way(application: Application, stack: Description, page: Page, fault: str) -> None:
    """While a step runs, or waits for its next attempt, the table has it beside what was done; cancelled, the end."""
    name = f"ui-{uuid.uuid4().hex[:8]}"
    words = ("--flight", "LH123", "--day", "2027-01-10", "--traveller", name, "--hotel", "Grand")
    to = ("--email", f"{name}@example.com", "--task-queue", application.task_queue)
    with (
        misbehaving(application, fault, name),
        application.started("starter.py", "trip", "--trip", name, *words, *to) as starter,
    ):
        wait_until_asked(application, fault)
        show(page, f"{stack.web_ui}/namespaces/default/workflows/trip-{name}")
        _, _, current = metadata(page)
        expect(row(current, "book_flight#1")).to_contain_text("applied")
        expect(row(current, "book_room#1")).to_contain_text("intended")
        cancel(application, f"trip-{name}")
        starter.communicate(timeout=120)
        assert starter.returncode == 1  # the airline keeps a fee
        page.reload()
        _, _, current = metadata(page)
        expect(row(current, "book_flight#1")).to_contain_text("undone: residue")
        expect(row(current, "book_room#1")).to_contain_text("absent")


def test_approving_by_the_form(application: Application, stack: Description, page: Page) -> None:
    """The details show what is asked; the form shows why a word is not taken, and with a right one the saga goes on."""
    name = f"ui-{uuid.uuid4().hex[:8]}"
    words = ("provision", "--name", name, "--on", "ecs", "--task-queue", application.task_queue)
    with application.started("starter.py", *words) as starter:
        until(starter, "waits for approval until")
        show(page, f"{stack.web_ui}/namespaces/default/workflows/provision-{name}")
        _, _, current = metadata(page)
        expect(row(current, "chat.notify (risk high,")).to_be_attached()
        expect(row(current, f"The environment {name} is there.").last).to_contain_text("text")
        word = json.loads(current.locator("code").last.inner_text())
        choose(page, "approve")
        send(page, word | {"step": 7})
        expect(page.get_by_text("step: Input should be a valid string. Nothing was changed")).to_be_visible()
        send(page, word | {"who": "anna"})
        expect(page.get_by_role("button", name="Submit")).to_have_count(0)
        said, _ = starter.communicate(timeout=60)
        assert "done: every step stands" in said
        page.reload()
        _, _, current = metadata(page)
        expect(row(current, "notify#1")).to_contain_text("applied")


def choose(page: Page, update: str) -> None:
    """Open the form for an Update of this name."""
    page.get_by_role("button", name="More Actions").click()
    page.get_by_role("menuitem", name="Send an Update").click()
    page.get_by_role("button", name="Select an Update").click()
    page.get_by_role("option", name=update).click()


def send(page: Page, word: dict[str, object]) -> None:
    """Send what the form has chosen with this argument."""
    data = page.get_by_role("textbox", name="Data")
    data.fill(json.dumps(word))
    data.blur()  # the form tidies the JSON when its field is left, and moves Submit from under the mouse
    page.get_by_role("button", name="Submit").click()


def show(page: Page, address: str) -> None:
    """Open a workflow's page; the Web UI looks it up in the server's list, which may be some seconds behind."""
    missing, limit = page.get_by_text("Error: 404"), time.monotonic() + 60
    while True:
        page.goto(address)
        page.get_by_text("User Metadata").or_(missing).first.wait_for()
        if not missing.count():
            return
        assert time.monotonic() < limit, "the Web UI does not find the workflow"
        time.sleep(0.5)


def metadata(page: Page) -> list[FrameLocator]:
    """The frames of a workflow's summary, its details and its current details."""
    page.get_by_text("User Metadata").first.click()
    return [page.frame_locator("iframe").nth(number) for number in range(3)]


def row(table: FrameLocator, step: str) -> Locator:
    """A step's row of the table."""
    return table.get_by_role("row").filter(has_text=step)


def cancel(application: Application, workflow_id: str) -> None:
    """Ask Temporal to cancel a workflow, by its own program."""
    command = [str(find_program({}).path), "workflow", "cancel", "--workflow-id", workflow_id]
    where = ["--address", application.environment["TEMPORAL_ADDRESS"]]
    nowhere = {"PATH": "/nowhere", "HOME": "/nowhere"}
    subprocess.run([*command, *where], env=nowhere, check=True, capture_output=True)


@contextmanager
def misbehaving(application: Application, fault: str, guest: str) -> Generator[None]:
    """Inside the block no room is booked for this guest."""
    admin = application.environment["RESCIND_SANDBOX_ADMIN_URL"]
    plan = {"operation": "hotels.book", "fault": fault, "contains": guest, "calls": None, "seconds": 60}
    httpx.post(f"{admin}/faults", json=plan, trust_env=False).raise_for_status()
    try:
        yield
    finally:
        httpx.delete(f"{admin}/faults", trust_env=False)


def wait_until_asked(application: Application, fault: str) -> None:
    """Returns once the supplier has met the fault."""
    admin = application.environment["RESCIND_SANDBOX_ADMIN_URL"]
    limit = time.monotonic() + 60
    while not met(f"{admin}/calls", fault):
        assert time.monotonic() < limit, "the hotel was not asked"
        time.sleep(0.1)


def met(calls: str, fault: str) -> bool:
    found = httpx.get(calls, params={"operation": "hotels.book"}, trust_env=False).json()
    return any(call["fault"] == fault for call in found)
