"""What the sandbox's providers do when nothing is wrong: statuses, keys, tombstones, stock, and many calls at once."""

import asyncio

import httpx
import pytest

from tests.embedded.sandbox.cases import WISHES, booked, new, order, room
from tests.embedded.sandbox.servers import Asking


@pytest.mark.parametrize("system", WISHES)
async def test_twenty_calls_at_once_with_one_key(ask: Asking, system: str) -> None:
    """There is one booking, and all twenty are answered with it."""
    path, wish = WISHES[system]
    key, who = new(), new()
    calls = [ask.http.post(path, json=wish(who), headers={"Idempotency-Key": key}) for _ in range(20)]
    answers = await asyncio.gather(*calls)
    assert {one.status_code for one in answers} == {201}
    assert len({one.json()["reference"] for one in answers}) == 1
    assert [one.headers.get("idempotent-replayed") for one in answers].count(None) == 1
    assert (await ask.http.get(path)).text.count(who) == 1


@pytest.mark.parametrize("system", WISHES)
async def test_a_key_with_another_body(ask: Asking, system: str) -> None:
    """It is refused with 422 and nothing is booked; no key is 422 too."""
    path, wish = WISHES[system]
    key, who = new(), new()
    await booked(ask, system, key)
    answer = await ask.http.post(path, json=wish(who), headers={"Idempotency-Key": key})
    assert (answer.status_code, answer.json()["detail"]["code"]) == (422, "key_reused")
    assert (await ask.http.post(path, json=wish(who))).status_code == 422
    assert who not in (await ask.http.get(path)).text


@pytest.mark.parametrize("system", WISHES)
async def test_a_cancellation(ask: Asking, system: str) -> None:
    """It has its fee once, leaves a tombstone by reference and by key, and the key books nothing new."""
    path, wish = WISHES[system]
    key = new()
    reference = await booked(ask, system, key)
    first, second = [await ask.http.delete(f"{path}/{reference}") for _ in range(2)]
    assert (first.status_code, first.json()) == (200, second.json())
    assert first.json()["fee"] > 0
    for where in (reference, f"by-key/{key}"):
        found = await ask.http.get(f"{path}/{where}")
        assert (found.status_code, found.json()) == (410, first.json())
    again = await ask.http.post(path, json=wish("Ada"), headers={"Idempotency-Key": key})
    assert (again.json()["reference"], again.headers["idempotent-replayed"]) == (reference, "true")
    assert (await ask.http.get(f"{path}/{reference}")).status_code == 410
    for method in ("GET", "DELETE"):
        assert (await ask.http.request(method, f"{path}/NOBODYS1")).status_code == 404


@pytest.mark.parametrize("system", WISHES)
async def test_a_flexible_rate(ask: Asking, system: str) -> None:
    """Its cancellation costs nothing."""
    path, wish = WISHES[system]
    asked = {**wish("Ada"), "rate": "flexible"}
    made = (await ask.http.post(path, json=asked, headers={"Idempotency-Key": new()})).json()
    assert (await ask.http.delete(f"{path}/{made['reference']}")).json()["fee"] == 0


@pytest.mark.parametrize("system", WISHES)
async def test_a_key_that_is_cancelled_before_it_is_used(ask: Asking, system: str) -> None:
    """The booking that comes too late is refused with 410."""
    path, wish = WISHES[system]
    key = new()
    for _ in range(2):
        assert (await ask.http.delete(f"{path}/by-key/{key}")).json() == {"status": "never", "fee": 0}
    late = await ask.http.post(path, json=wish("Ada"), headers={"Idempotency-Key": key})
    assert (late.status_code, late.json()["detail"]["code"]) == (410, "cancelled_key")
    assert (await ask.http.get(f"{path}/by-key/{key}")).status_code == 404


@pytest.mark.parametrize("system", WISHES)
async def test_booking_and_cancelling_one_key_at_once(ask: Asking, system: str) -> None:
    """Whichever comes first, nothing stands in the end."""
    path, wish = WISHES[system]
    for _ in range(10):
        key = new()
        await asyncio.gather(
            ask.http.post(path, json=wish("Ada"), headers={"Idempotency-Key": key}),
            ask.http.delete(f"{path}/by-key/{key}"),
        )
        assert (await ask.http.get(f"{path}/by-key/{key}")).status_code in (404, 410)


