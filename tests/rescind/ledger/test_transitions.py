"""The table of legal transitions and the database say the same."""

from itertools import product

import psycopg
import pytest

from rescind._states import RECORD_TRANSITIONS, SAGA_TRANSITIONS, RecordState, SagaState
from tests.rescind.ledger.postgres import Server


@pytest.fixture
def connection(server: Server, admin_dsn: str) -> psycopg.Connection[tuple[object, ...]]:
    assert admin_dsn
    return psycopg.connect(server.dsn("ledger"))


def test_every_change_of_a_record(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    """The database takes exactly the changes that the table names."""
    legal = {(each.from_, each.to) for each in RECORD_TRANSITIONS}
    with connection:
        connection.execute("insert into rescind.saga (id) values ('t')")
        for before, after in product((None, *RecordState), RecordState):
            taken = _taken(connection, "effect", "key, saga, seq, state", "'k', 't', '{1}',", before, after)
            assert taken == (before == after or (before, after) in legal), (before, after)
        connection.rollback()


def test_every_change_of_a_saga(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    """The database takes exactly the changes that the table names."""
    legal = {(each.from_, each.to) for each in SAGA_TRANSITIONS}
    with connection:
        for before, after in product((None, *SagaState), SagaState):
            taken = _taken(connection, "saga", "id, state", "'u',", before, after)
            assert taken == (before == after or (before, after) in legal), (before, after)
        connection.rollback()


def _taken(
    connection: psycopg.Connection[tuple[object, ...]],
    table: str,
    columns: str,
    values: str,
    before: str | None,
    after: str,
) -> bool:
    insert = f"insert into rescind.{table} ({columns}) values ({values} %s)".encode()
    try:
        with connection.transaction(force_rollback=True):
            if before is None:
                connection.execute(insert, (after,))
                return True
            connection.execute(f"alter table rescind.{table} disable trigger birth".encode())
            connection.execute(insert, (before,))
            key = columns.partition(",")[0]
            name = values.partition(",")[0]
            connection.execute(
                f"update rescind.{table} set state = %s where {key} = {name}".encode(), (after,)
            )
    except psycopg.Error as error:
        if error.sqlstate != "RS003":
            raise
        return False
    return True
