"""Every operation of the sandbox as a call with a real client, and a look at whether it took effect."""

import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import aiosmtplib

from tests.embedded.sandbox.servers import Asking

Call = Callable[[], Awaitable[Any]]
Look = Callable[[], Awaitable[bool]]


@dataclass(frozen=True)
class Case:
    """One call that is ready to be made; a read has no effect to look at."""

    call: Call
    effect: Look | None = None


Prepare = Callable[[Asking], Awaitable[Case]]


def flight(who: str) -> dict[str, Any]:
    return {"flight": "LH123", "passenger": who}


def room(who: str) -> dict[str, Any]:
    return {"hotel": "Grand", "guest": who, "nights": 2}


WISHES = {"flights": ("/flights/bookings", flight), "hotels": ("/hotels/bookings", room)}


def new() -> str:
    return uuid.uuid4().hex


async def booked(ask: Asking, system: str, key: str) -> str:
    """The reference of a new booking."""
    path, wish = WISHES[system]
    answer = await ask.http.post(path, json=wish("Ada"), headers={"Idempotency-Key": key})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["reference"])


def status_is(ask: Asking, path: str, status: int) -> Look:
    async def look() -> bool:
        return (await ask.http.get(path)).status_code == status

    return look


def booking(system: str) -> dict[str, Prepare]:
    """The operations of a supplier with keys."""
    path, wish = WISHES[system]

    async def book(ask: Asking) -> Case:
        key = new()
        headers = {"Idempotency-Key": key}
        call = lambda: ask.http.post(path, json=wish("Ada"), headers=headers)  # noqa: E731
        return Case(call, status_is(ask, f"{path}/by-key/{key}", 200))

    async def cancel(ask: Asking) -> Case:
        reference = await booked(ask, system, new())
        where = f"{path}/{reference}"
        return Case(lambda: ask.http.delete(where), status_is(ask, where, 410))

    async def cancel_key(ask: Asking) -> Case:
        key = new()
        await booked(ask, system, key)
        where = f"{path}/by-key/{key}"
        return Case(lambda: ask.http.delete(where), status_is(ask, where, 410))

    async def get(ask: Asking) -> Case:
        reference = await booked(ask, system, new())
        return Case(lambda: ask.http.get(f"{path}/{reference}"))

    async def find(ask: Asking) -> Case:
        key = new()
        await booked(ask, system, key)
        return Case(lambda: ask.http.get(f"{path}/by-key/{key}"))

    async def everything(ask: Asking) -> Case:
        return Case(lambda: ask.http.get(path))

    verbs: dict[str, Prepare] = {"book": book, "cancel": cancel, "cancel_key": cancel_key}
    verbs |= {"get": get, "find": find, "list": everything}
    return {f"{system}.{verb}": prepare for verb, prepare in verbs.items()}


def blind_is(ask: Asking, guest: str, status: str) -> Look:
    async def look() -> bool:
        every = (await ask.http.get("/admin/blind/bookings")).json()
        return [one["status"] for one in every if one["guest"] == guest] == [status]

    return look


async def book_blind(ask: Asking) -> Case:
    guest = new()
    return Case(
        lambda: ask.http.post("/hotels/blind/bookings", json=room(guest)), blind_is(ask, guest, "booked")
    )


async def cancel_blind(ask: Asking) -> Case:
    guest = new()
    made = (await ask.http.post("/hotels/blind/bookings", json=room(guest))).json()
    where = f"/hotels/blind/bookings/{made['reference']}"
    return Case(lambda: ask.http.delete(where), blind_is(ask, guest, "cancelled"))


def order(name: str) -> dict[str, Any]:
    return {"id": name, "customer": "Ada", "email": "ada@example.com", "total": 100}


async def create_order(ask: Asking) -> Case:
    name = new()
    return Case(
        lambda: ask.http.post("/crm/orders", json=order(name)), status_is(ask, f"/crm/orders/{name}", 200)
    )


