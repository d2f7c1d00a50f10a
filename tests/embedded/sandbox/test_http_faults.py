"""Every endpoint of the sandbox with every fault, asked by httpx over a real socket."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from embedded.sandbox.faults import Fault
from embedded.sandbox.misbehave import Answer, huge
from embedded.sandbox.operations import OPERATIONS
from tests.embedded.sandbox.cases import HTTP, Case
from tests.embedded.sandbox.servers import Asking

GAP = 2.0  # seconds; what a call may take on a busy machine
LIMIT = 60.0  # seconds until something must have become true
GATED = (Fault.HANG, Fault.HANG_AFTER, Fault.LATE)
ANSWERED = [fault for fault in Fault if fault not in GATED]


async def until(look: Callable[[], Awaitable[bool]]) -> None:
    """Returns when it is so."""
    async with asyncio.timeout(LIMIT):
        while not await look():  # noqa: ASYNC110 - another process makes it so
            await asyncio.sleep(0.05)


async def outcome(case: Case) -> str:
    """What the client made of it."""
    try:
        answer: httpx.Response = await case.call()
    except (httpx.RemoteProtocolError, httpx.ReadError) as error:
        return "no HTTP" if "illegal" in str(error) else "dropped"
    waits = " later" if answer.headers.get("retry-after", "").isdigit() else ""
    size = " huge" if len(answer.content) > 3_000_000 else ""
    try:
        json.loads(answer.content)
    except ValueError:
        return (
            f"{answer.status_code} garbage"
            if answer.text != "ok" and not size
            else f"{answer.status_code}{size}"
        )
    return f"{answer.status_code}{waits}{size}"


EXPECTED = {
    Fault.REFUSE: "403",
    Fault.UNAVAILABLE: "503 later",
    Fault.THROTTLED: "429 later",
    Fault.DROP_BEFORE: "dropped",
    Fault.ERROR_AFTER: "503",
    Fault.DROP_AFTER: "dropped",
    Fault.GARBAGE: "200 garbage",
    Fault.NO_HTTP: "no HTTP",
}


def test_every_operation_has_its_cases() -> None:
    """No endpoint of the sandbox's own is left out of this file."""
    others = {"mail", "stripe", "aws", "engine"}
    assert HTTP.keys() == {name for name in OPERATIONS if name.partition(".")[0] not in others}


async def planned(ask: Asking, fault: Fault, **more: Any) -> dict[str, Case]:
    """A case of every operation, whose call will meet the fault, and be the only one of its operation."""
    cases = dict(zip(HTTP, await asyncio.gather(*(prepare(ask) for prepare in HTTP.values())), strict=True))
    await until(lambda: forgotten(ask))
    for operation in HTTP:
        await ask.plan(operation, fault, **more)
    return cases


async def forgotten(ask: Asking) -> bool:
    """Whether the log is empty now; a call leaves it only after its answer has been read."""
    await ask.http.delete("/admin/calls")
    return not (await ask.http.get("/admin/calls")).json()


async def log(ask: Asking) -> dict[str, dict[str, Any]]:
    """The first call of each operation since the plans were made."""
    found: dict[str, dict[str, Any]] = {}
    for one in (await ask.http.get("/admin/calls")).json():
        found.setdefault(one["operation"], one)
    return found


async def effects(cases: dict[str, Case]) -> dict[str, bool]:
    """Which operations took effect, of those that have one."""
    looks = {name: case.effect for name, case in cases.items() if case.effect}
    seen = await asyncio.gather(*(look() for look in looks.values()))
    return dict(zip(looks, seen, strict=True))


@pytest.mark.parametrize("fault", ANSWERED)
async def test_a_fault_that_ends_the_call(ask: Asking, fault: Fault) -> None:
    """At every endpoint the client meets the fault, and the effect is there if and only if the fault acts."""
    cases = await planned(ask, fault)
    met = dict(zip(cases, await asyncio.gather(*map(outcome, cases.values())), strict=True))
    seen = await log(ask)
    acts = fault.acts or fault is Fault.STALE
    size = " huge" if fault is Fault.HUGE else ""
    assert met == {name: EXPECTED.get(fault, f"{seen[name]['status']}{size}") for name in HTTP}
    assert {name: one["fault"] for name, one in seen.items()} == dict.fromkeys(HTTP, fault)
    assert {name: one["status"] is not None for name, one in seen.items()} == dict.fromkeys(HTTP, acts)
    assert {name for name, one in seen.items() if one["acted"]} == {
        name for name in HTTP if acts and cases[name].effect
    }
    found = await effects(cases)
    assert len(found) == 14
    assert found == dict.fromkeys(found, acts)


@pytest.mark.parametrize("fault", GATED)
async def test_a_fault_that_waits(ask: Asking, fault: Fault) -> None:
    """At every endpoint nothing is answered; the effect comes at once, after the client has gone, or never."""
    cases = await planned(ask, fault, seconds=0.1)
    calls = [asyncio.ensure_future(case.call()) for case in cases.values()]

    async def arrived() -> bool:
        return (await log(ask)).keys() == HTTP.keys()

    async def as_told() -> bool:
        found = await effects(cases)
        return found == dict.fromkeys(found, fault.acts)

    async def over() -> bool:
        return not any(one["under_way"] for one in (await log(ask)).values())

    await until(arrived)
    if fault is Fault.HANG_AFTER:
        await until(as_told)
    else:
        assert not any((await effects(cases)).values())
    assert not any(call.done() for call in calls)
    assert all(one["under_way"] for one in (await log(ask)).values())
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    await until(over)
    assert await as_told()


