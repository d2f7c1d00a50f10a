"""The PostgreSQL tools against a real server: what they do, find, undo, and leave alone."""

import asyncio
import json
import time
from typing import LiteralString

import psycopg
import pytest

from activities._postgres import Cursor, once
from activities.postgres import (
    AddColumn,
    AddedColumn,
    RenamedTable,
    RenameTable,
    add_column,
    drop_column,
    find_added_column,
    find_renamed_table,
    rename_table,
    rename_table_back,
)
from rescind import Absent, Applied, Call, Grade, Receipt
from rescind.evidence import NOTHING, Conflict, NothingHappened, Refused, weigh
from rescind.evidence.postgres import proves
from tests.activities.attempts import Remembering
from tests.activities.postgres_world import ALIAS, run, snapshot
from tests.faults import Fault
from tests.faults.postgres import PostgresFaults

RENAME = RenameTable(database="app", table="orders", to="purchases")
COLUMN = AddColumn(
    database="app", table="orders", column="note", type="varchar(20)", default="none", nullable=False
)


def renaming(request: RenameTable = RENAME, key: str = "rsc-1") -> Call[RenameTable]:
    return Call(request=request, key=key, undo_key=f"{key}-undo")


def adding(request: AddColumn = COLUMN, key: str = "rsc-1") -> Call[AddColumn]:
    return Call(request=request, key=key, undo_key=f"{key}-undo")


def renamed(call: Call[RenameTable], result: RenamedTable) -> Receipt[RenameTable, RenamedTable]:
    return Receipt(call=call, result=result)


def added(call: Call[AddColumn], result: AddedColumn) -> Receipt[AddColumn, AddedColumn]:
    return Receipt(call=call, result=result)


async def test_a_renamed_table_is_found_and_renamed_back(database: str) -> None:
    """The lookup answers with the result of the call, and the undo leaves no trace, not even of marks."""
    before = snapshot(database)
    result = await rename_table(renaming())
    assert run(database, "SELECT count(*) FROM purchases") == [(2,)]
    assert await find_renamed_table(renaming()) == Applied[RenamedTable](result=result)
    assert (await rename_table_back(renamed(renaming(), result))).grade is Grade.EXACT
    assert snapshot(database) == before
    assert await find_renamed_table(renaming()) == Absent()


async def test_renaming_twice_with_one_key(database: str) -> None:
    """The second call has the first one's result and does nothing more."""
    first = await rename_table(renaming())
    after = snapshot(database)
    assert await rename_table(renaming()) == first
    assert snapshot(database) == after


async def test_undoing_a_renaming_twice(database: str) -> None:
    """The second undo finds nothing to undo and changes nothing."""
    before = snapshot(database)
    receipt = renamed(renaming(), await rename_table(renaming()))
    await rename_table_back(receipt)
    assert (await rename_table_back(receipt)).grade is Grade.NOTHING
    assert snapshot(database) == before


async def test_undoing_a_renaming_that_never_was(database: str) -> None:
    """Nothing is undone, although a table of the new name is there."""
    run(database, "CREATE TABLE purchases (id int)")
    before = snapshot(database)
    receipt = renamed(renaming(), RenamedTable(oid=1, definition="x"))
    assert (await rename_table_back(receipt)).grade is Grade.NOTHING
    assert snapshot(database) == before


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        (RenameTable(database="app", table="missing", to="x"), "no table public.missing"),
        (RenameTable(database="app", table="orders", to="taken"), "already exists"),
        (RenameTable(database="other", table="orders", to="x"), "no database 'other'.*known: app"),
        (RenameTable(database="app", table='orders"; DROP TABLE orders; --', to="x"), "no table"),
    ],
)
async def test_a_renaming_that_cannot_be(database: str, request_: RenameTable, why: str) -> None:
    """It is refused and nothing has changed."""
    run(database, "CREATE TABLE taken (id int)")
    before = snapshot(database)
    with pytest.raises(Refused, match=why):
        await rename_table(renaming(request_))
    assert snapshot(database) == before
    assert run(database, "SELECT count(*) FROM orders") == [(2,)]


