"""Migrations against a real server: all or nothing, taken back only when nobody built on them."""

import asyncio

import pytest

from activities.postgres_migration import Migrate, Migration, find_migration, migrate, migrate_back
from rescind import Absent, Applied, Call, Grade, Receipt
from rescind.evidence import Conflict, Refused
from tests.activities.postgres_world import run, snapshot

UP = """
CREATE TABLE bills (id int PRIMARY KEY, "order" int REFERENCES orders);
INSERT INTO bills VALUES (1, 1); -- 100 % of them
ALTER TABLE orders ADD COLUMN paid boolean;
CREATE FUNCTION pay(bill int) RETURNS int LANGUAGE sql BEGIN ATOMIC
    SELECT CASE WHEN bill > 0 THEN bill END;
    SELECT bill;
END;
DO $$ BEGIN PERFORM 1; END $$;
"""
DOWN = "DROP FUNCTION pay; ALTER TABLE orders DROP COLUMN paid; DROP TABLE bills;"


def call(up: str = UP, down: str = DOWN, **more: str) -> Call[Migrate]:
    asked = Migrate.model_validate({"database": "app", "name": "bills", "up": up, "down": down, **more})
    return Call(request=asked, key="rsc-1", undo_key="rsc-1-undo")


def receipt(made: Call[Migrate], result: Migration) -> Receipt[Migrate, Migration]:
    return Receipt(call=made, result=result)


async def test_a_migration_is_found_and_taken_back(database: str) -> None:
    """It runs once for two calls, the lookup knows its result, and the undo is graded as was declared."""
    before = snapshot(database)
    result = await migrate(call())
    after = snapshot(database)
    assert run(database, "SELECT * FROM bills") == [(1, 1)]
    assert await migrate(call()) == result
    assert await find_migration(call()) == Applied[Migration](result=result)
    assert snapshot(database) == after
    undone = await migrate_back(receipt(call(), result))
    assert (undone.grade, undone.detail) == (
        Grade.EQUIVALENT,
        "what the migration's own down leaves different",
    )
    assert snapshot(database) == before
    assert (await migrate_back(receipt(call(), result))).grade is Grade.NOTHING
    assert snapshot(database) == before


async def test_a_migration_that_is_declared_exact(database: str) -> None:
    """The undo says so, and the result survives the way through the ledger as JSON."""
    made = call(restores="exact")
    result = Migration.model_validate_json((await migrate(made)).model_dump_json())
    assert (await migrate_back(receipt(made, result))).grade is Grade.EXACT


async def test_a_migration_that_fails_in_the_middle(database: str) -> None:
    """Nothing of it stays, and neither down nor the undo touches anything."""
    before = snapshot(database)
    bad = call(
        up="CREATE TABLE bills (id int); INSERT INTO orders VALUES (1, 'again')", down="DROP TABLE orders"
    )
    with pytest.raises(Refused, match="duplicate key"):
        await migrate(bad)
    assert await find_migration(bad) == Absent()
    assert (await migrate_back(receipt(bad, Migration(name="bills", touched={})))).grade is Grade.NOTHING
    assert snapshot(database) == before


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE bills (id int); COMMIT",
        "CREATE TABLE bills (id int);/* a /* nested */ comment */ commit",
        "CREATE TABLE bills (id int); -- a comment\rEND",
        "CREATE INDEX CONCURRENTLY ON orders (item)",
        "create unique index concurrently if not exists i on orders (item)",
        "DROP INDEX CONCURRENTLY orders_item_idx",
        "REINDEX (VERBOSE) TABLE CONCURRENTLY orders",
        "VACUUM orders",
        "SELECT E'it\\'s; '; ROLLBACK",
        "SELECT $a$;$b$; $a$; BEGIN",
        "PREPARE TRANSACTION 'x'",
        "ALTER SYSTEM SET work_mem = '1GB'",
        "CREATE DATABASE other",
        "COPY orders FROM STDIN",
        "CREATE FUNCTION f() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT 1; END; COMMIT",
    ],
)
async def test_what_cannot_be_in_a_transaction(database: str, text: str) -> None:
    """It is refused beforehand, in up and in down."""
    before = snapshot(database)
    for bad in (call(up=text), call(down=text)):
        with pytest.raises(Refused, match="can't be part of a transaction"):
            await migrate(bad)
    assert snapshot(database) == before


