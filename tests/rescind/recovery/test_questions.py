"""What the sweeper can't decide reaches people: once, again at the pace of the reminders, and when it is over."""

import asyncio
import smtplib
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import timedelta
from email.message import EmailMessage

import pytest
from temporalio.client import Client
from temporalio.worker import Worker

from rescind import RescindPlugin
from rescind.ledger import Ledger
from rescind.reconciliation import Alert, AlertChannel, Pace, Question
from rescind.recovery import Sweeping, remembered
from rescind.recovery._asking import Asking
from tests.activities.sandbox_world import Sandbox, sandbox_of
from tests.rescind.namespaces import new_namespace
from tests.rescind.reconciliation.receiver import Broken, Receiver, Webhook, receiver
from tests.rescind.sagas import Sagas, until
from tests.rescind.toy_workflows import BROKEN, WORKFLOWS, MakeWithBug, Plan
from tests.rescind.toy_world import TOOLS, World

PACE = Pace(alerts=(timedelta(seconds=4),), alert_every=timedelta(hours=1), alert_for=timedelta(seconds=2))


@dataclass(frozen=True)
class Mail:
    """Sends each alert as a mail."""

    server: str
    to: str
    name: str = "mail"

    async def send(self, alert: Alert) -> None:
        """Send it."""
        mail = EmailMessage()
        mail["From"], mail["To"], mail["Subject"] = "rescind@here.example", self.to, alert.headline
        mail["Message-ID"] = f"<{alert.key}@here.example>"
        mail.set_content(alert.text)
        await asyncio.to_thread(self._send, mail)

    def _send(self, mail: EmailMessage) -> None:
        host, _, port = self.server.rpartition(":")
        with smtplib.SMTP(host, int(port)) as session:
            session.send_message(mail)


@pytest.fixture
def posts() -> Iterator[Receiver]:
    """The webhook's receiving end."""
    with receiver() as receiving:
        yield receiving


@pytest.fixture
async def sandbox(stack_environment: dict[str, str]) -> AsyncIterator[Sandbox]:
    """The mail server, seen from outside."""
    async with sandbox_of(stack_environment) as opened:
        yield opened


@pytest.fixture
async def asking(
    stack_environment: dict[str, str],
    ledger_dsn: str,
    ledger: Ledger,
    posts: Receiver,
) -> AsyncIterator[Sagas]:
    """Sagas in a namespace whose sweeper looks every second; it has a channel that never works, too."""
    address = stack_environment["TEMPORAL_ADDRESS"]
    queue = f"asking-{uuid.uuid4()}"
    mail = Mail(stack_environment["RESCIND_SMTP"], f"{queue}@here.example")
    channels: list[AlertChannel] = [Broken(), Webhook(posts.url), mail]
    sweeping = Sweeping(every=timedelta(seconds=1), stalled_after=1)
    plugin = RescindPlugin(TOOLS, ledger=ledger_dsn, alerts=channels, pace=PACE, sweeping=sweeping)
    client = await Client.connect(address, namespace=await new_namespace(address, "asking"), plugins=[plugin])
    async with Worker(client, task_queue=queue, workflows=WORKFLOWS, max_cached_workflows=0):
        yield Sagas(client, ledger, queue)


@pytest.mark.timeout(240)
async def test_stalled_workflow(asking: Sagas, world: World, posts: Receiver, sandbox: Sandbox) -> None:
    """People are told once by each channel that works, again when the reminder is due, and once that it is over.

    The looks between tell nobody anything, and a channel that is away holds none of them up.
    """
    BROKEN["broken"] = True
    try:
        handle = await asking.start(MakeWithBug.run, Plan(world=world.name, things=["a", "b", "c"]))
        await told(posts, 2)
        looks = await remembered(asking.client) or 0

        async def looked() -> bool:
            return (await remembered(asking.client) or 0) >= looks + 4

        await until(looked)
        assert [alert.number for alert in posts.alerts] == [1, 2]
    finally:
        BROKEN["broken"] = False
    await handle.result()
    await told(posts, 3)
    first, _, last = posts.alerts
    sweeper = f"the sweeper of the namespace {asking.client.namespace}"
    assert first.headline == f"HIGH: {sweeper} needs a person: 1 question open"
    assert (
        f"- {handle.id}/{handle.first_execution_run_id} does not go on: its workflow's own code" in first.text
    )
    assert "the world: what it did stands, and nothing is undone by this" in first.text
    assert "to do: mend the code and deploy it, and it goes on" in first.text
    assert last.headline == f"{sweeper}: nothing is open any more"
    assert len({alert.key for alert in posts.alerts}) == 3
    address = f"{asking.task_queue}@here.example"

    async def were_mailed() -> bool:
        return len(await sandbox.mails(address)) == 3

    await until(were_mailed)
    mails = await sandbox.mails(address)
    assert [mail["message_id"] for mail in mails] == [f"<{alert.key}@here.example>" for alert in posts.alerts]
    assert [mail["subject"] for mail in mails] == [alert.headline for alert in posts.alerts]
    assert "mend the code" in mails[0]["text"]


async def told(posts: Receiver, count: int) -> None:
    """Wait until so many alerts were posted."""

    async def were_told() -> bool:
        return len(posts.alerts) >= count

    await until(were_told)


def question(key: str) -> Question:
    """A question of this key."""
    return Question(key=key, what="what", world="world", to_do="to do")


def test_page_of_a_round() -> None:
    """A question of another page stays open until a whole round has gone without it."""
    open_ = Asking().after([question("a")], round_over=False).after([question("b")], round_over=True)
    assert [each.key for each in open_.open] == ["a", "b"]
    next_page = open_.after([question("b")], round_over=False)
    assert [each.key for each in next_page.open] == ["a", "b"]
    assert [each.key for each in next_page.after([], round_over=True).open] == ["b"]


def test_reminders() -> None:
    """The first alert is due at once, the next one later, and with a new question at once again."""
    pace, empty = Pace(), Asking()
    asked = empty.after([question("a")], round_over=True)
    told, alert = asked.told(empty, "the sweeper", pace)
    assert alert is not None
    again = told.after([question("a")], round_over=True)
    assert again.told(told, "the sweeper", pace) == (again, None)
    more = again.after([question("a"), question("b")], round_over=True)
    told, alert = more.told(again, "the sweeper", pace)
    assert alert is not None
    assert (told.alerts, alert.number, alert.total) == (1, 1, 2)
    over, alert = told.after([], round_over=True).told(told, "the sweeper", pace)
    assert over == empty
    assert alert is not None
    assert alert.number == 0
