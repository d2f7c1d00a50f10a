"""The journal: it is only added to, it is chained, and it alone tells every row."""

from collections.abc import Callable

import psycopg
import pytest

from rescind._states import RECORD_TRANSITIONS, SAGA_TRANSITIONS
from rescind.ledger import EffectAddress, Ledger
from tests.rescind.ledger.steps import applied, stuck, undone

At = Callable[..., EffectAddress]


@pytest.mark.parametrize(
    "statement",
    ["update rescind.journal set event = 'x'", "delete from rescind.journal", "truncate rescind.journal"],
)
async def test_change_of_a_line(ledger: Ledger, admin_dsn: str, address: At, statement: str) -> None:
    """Not even the administrator changes the journal by accident."""
    await undone(ledger, address())
    with (
        psycopg.connect(admin_dsn) as connection,
        pytest.raises(psycopg.Error, match="only ever added to"),
    ):
        connection.execute(statement.encode())


async def test_untouched_journal(ledger: Ledger, address: At) -> None:
    """Its chain is whole."""
    at = address()
    await undone(ledger, at)
    assert await ledger.verify_journal(at.saga) is None


@pytest.mark.parametrize(
    ("forgery", "line"),
    [
        ('update rescind.journal set body = body || \'{"run": "other"}\' where saga = %s and n = 1', 1),
        ("update rescind.journal set at = at + interval '1 us' where saga = %s and n = 2", 2),
        ("delete from rescind.journal where saga = %s and n = 3", 3),
        ("delete from rescind.journal where saga = %s and n > 3", 4),
    ],
)
async def test_forged_journal(ledger: Ledger, admin_dsn: str, address: At, forgery: str, line: int) -> None:
    """The first line that was changed or is missing is named."""
    at = address()
    await undone(ledger, at)
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("alter table rescind.journal disable trigger all")
        connection.execute(forgery.encode(), (at.saga,))
        connection.execute("alter table rescind.journal enable trigger all")
    assert await ledger.verify_journal(at.saga) == line


async def test_rows_from_the_journal_alone(ledger: Ledger, admin_dsn: str, address: At) -> None:
    """Every effect and saga of this database can be rebuilt from its lines."""
    await applied(ledger, address())
    await stuck(ledger, address("b"))
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("set search_path = rescind")
        effects = connection.execute(
            "select to_jsonb(e), to_jsonb(blank_effect()) || r.row"
            " from effect as e left join rebuilt_effects as r using (key) where broken_line(e.saga) is null"
        ).fetchall()
        sagas = connection.execute(
            "select to_jsonb(s) - 'n' - 'head', r.row from saga as s left join rebuilt_sagas as r"
            " on r.saga = s.id where s.n > 0 and broken_line(s.id) is null"
        ).fetchall()
    assert len(effects) > 1
    assert [row for row, rebuilt in effects if row != rebuilt] == []
    assert [row for row, rebuilt in sagas if row != rebuilt] == []


async def test_who_made_each_change(ledger: Ledger, admin_dsn: str, address: At) -> None:
    """Every change of a state in this database's journal was made by a statement that the tables name."""
    await applied(ledger, address())
    await stuck(ledger, address("b"))
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("set search_path = rescind")
        records = _changes(connection, "effect", "body ->> 'key'")
        sagas = _changes(connection, "saga", "saga")
    legal = {(t.from_, t.to, by) for t in RECORD_TRANSITIONS for by in t.by}
    legal_sagas: set[tuple[object, ...]] = {(t.from_, t.to, by) for t in SAGA_TRANSITIONS for by in t.by}
    # A saga that opens and closes within one statement has one line for both.
    legal_sagas |= {(a, "closed", by) for a, to, by in legal_sagas if to == "unwinding"}
    assert records
    assert records - legal == set()
    assert {change for change in sagas if change[0] is not None} - legal_sagas == set()


def _changes(
    connection: psycopg.Connection[tuple[object, ...]], subject: str, name: str
) -> set[tuple[object, ...]]:
    rows = connection.execute(
        f"select distinct lag(state) over (partition by name order by saga, n), state, event from ("
        f" select saga, n, event, {name} as name, body -> '{subject}' ->> 'state' as state"
        f" from rescind.journal where body -> '{subject}' ? 'state'"
        " and rescind.broken_line(saga) is null) as lines".encode()
    )
    return set(rows.fetchall())
