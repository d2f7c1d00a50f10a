"""A ledger is compared with its journal: whatever was changed behind the functions' back is found, and named."""

import subprocess
import sys
from collections.abc import Callable, Iterator

import psycopg
import pytest

from rescind._states import Outcome, RecordState, UndoOutcome
from rescind.ledger import EffectAddress, Ledger, install
from rescind.ledger._rebuild import Line, rebuild
from tests.rescind.ledger.postgres import Server
from tests.rescind.ledger.steps import EXACT, applied, go, in_doubt, stuck, undoing

At = Callable[..., EffectAddress]


async def in_every_state(ledger: Ledger, address: At) -> str:
    """A saga with effects in several states; its id."""
    await applied(ledger, address("a"))
    await in_doubt(ledger, address("d"))
    await applied(ledger, address("c"))
    await stuck(ledger, address("b"))
    attempt = (await undoing(ledger, address("c"))).attempt
    await ledger.undo_finish(address("c"), attempt, UndoOutcome.UNDONE, EXACT)
    await ledger.report(address().saga, 0, {"steps": ["a", "b"]})
    return address().saga


def forge(admin_dsn: str, statement: str, saga: str) -> None:
    """Write to the tables as an administrator who means it."""
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("set session_replication_role = replica")
        connection.execute(statement.encode(), (saga,))


async def test_untouched(ledger: Ledger, address: At) -> None:
    """Every chain is whole and every row is as its journal says, in every state."""
    saga = await in_every_state(ledger, address)
    verified = await ledger.verify(saga)
    assert (verified.sagas, verified.effects, verified.differences) == (1, 4, [])
    view = await ledger.show(saga)
    assert view is not None
    assert verified.lines == len(view.journal)


async def test_statement_that_changed_nothing(ledger: Ledger, address: At) -> None:
    """A saga that was only locked has a row and no line, and that is no difference."""
    at = address()
    await ledger.finish(at, 1, Outcome.NOTHING)
    verified = await ledger.verify(at.saga)
    assert (verified.sagas, verified.lines, verified.differences) == (1, 0, [])


@pytest.mark.parametrize(
    ("forgery", "said"),
    [
        (
            'update rescind.journal set body = body || \'{"run": "x"}\' where saga = %s and n = 1',
            "line 1 of the journal is missing or was changed",
        ),
        (
            "update rescind.journal set at = at + interval '1 us' where saga = %s and n = 2",
            "line 2 of the journal is missing or was changed",
        ),
        (
            "update rescind.journal set event = 'begin' where saga = %s and n = 2",
            "line 2 of the journal is missing or was changed",
        ),
        (
            "delete from rescind.journal where saga = %s and n = 3",
            "line 3 of the journal is missing or was changed",
        ),
        (
            "delete from rescind.journal where saga = %s and n > 3",
            "line 4 of the journal is missing, or the row's own count was changed",
        ),
        ("delete from rescind.saga where id = %s", "the saga has no row"),
        ("update rescind.saga set epoch = 7 where id = %s", "the saga: epoch is 7, and its journal says 0"),
        (
            "update rescind.effect set state = 'undone' where saga = %s and key like '%%/b'",
            "state is 'undone', and its journal says 'stuck'",
        ),
        (
            "update rescind.effect set result = '{\"id\": 2}' where saga = %s and key like '%%/a'",
            "result is {'id': 2}, and its journal says {'id': 1}",
        ),
        (
            "update rescind.effect set landing = landing + interval '1 us' where saga = %s and key like '%%/d'",
            "landing is",
        ),
        (
            "delete from rescind.effect where saga = %s and key like '%%/b'",
            "has no row, and its journal says 'stuck'",
        ),
        (
            "insert into rescind.effect (key, saga, seq, state) select id || '/z', id, '{9}', 'undone'"
            " from rescind.saga where id = %s",
            "has a row ('undone'), and no line of the journal",
        ),
    ],
)
async def test_forged(ledger: Ledger, admin_dsn: str, address: At, forgery: str, said: str) -> None:
    """The one place that was forged is named, and nothing else is."""
    saga = await in_every_state(ledger, address)
    forge(admin_dsn, forgery, saga)
    (difference,) = (await ledger.verify(saga)).differences
    assert difference.saga == saga
    assert said in difference.what


async def test_page_by_page(ledger: Ledger, admin_dsn: str, address: At) -> None:
    """A small page finds the same."""
    prefix = address().saga.removesuffix("/run")
    for number in range(5):
        saga = f"{prefix}-{number}/run"
        await applied(ledger, EffectAddress(saga, 0, f"{saga}/a", (1,)))
    forge(admin_dsn, "update rescind.saga set owner = 'x' where id = %s", f"{prefix}-4/run")
    verified = await ledger.verify(f"{prefix}-", page=2)
    assert verified.sagas == 5
    assert [each.saga for each in verified.differences] == [f"{prefix}-4/run"]


def test_rebuilt_from_lines() -> None:
    """Later lines win, and what no line names is blank."""
    lines = [
        Line(1, 0, "begin", '{"key": "k", "saga": {"state": "open"}, "effect": {"state": "intended"}}', ""),
        Line(2, 0, "finish", '{"key": "k", "effect": {"state": "applied", "result": {"id": 1}}}', ""),
    ]
    rebuilt = rebuild("s", lines)
    effect = rebuilt.effects["k"]
    assert (rebuilt.saga["state"], effect["state"], effect["result"], effect["fenced"]) == (
        "open",
        RecordState.APPLIED,
        {"id": 1},
        False,
    )


@pytest.fixture
def own(server: Server) -> Iterator[tuple[str, str]]:
    """A ledger of its own: for its administrator, and for a worker."""
    dsn = server.create_database("verified")
    install(dsn, workers=["worker"])
    yield dsn, server.dsn("verified", "worker")
    server.drop_database("verified")


def run(dsn: str) -> "subprocess.CompletedProcess[str]":
    """Run the command."""
    command = [sys.executable, "-m", "rescind.ledger", "verify", "--dsn", dsn]
    return subprocess.run(command, check=False, capture_output=True, text=True)


async def test_command(own: tuple[str, str], address: At) -> None:
    """It ends with 0 and the counts, or with 3 and each difference; with 1 where nobody answers."""
    admin, worker = own
    async with Ledger(worker, connections=1) as ledger:
        await go(ledger, address())
    whole = run(worker)
    counts = "1 sagas, 1 effects, 1 lines of the journal"
    assert whole.stdout == f"{counts}: every chain is whole, and every row is as its journal says.\n"
    assert whole.returncode == 0
    forge(admin, "update rescind.effect set attempt = 9 where saga = %s", address().saga)
    forged = run(worker)
    assert forged.returncode == 3
    assert forged.stdout.endswith("attempt is 9, and its journal says 1\n")
    assert "stop the workers" in forged.stderr
    away = run("postgresql://127.0.0.1:1/x")
    assert (away.returncode, "was not compared" in away.stderr) == (1, True)