async def test_renaming_a_table_to_its_own_name(database: str) -> None:
    """It changes nothing and says so, and its undo changes nothing."""
    before = snapshot(database)
    call = renaming(RenameTable(database="app", table="orders", to="orders"))
    result = await rename_table(call)
    assert not result.changed
    assert (await rename_table_back(renamed(call, result))).grade is Grade.NOTHING
    assert snapshot(database) == before


@pytest.mark.parametrize(
    "theirs",
    [
        "CREATE TABLE orders (id int)",
        "ALTER TABLE purchases ADD COLUMN theirs int",
        "ALTER TABLE purchases RENAME TO elsewhere",
        "DROP TABLE purchases; CREATE TABLE purchases (id int PRIMARY KEY, item text NOT NULL)",
        "CREATE INDEX theirs ON purchases (id, item)",
    ],
)
async def test_the_renamed_table_was_changed_since(database: str, theirs: str) -> None:
    """Renaming back is a conflict, and their change survives."""
    result = await rename_table(renaming())
    run(database, theirs)
    after = snapshot(database)
    with pytest.raises(Conflict):
        await rename_table_back(renamed(renaming(), result))
    assert snapshot(database) == after


@pytest.mark.parametrize("theirs", ["DROP TABLE purchases", "ALTER TABLE purchases RENAME TO orders"])
async def test_the_renaming_was_taken_back_by_hand(database: str, theirs: str) -> None:
    """There is nothing to undo, and the mark goes all the same."""
    result = await rename_table(renaming())
    run(database, theirs)
    assert (await rename_table_back(renamed(renaming(), result))).grade is Grade.NOTHING
    assert await find_renamed_table(renaming()) == Absent()


async def test_an_added_column_is_found_and_dropped(database: str) -> None:
    """The column has its default in the old rows, and the undo leaves no trace."""
    before = snapshot(database)
    result = await add_column(adding())
    assert run(database, "SELECT DISTINCT note FROM orders") == [("none",)]
    assert await find_added_column(adding()) == Applied[AddedColumn](result=result)
    assert await add_column(adding()) == result
    assert (await drop_column(added(adding(), result))).grade is Grade.EXACT
    assert (await drop_column(added(adding(), result))).grade is Grade.NOTHING
    assert snapshot(database) == before


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"column": "item"}, "there is a column 'item'"),
        ({"table": "missing"}, "no table"),
        ({"type": "no_such_type"}, "no type"),
        ({"type": "int primary key"}, "syntax error"),
        ({"type": "int", "default": "abc"}, "invalid input syntax"),
        ({"default": None}, "contains null values"),
    ],
)
async def test_a_column_that_cannot_be_added(database: str, changes: dict[str, object], why: str) -> None:
    """It is refused, nothing has changed, and the undo of the refused call changes nothing either."""
    before = snapshot(database)
    call = adding(COLUMN.model_copy(update=changes))
    with pytest.raises(Refused, match=why):
        await add_column(call)
    assert await find_added_column(call) == Absent()
    receipt = added(call, AddedColumn(table=1, number=2, definition="x"))
    assert (await drop_column(receipt)).grade is Grade.NOTHING
    assert snapshot(database) == before


@pytest.mark.parametrize(
    "theirs",
    [
        "UPDATE orders SET note = 'mine' WHERE id = 2",
        "ALTER TABLE orders ALTER note TYPE text",
        "ALTER TABLE orders RENAME note TO remark",
        "ALTER TABLE orders ADD CHECK (length(note) > 1)",
        "CREATE INDEX theirs ON orders (id, note)",
        "CREATE VIEW theirs AS SELECT note FROM orders",
        "ALTER TABLE orders RENAME TO elsewhere",
        "ALTER TABLE orders DROP note; ALTER TABLE orders ADD note varchar(20) NOT NULL DEFAULT 'none'",
        "COMMENT ON COLUMN orders.note IS 'theirs'",
    ],
)
async def test_the_added_column_is_used_since(database: str, theirs: str) -> None:
    """Dropping it is a conflict, and data and everything built on it survive."""
    result = await add_column(adding())
    run(database, theirs)
    after = snapshot(database)
    with pytest.raises(Conflict):
        await drop_column(added(adding(), result))
    assert snapshot(database) == after