async def change_order(ask: Asking) -> Case:
    name = new()
    await ask.http.post("/crm/orders", json=order(name))

    async def look() -> bool:
        return bool((await ask.http.get(f"/crm/orders/{name}")).json()["status"] == "confirmed")

    return Case(lambda: ask.http.patch(f"/crm/orders/{name}", json={"status": "confirmed"}), look)


async def get_order(ask: Asking) -> Case:
    return Case(lambda: ask.http.get("/crm/orders/O-1001"))


async def post_message(ask: Asking) -> Case:
    text = new()
    return Case(lambda: ask.http.post("/hook/ops", json={"text": text}), lists(ask, "/messages", text))


def lists(ask: Asking, path: str, text: str) -> Look:
    async def look() -> bool:
        return text in (await ask.http.get(path)).text

    return look


async def post_event(ask: Asking) -> Case:
    text = new()
    body = {"id": text, "event": "x"}
    return Case(lambda: ask.http.post("/webhooks/ops", json=body), lists(ask, "/webhooks/events", text))


async def send_sms(ask: Asking) -> Case:
    text = new()
    headers = {"Idempotency-Key": text}
    call = lambda: ask.http.post("/sms/messages", json=sms(text), headers=headers)  # noqa: E731
    return Case(call, lists(ask, "/sms/messages", text))


async def transfer(ask: Asking) -> Case:
    key = new()
    headers = {"Idempotency-Key": key}
    call = lambda: ask.http.post("/payments/transfers", json=money(key), headers=headers)  # noqa: E731
    return Case(call, status_is(ask, f"/payments/transfers/by-key/{key}", 200))


async def find_transfer(ask: Asking) -> Case:
    key = new()
    await ask.http.post("/payments/transfers", json=money(key), headers={"Idempotency-Key": key})
    return Case(lambda: ask.http.get(f"/payments/transfers/by-key/{key}"))


def sms(text: str) -> dict[str, Any]:
    return {"to": "+491700000001", "text": text}


def money(purpose: str) -> dict[str, Any]:
    return {"source": "DE02AAAA1", "target": "DE02BBBB2", "amount": 100, "purpose": purpose}


def listing(path: str) -> Prepare:
    async def everything(ask: Asking) -> Case:
        return Case(lambda: ask.http.get(path))

    return everything


HTTP: dict[str, Prepare] = {
    **booking("flights"),
    **booking("hotels"),
    "blind.book": book_blind,
    "blind.cancel": cancel_blind,
    "crm.create": create_order,
    "crm.change": change_order,
    "crm.get": get_order,
    "crm.list": listing("/crm/orders"),
    "chat.post": post_message,
    "webhook.post": post_event,
    "webhook.list": listing("/webhooks/events"),
    "sms.send": send_sms,
    "sms.list": listing("/sms/messages"),
    "payments.transfer": transfer,
    "payments.find": find_transfer,
    "payments.funds": listing("/payments/accounts/DE02AAAA1/funds?amount=1"),
    "payments.list": listing("/payments/transfers"),
}


async def send_mail(ask: Asking) -> Case:
    name = f"<{new()}@example.com>"
    text = f"Message-ID: {name}\r\nSubject: hi\r\n\r\nHello\r\n"

    async def send() -> Any:
        client = aiosmtplib.SMTP(hostname="127.0.0.1", port=ask.servers.ports["mail"], timeout=60)
        try:
            await client.connect()
            return await client.sendmail("a@example.com", ["b@example.com"], text.encode())
        finally:
            client.close()  # leaving by QUIT would wait for a reply, after a cancellation too

    async def look() -> bool:
        kept = (await ask.http.get("/mails", params={"message_id": name})).json()
        return len(kept) == 1

    return Case(send, look)


MAIL = ("mail.from", "mail.rcpt", "mail.data", "mail.end")