@pytest.mark.parametrize(
    "text",
    [
        "COMMENT ON TABLE orders IS 'first; COMMIT; then'",
        'CREATE TABLE "; COMMIT; " (id int)',
        "CREATE TABLE t (id int) /* ; COMMIT; */ -- ; COMMIT;",
        "DO $x$ BEGIN EXECUTE 'SELECT 1'; END; $x$",
    ],
)
async def test_what_only_looks_like_the_end_of_a_transaction(database: str, text: str) -> None:
    """It runs."""
    assert (await migrate(call(up=text, down="SELECT 1"))).changed


@pytest.mark.parametrize(
    "theirs",
    [
        "INSERT INTO bills VALUES (2, 2)",
        'UPDATE bills SET "order" = 2',
        "ALTER TABLE bills ADD COLUMN theirs int",
        "ALTER TABLE orders ALTER paid SET DEFAULT false",
        "DROP TABLE bills",
        "CREATE VIEW theirs AS SELECT paid FROM orders",
    ],
)
async def test_the_migration_was_built_on_since(database: str, theirs: str) -> None:
    """Taking it back is a conflict, and their change survives."""
    result = await migrate(call())
    run(database, theirs)
    after = snapshot(database)
    with pytest.raises(Conflict):
        await migrate_back(receipt(call(), result))
    assert snapshot(database) == after


async def test_rows_of_the_application(database: str) -> None:
    """Rows that came into a table which was there before are no conflict, and stay."""
    result = await migrate(call())
    run(database, "INSERT INTO orders VALUES (3, 'bread')")
    await migrate_back(receipt(call(), result))
    assert run(database, "SELECT count(*) FROM orders") == [(3,)]


async def test_somebody_elses_tables_in_the_meantime(database: str) -> None:
    """What others make, change and drop while `up` runs is not the migration's, and nothing to its undo."""
    run(database, "CREATE TABLE theirs (id int); CREATE TABLE also_theirs (id int)")
    made = call(up="CREATE TABLE bills (id int); SELECT pg_sleep(1)", down="DROP TABLE bills")
    running = asyncio.create_task(migrate(made))
    await asyncio.sleep(0.5)
    await asyncio.to_thread(
        run, database, "CREATE TABLE newer (id int); ALTER TABLE theirs RENAME TO changed"
    )
    result = await running
    assert [each.definition.name for each in result.touched.values()] == ["public.bills"]
    run(database, "DROP TABLE newer, changed, also_theirs")
    assert (await migrate_back(receipt(made, result))).grade is Grade.EQUIVALENT


async def test_everything_that_a_migration_can_change(database: str) -> None:
    """Its undo compares each table that was made, altered, renamed, indexed, or got a trigger or a constraint."""
    tables = ("altered", "renamed", "indexed", "triggered", "checked", "referred")
    for table in tables:
        run(database, f"CREATE TABLE {table} (id int PRIMARY KEY); CREATE INDEX ON {table} (id)")
    result = await migrate(
        call(
            up="""
            CREATE TABLE made (id int REFERENCES referred);
            ALTER TABLE altered ADD COLUMN more text;
            ALTER TABLE renamed RENAME TO named;
            CREATE UNIQUE INDEX ON indexed (id);
            CREATE TRIGGER t BEFORE UPDATE ON triggered FOR EACH ROW
                EXECUTE FUNCTION suppress_redundant_updates_trigger();
            ALTER TABLE checked ADD CHECK (id > 0);
            CREATE VIEW seen AS SELECT id FROM orders;
            """
        )
    )
    names = {each.definition.table for each in result.touched.values()}
    assert names == {"made", "altered", "named", "indexed", "triggered", "checked", "seen"}