@pytest.mark.parametrize("theirs", ["ALTER TABLE orders DROP note", "DROP TABLE orders"])
async def test_the_added_column_was_dropped_by_hand(database: str, theirs: str) -> None:
    """There is nothing to undo."""
    result = await add_column(adding())
    run(database, theirs)
    assert (await drop_column(added(adding(), result))).grade is Grade.NOTHING
    assert await find_added_column(adding()) == Absent()


async def test_a_column_of_a_type_without_equality(database: str) -> None:
    """Its default is told from data all the same."""
    call = adding(AddColumn(database="app", table="orders", column="note", type="json", default="{}"))
    before = snapshot(database)
    assert (await drop_column(added(call, await add_column(call)))).grade is Grade.EXACT
    assert snapshot(database) == before
    result = await add_column(call)
    run(database, """UPDATE orders SET note = '{"a": 1}' WHERE id = 1""")
    with pytest.raises(Conflict, match="has data in it"):
        await drop_column(added(call, result))


async def test_many_first_calls_at_once(database: str) -> None:
    """All of them come through, in spite of the table of marks that each finds missing; so do their undos."""
    run(database, "".join(f"CREATE TABLE t{n} (id int);" for n in range(8)))
    before = snapshot(database)
    calls = [renaming(RenameTable(database="app", table=f"t{n}", to=f"u{n}"), f"rsc-{n}") for n in range(8)]
    results = await asyncio.gather(*(rename_table(call) for call in calls))
    receipts = [renamed(call, result) for call, result in zip(calls, results, strict=True)]
    undone = await asyncio.gather(*(rename_table_back(receipt) for receipt in receipts))
    assert {each.grade for each in undone} == {Grade.EXACT}
    assert snapshot(database) == before


async def test_calls_undos_and_lookups_in_one_another_s_way(database: str) -> None:
    """The table of marks comes and goes with the last of them, and nobody trips over it."""
    run(database, "".join(f"CREATE TABLE t{n} (id int);" for n in range(4)))
    before = snapshot(database)

    async def there_and_back(name: str) -> None:
        for turn in range(12):
            call = renaming(
                RenameTable(database="app", table=f"t{name}", to=f"u{name}"), f"rsc-{name}-{turn}"
            )
            assert isinstance(await find_renamed_table(call), Absent)
            result = await rename_table(call)
            assert await find_renamed_table(call) == Applied[RenamedTable](result=result)
            await rename_table_back(renamed(call, result))

    await asyncio.gather(*(there_and_back(str(n)) for n in range(4)))
    assert snapshot(database) == before


async def test_the_mark_of_another_saga_stays(database: str) -> None:
    """One call's undo leaves the other's mark, and the last undo drops the table of marks."""
    before = snapshot(database)
    column, table = adding(key="rsc-a"), renaming(key="rsc-b")
    a, b = await add_column(column), await rename_table(table)
    await rename_table_back(renamed(table, b))
    assert await find_added_column(column) == Applied[AddedColumn](result=a)
    await drop_column(added(column, a))
    assert snapshot(database) == before


async def test_a_table_of_marks_made_beforehand(database: str) -> None:
    """An administrator's table is used and never dropped."""
    run(
        database,
        "CREATE SCHEMA rescind_marks; CREATE TABLE rescind_marks.rescind_effects "
        "(key text PRIMARY KEY, tool text NOT NULL, effect jsonb NOT NULL, made_at timestamptz DEFAULT now())",
    )
    before = snapshot(database)
    await rename_table_back(renamed(renaming(), await rename_table(renaming())))
    assert snapshot(database) == before


async def test_the_lookup_waits_for_an_open_transaction(database: str) -> None:
    """While an attempt of the key may still commit, the lookup does not say absent."""
    async with await psycopg.AsyncConnection.connect(database) as attempt:
        await attempt.execute("SELECT pg_advisory_xact_lock(hashtextextended('rsc-1', 0))")
        lookup = asyncio.create_task(find_renamed_table(renaming()))
        await asyncio.sleep(0.5)
        assert not lookup.done()
        await attempt.rollback()
        assert await lookup == Absent()