async def test_the_last_rooms(ask: Asking) -> None:
    """Of ten calls at once for three rooms three succeed; a cancelled one is free again; a 409 uses no key up."""
    hotel = new()
    await ask.http.put(f"/admin/stock/hotels/{hotel}", json={"left": 3})

    def book(key: str) -> "asyncio.Future[httpx.Response]":
        wish = {**room("Ada"), "hotel": hotel}
        call = ask.http.post("/hotels/bookings", json=wish, headers={"Idempotency-Key": key})
        return asyncio.ensure_future(call)

    keys = [new() for _ in range(10)]
    answers = await asyncio.gather(*map(book, keys))
    assert sorted(one.status_code for one in answers) == [201] * 3 + [409] * 7
    made = next(one for one in answers if one.status_code == 201)
    refused = keys[[one.status_code for one in answers].index(409)]
    await ask.http.delete(f"/hotels/bookings/{made.json()['reference']}")
    assert (await book(refused)).status_code == 201
    assert (await book(new())).status_code == 409


async def test_the_supplier_without_keys(ask: Asking) -> None:
    """Every call books, and there is nothing to look a booking up by."""
    guest, key = new(), {"Idempotency-Key": new()}
    for _ in range(2):
        await ask.http.post("/hotels/blind/bookings", json=room(guest), headers=key)
    assert (await ask.http.get("/admin/blind/bookings")).text.count(guest) == 2
    for path in ("/hotels/blind/bookings", f"/hotels/blind/bookings/by-key/{key['Idempotency-Key']}"):
        assert (await ask.http.get(path)).status_code in (404, 405)


async def test_a_conditional_change(ask: Asking) -> None:
    """Of ten changes at once on one ETag one wins; the others are 412, and an unknown order is 404."""
    name = new()
    made = await ask.http.post("/crm/orders", json=order(name))
    assert (await ask.http.post("/crm/orders", json=order(name))).status_code == 409
    tag = {"If-Match": made.headers["etag"]}
    changes = [{"status": "confirmed", "reference": str(number)} for number in range(10)]
    answers = await asyncio.gather(
        *(ask.http.patch(f"/crm/orders/{name}", json=change, headers=tag) for change in changes)
    )
    assert sorted(one.status_code for one in answers) == [200] + [412] * 9
    won = next(one for one in answers if one.status_code == 200)
    now = await ask.http.get(f"/crm/orders/{name}")
    assert (now.json(), now.headers["etag"]) == (won.json(), won.headers["etag"])
    assert (await ask.http.get(f"/crm/orders/{new()}")).status_code == 404
    assert (await ask.http.patch(f"/crm/orders/{new()}", json={"status": "new"})).status_code == 404


async def test_a_shipped_order(ask: Asking) -> None:
    """Its status stays as it is: 409."""
    name = new()
    await ask.http.post("/crm/orders", json={**order(name), "status": "shipped"})
    assert (await ask.http.patch(f"/crm/orders/{name}", json={"status": "new"})).status_code == 409


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/flights/bookings", {"flight": "nonsense", "passenger": "Ada"}),
        ("/hotels/bookings", {"hotel": "Grand", "guest": "Ada", "nights": 0}),
        ("/hotels/blind/bookings", {"hotel": "Grand"}),
        ("/crm/orders", {"id": "a b", "customer": "Ada", "email": "a@b.c", "total": 1}),
        ("/crm/orders", {"id": "a", "customer": "Ada", "email": "a@b.c", "total": -1, "more": 1}),
    ],
)
async def test_a_body_that_is_not_valid(ask: Asking, path: str, body: dict[str, object]) -> None:
    """It is refused with 422."""
    answer = await ask.http.post(path, json=body, headers={"Idempotency-Key": new()})
    assert answer.status_code == 422


async def test_the_openapi_page(ask: Asking) -> None:
    """It names every endpoint, and is a page for people too."""
    paths = (await ask.http.get("/openapi.json")).json()["paths"]
    assert {
        "/crm/orders/{order_id}",
        "/flights/bookings",
        "/hotels/bookings/by-key/{key}",
        "/hook/{name}",
    } <= set(paths)
    assert "swagger" in (await ask.http.get("/docs")).text


async def test_a_body_of_a_megabyte_too_many(ask: Asking) -> None:
    """It is refused with 413."""
    answer = await ask.http.post("/hook/ops", content=b"x" * 1_100_000)
    assert answer.status_code == 413
