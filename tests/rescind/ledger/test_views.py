"""What a reader finds in the views."""

from collections.abc import Callable

import psycopg

from rescind._states import Outcome, RecordState
from rescind.ledger import EffectAddress, Ledger
from tests.rescind.ledger.postgres import Server
from tests.rescind.ledger.steps import applied, begin, go

At = Callable[..., EffectAddress]


def recovered(server: Server, at: EffectAddress) -> tuple[list[str], bool]:
    """The journal's events that say so, and whether the effect does now."""
    with psycopg.connect(server.dsn("ledger", "reader")) as connection:
        lines = connection.execute(
            "select event from rescind.history where saga = %s and recovered_by_lookup order by n", (at.saga,)
        )
        events = [str(event) for (event,) in lines]
        row = connection.execute("select recovered_by_lookup from rescind.effects where key = %s", (at.key,))
        found = row.fetchone()
    assert found is not None
    return events, found[0]


async def test_an_effect_that_its_call_reported(ledger: Ledger, server: Server, address: At) -> None:
    """Nothing says that it was recovered."""
    at = address()
    await applied(ledger, at)
    assert recovered(server, at) == ([], False)


async def test_recovered_when_it_was_settled(ledger: Ledger, server: Server, address: At) -> None:
    """The line of the settling says so, and the effect does until its own attempt reports."""
    at = address()
    attempt = (await go(ledger, at)).attempt
    await ledger.fence(at)
    await ledger.settle(at, RecordState.APPLIED, result={"id": 1})
    assert recovered(server, at) == (["settle"], True)
    await ledger.finish(at, attempt, Outcome.APPLIED, result={"id": 1})
    assert recovered(server, at) == (["settle"], False)


async def test_recovered_by_the_next_attempt(ledger: Ledger, server: Server, address: At) -> None:
    """The line of the attempt that asked the lookup says so."""
    at = address()
    await ledger.finish(at, (await go(ledger, at, ttl=0)).attempt, Outcome.UNKNOWN)
    second = await go(ledger, at)
    assert second.ask
    await ledger.finish(at, second.attempt, Outcome.APPLIED, result={"id": 1}, found=True)
    assert recovered(server, at) == (["finish"], True)


async def test_what_a_lookup_did_not_find(ledger: Ledger, server: Server, address: At) -> None:
    """Absent is not recovered."""
    at = address()
    await begin(ledger, at, ttl=0)
    await ledger.fence(at)
    await ledger.settle(at, RecordState.ABSENT)
    assert recovered(server, at) == ([], False)