async def test_a_table_that_is_in_use(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The call gives up within its time, and it is proven that nothing happened."""
    monkeypatch.setattr("activities._postgres.time_left", lambda: 1.0)
    before = snapshot(database)
    async with await psycopg.AsyncConnection.connect(database) as reader:
        await reader.execute("SELECT * FROM orders")
        with pytest.raises(NothingHappened, match=r"lock timeout|transaction timeout"):
            await rename_table(renaming())
    assert snapshot(database) == before


async def test_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing happened, another attempt makes sense, and no password is shown."""
    monkeypatch.setenv("RESCIND_DATABASES", '{"app": "postgresql://me:hush@127.0.0.1:1/app"}')
    with pytest.raises(NothingHappened) as caught:
        await rename_table(renaming())
    assert "hush" not in str(caught.value)


async def test_an_address_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """The call is refused, and neither the error nor its cause shows the address."""
    monkeypatch.setenv("RESCIND_DATABASES", '{"app": "me hush"}')
    with pytest.raises(Refused, match="not usable") as caught:
        await rename_table(renaming())
    assert caught.value.__cause__ is None
    assert "hush" not in str(caught.value)


async def test_a_worker_that_is_stopped_before_its_commit(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server ends the transaction at the attempt's deadline, and the late commit proves that nothing happened."""
    monkeypatch.setattr("activities._postgres.time_left", lambda: 0.5)
    before = snapshot(database)

    async def change(cursor: Cursor) -> RenamedTable:
        await cursor.execute("ALTER TABLE orders RENAME TO purchases")
        return RenamedTable(oid=1, definition="x", changed=False)

    async def stopped(cursor: Cursor) -> RenamedTable:
        result = await change(cursor)
        time.sleep(1)  # noqa: ASYNC251  (the whole process stands still)
        return result

    with pytest.raises(psycopg.errors.TransactionTimeout) as caught:
        await once("app", "rsc-1", "postgres.rename_table", RenamedTable, stopped)
    assert weigh(caught.value, proves) == NOTHING
    assert snapshot(database) == before


@pytest.mark.parametrize(
    ("statement", "evidence"),
    [
        ("SELECT pg_terminate_backend(pg_backend_pid())", NothingHappened),
        ("DO $$ BEGIN RAISE EXCEPTION 'declined'; END $$", Refused),
        ("SELECT pg_sleep(9)", NothingHappened),
        ("INSERT INTO orders VALUES (1, 'twice')", Refused),
    ],
)
async def test_an_error_before_the_commit(
    database: str, statement: LiteralString, evidence: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is proven that nothing happened, a lost connection included; whether to try again is by its code."""
    monkeypatch.setattr("activities._postgres.time_left", lambda: 2.0)
    before = snapshot(database)

    async def change(cursor: Cursor) -> RenamedTable:
        await cursor.execute(statement)
        return RenamedTable(oid=1, definition="x")

    with pytest.raises(evidence):
        await once("app", "rsc-1", "postgres.rename_table", RenamedTable, change)
    assert snapshot(database) == before


async def test_a_commit_that_hangs(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server ends its transaction while the attempt can still report: psycopg waits for that when it is cut off."""

    async def cut_off(call: Call[RenameTable]) -> RenamedTable:
        async with asyncio.timeout(1):
            return await rename_table(call)

    before = snapshot(database)
    async with PostgresFaults(database) as faults:
        monkeypatch.setenv("RESCIND_DATABASES", json.dumps({ALIAS: faults.through(database)}))
        await faults.plan("rename table", [Fault.HANG_BEFORE])
        began = time.monotonic()
        with pytest.raises((TimeoutError, psycopg.Error)):
            await Remembering().run_async(cut_off, renaming(), seconds=4)
        assert time.monotonic() - began < 4
    assert snapshot(database) == before