async def fault_of(ask: Asking, path: str, value: str) -> httpx.Response:
    return await ask.http.get(path, headers={"Sandbox-Fault": value})


async def test_a_fault_told_by_a_header(ask: Asking) -> None:
    """It holds for the call that carries it, before any plan, and for no other."""
    await ask.plan("crm.get", "refuse")
    answer = await fault_of(ask, "/crm/orders/O-1001", "throttled; seconds=3")
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "3")
    statuses = [(await ask.http.get("/crm/orders/O-1001")).status_code for _ in range(2)]
    assert statuses == [403, 200]


@pytest.mark.parametrize("value", ["explode", "late; seconds=x", "late seconds=1"])
async def test_a_header_that_names_no_fault(ask: Asking, value: str) -> None:
    """It is refused with 400 and nothing is done, since a test that misspells a fault would test nothing."""
    assert (await fault_of(ask, "/crm/orders/O-1001", value)).status_code == 400


async def statuses(ask: Asking, count: int, **more: Any) -> list[int]:
    return [(await ask.http.get("/crm/orders/O-1001", **more)).status_code for _ in range(count)]


async def test_the_next_calls(ask: Asking) -> None:
    """A plan can spare the first calls and hit the next N; after that the provider is itself again."""
    await ask.plan("crm.get", "unavailable", calls=2, skip=1)
    assert await statuses(ask, 4) == [200, 503, 503, 200]


async def test_a_plan_for_ever(ask: Asking) -> None:
    """It hits every call of its system until it is deleted."""
    made = await ask.plan("crm", "unavailable", calls=None)
    assert await statuses(ask, 3) == [503, 503, 503]
    assert (await ask.http.get("/flights/bookings")).status_code == 200
    await ask.http.delete(f"/admin/faults/{made['number']}")
    assert await statuses(ask, 1) == [200]


async def test_a_plan_for_one_key_or_body(ask: Asking) -> None:
    """Other calls of the operation pass by without using it up."""
    await ask.plan("flights.book", "refuse", key="k-one")
    await ask.plan("flights.book", "throttled", contains="Grace")

    async def book(key: str, who: str) -> int:
        wish = {"flight": "LH123", "passenger": who}
        return (
            await ask.http.post("/flights/bookings", json=wish, headers={"Idempotency-Key": key})
        ).status_code

    assert await book("k-two", "Ada") == 201
    assert await book("k-one", "Ada") == 403
    assert await book("k-three", "Grace") == 429
    assert await book("k-one", "Ada") == 201


async def test_a_share_of_the_calls(ask: Asking) -> None:
    """The same seed hits the same calls again, and about the share that was asked for."""
    runs: list[list[int]] = []
    for _ in range(2):
        await ask.http.delete("/admin/faults")
        await ask.plan("crm.get", "unavailable", calls=None, chance=0.3, seed=7)
        runs.append(await statuses(ask, 40))
    assert runs[0] == runs[1]
    assert 4 <= runs[0].count(503) <= 22


async def test_a_plan_is_given_out_no_more_often_than_it_says(ask: Asking) -> None:
    """Of thirty calls at once, exactly five are hit."""
    await ask.plan("crm.get", "unavailable", calls=5)
    answers = await asyncio.gather(*(ask.http.get("/crm/orders/O-1001") for _ in range(30)))
    assert [one.status_code for one in answers].count(503) == 5


async def test_a_plan_for_nothing(ask: Asking) -> None:
    """An operation or fault that does not exist is refused, since its test would test nothing."""
    for body in ({"operation": "crm.fly", "fault": "refuse"}, {"operation": "crm.get", "fault": "explode"}):
        assert (await ask.http.post("/admin/faults", json=body)).status_code == 422


async def test_a_stale_read(ask: Asking) -> None:
    """It shows the order, the booking and the list as they were before the last write, and only once."""
    key = {"Idempotency-Key": "stale"}
    await ask.http.patch("/crm/orders/O-1002", json={"status": "pending"})
    await asyncio.sleep(2 * GAP)
    between = time.monotonic() - GAP
    await ask.http.patch("/crm/orders/O-1002", json={"status": "confirmed"})
    await ask.http.post("/flights/bookings", json={"flight": "LH9", "passenger": "S"}, headers=key)
    for operation in ("crm.get", "flights.find", "flights.list"):
        await ask.plan(operation, "stale", seconds=time.monotonic() - between)
    orders = [(await ask.http.get("/crm/orders/O-1002")).json()["status"] for _ in range(2)]
    found = [(await ask.http.get("/flights/bookings/by-key/stale")).status_code for _ in range(2)]
    listed = ['"S"' in (await ask.http.get("/flights/bookings")).text for _ in range(2)]
    assert (orders, found, listed) == (["pending", "confirmed"], [404, 200], [False, True])


def test_a_huge_answer_to_a_call_that_answers_nothing() -> None:
    """A status that allows no body gives way to one that does, so that there is something to be too large."""
    grown = huge(Answer(204, [(b"x", b"y")]))
    assert (grown.status, grown.headers, len(grown.body)) == (200, [(b"x", b"y")], 3_000_000)
