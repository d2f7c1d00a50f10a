"""`starter.py order` and `starter.py trip` as people use them: exit codes, messages, and the world behind them."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import psycopg
import pytest
import yaml

from rescind import SagaReport
from tests.activities.sandbox_world import Sandbox, sandbox_of
from tests.application import Application, Ran

DAY = "2027-01-10"


@pytest.fixture
async def sandbox(stack_environment: dict[str, str]) -> AsyncIterator[Sandbox]:
    """The providers, which behave before and after."""
    async with sandbox_of(stack_environment) as made:
        yield made


@pytest.fixture
def name() -> str:
    """The name of a trip that nothing else has, of its traveller and of the mail address."""
    return f"trip-{uuid.uuid4().hex[:8]}"


async def started(application: Application, *words: str) -> Ran:
    """Run a command on the application's queue."""
    return await asyncio.to_thread(
        application.run, "starter.py", *words, "--task-queue", application.task_queue
    )


async def order(application: Application, sandbox: Sandbox, name: str, email: str = "") -> Ran:
    """Fulfil an order that is on hold."""
    customer = await sandbox.new_customer()
    await sandbox.enter_order(name, "on_hold")
    words = ("--order", name, "--customer", customer, "--amount", "4200", "--email")
    return await started(application, "order", *words, email or f"{name}@example.com")


async def trip(application: Application, name: str, *words: str) -> Ran:
    """Book a trip with a flight."""
    flight = ("--flight", "LH123", "--day", DAY, "--traveller", name, "--email", f"{name}@example.com")
    return await started(application, "trip", "--trip", name, *flight, *words)


async def test_an_order(application: Application, sandbox: Sandbox, name: str) -> None:
    """0: it is confirmed, and its customer has one mail."""
    ran = await order(application, sandbox, name)
    assert ran.code == 0, ran
    assert "done: every step stands" in ran.out
    assert (await sandbox.order(name))["status"] == "confirmed"
    assert len(await sandbox.mails(f"{name}@example.com")) == 1


async def test_an_order_whose_mail_is_refused(application: Application, sandbox: Sandbox, name: str) -> None:
    """1: all is as before, the mail server's own words are printed, and operations are told."""
    await sandbox.misbehave("mail.rcpt", "refuse", contains=f"{name}@example.com")
    ran = await order(application, sandbox, name)
    assert ran.code == 1, ran
    assert "550" in ran.out
    assert (await sandbox.order(name))["status"] == "on_hold"
    told = await sandbox.mails(application.environment["RESCIND_OPERATIONS_ADDRESS"])
    assert len([mail for mail in told if name in mail["subject"]]) == 1


async def test_an_order_whose_mail_is_in_doubt(application: Application, sandbox: Sandbox, name: str) -> None:
    """3: the message names what to check, by which Message-ID, at which system; the rest is as before."""
    await sandbox.misbehave("mail.end", "drop_after", contains=f"{name}@example.com")
    ran = await order(application, sandbox, name)
    assert ran.code == 3, ran
    (mail,) = await sandbox.mails(f"{name}@example.com")
    said = "".join(ran.out.split())
    assert mail["message_id"].strip("<>").partition("@")[0] in said
    assert "lookinemail" in said
    assert (await sandbox.order(name))["status"] == "on_hold"


async def test_a_trip(application: Application, sandbox: Sandbox, name: str) -> None:
    """0: flight and two rooms are booked."""
    ran = await trip(application, name, "--hotel", "Grand", "--hotel", "Plaza", "--nights", "2")
    assert ran.code == 0, ran
    assert len(await sandbox.standing("flights", name)) == 1
    assert {each["hotel"] for each in await sandbox.standing("hotels", name)} == {"Grand", "Plaza"}


async def test_a_trip_from_a_file(
    application: Application, sandbox: Sandbox, name: str, tmp_path: Path
) -> None:
    """0: the whole input may come from a file."""
    stay = {"guest": name, "arrival": DAY, "nights": 1, "hotel": "Grand"}
    flight = {"flight": "LH123", "day": DAY, "passenger": name}
    file = tmp_path / "trip.yaml"
    wanted = {"trip": name, "email": f"{name}@example.com", "flight": flight, "hotels": [stay]}
    file.write_text(yaml.safe_dump(wanted))
    ran = await started(application, "trip", "--file", str(file))
    assert ran.code == 0, ran
    assert len(await sandbox.standing("hotels", name)) == 1


async def test_a_trip_whose_hotel_refuses(application: Application, sandbox: Sandbox, name: str) -> None:
    """1: the flight is given back, and the hotel's own words are printed."""
    await sandbox.misbehave("hotels.book", "refuse", contains=name)
    ran = await trip(application, name, "--hotel", "Grand")
    assert ran.code == 1, ran
    assert "refuses this call" in " ".join(ran.out.split())
    assert await sandbox.standing("flights", name) == []


async def test_a_trip_whose_hotel_is_in_doubt(application: Application, sandbox: Sandbox, name: str) -> None:
    """3: the message names the hotel, the guest, the key and the system to look in; the flight is given back."""
    await sandbox.misbehave("blind.book", "drop_after", contains=name)
    ran = await trip(application, name, "--blind-hotel", "Grand")
    assert ran.code == 3, ran
    said = "".join(ran.out.split())
    for word in ("NOTCLEAN", "lookinhotels", "Grand", name, "rsc-"):
        assert word in said
    assert await sandbox.standing("flights", name) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("order", "--order", "A B", "--amount", "0"),
            ["order: ", "amount: ", "customer is missing", "email is missing"],
        ),
        (("order", "--file", "/no/such/file.yaml"), ["can't be read"]),
        (
            ("trip", "--trip", "t", "--day", "tomorrow"),
            ["email is missing", "flight.flight is missing", "flight.day: "],
        ),
    ],
    ids=["order", "file", "trip"],
)
def test_bad_input(application: Application, words: tuple[str, ...], said: list[str]) -> None:
    """2: every problem is named, and nothing was started."""
    ran = application.run("starter.py", *words)
    assert ran.code == 2, ran
    assert [word for word in said if word not in ran.err] == []


async def test_recovered_by_lookup(application: Application, sandbox: Sandbox, name: str) -> None:
    """A room whose booking was never confirmed is found by its key; table, report and journal say that it was."""
    await sandbox.misbehave("hotels.book", "drop_after", calls=None, contains=name)
    ran = await trip(application, name, "--hotel", "Grand")
    assert ran.code == 0, ran
    shown = await asyncio.to_thread(application.run, "starter.py", "show", f"trip-{name}", "--json")
    report = SagaReport.model_validate_json(shown.out)
    assert [step.recovered_by_lookup for step in report.steps] == [False, True, False]
    table = await asyncio.to_thread(application.run, "starter.py", "show", f"trip-{name}")
    assert "recovered by lookup" in " ".join((ran.out + table.out).split())
    with psycopg.connect(application.environment["RESCIND_LEDGER_ADMIN_DSN"]) as connection:
        found = connection.execute(
            "select h.event, e.tool, e.state from rescind.history as h join rescind.effects as e "
            "on (e.saga, e.key) = (h.saga, h.body ->> 'key') "
            "where h.saga like %s and h.recovered_by_lookup and e.recovered_by_lookup",
            (f"%/trip-{name}/%",),
        ).fetchall()
    assert found == [("settle", "hotels.book", "applied")]
