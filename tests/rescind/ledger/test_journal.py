"""The journal: it is only added to, and every line was written by a statement that may make its change."""

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


async def test_who_made_each_change(ledger: Ledger, admin_dsn: str, address: At) -> None:
    """Every change of a state in this database's journal was made by a statement that the tables name."""
    await applied(ledger, address())
    await stuck(ledger, address("b"))
    forged = list({each.saga for each in (await ledger.verify()).differences})
    with psycopg.connect(admin_dsn) as connection:
        records = _changes(connection, "effect", "body ->> 'key'", forged)
        sagas = _changes(connection, "saga", "saga", forged)
    legal = {(t.from_, t.to, by) for t in RECORD_TRANSITIONS for by in t.by}
    legal_sagas: set[tuple[object, ...]] = {(t.from_, t.to, by) for t in SAGA_TRANSITIONS for by in t.by}
    # A saga that opens and closes within one statement has one line for both.
    legal_sagas |= {(a, "closed", by) for a, to, by in legal_sagas if to == "unwinding"}
    assert records
    assert records - legal == set()
    assert {change for change in sagas if change[0] is not None} - legal_sagas == set()


def _changes(
    connection: psycopg.Connection[tuple[object, ...]], subject: str, name: str, but: list[str]
) -> set[tuple[object, ...]]:
    rows = connection.execute(
        f"select distinct lag(state) over (partition by name order by saga, n), state, event from ("
        f" select saga, n, event, {name} as name, body -> '{subject}' ->> 'state' as state"
        f" from rescind.journal where body -> '{subject}' ? 'state'"
        " and saga <> all (%s)) as lines".encode(),
        (but,),
    )
    return set(rows.fetchall())
