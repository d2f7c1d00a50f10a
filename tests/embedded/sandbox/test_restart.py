"""What is there after the three servers, in one process, were killed and started again on the same database."""

import os
import socket
import subprocess
import sys

from embedded.ports import any_free
from embedded.sandbox.wire import NOT_SERVED
from tests.embedded.sandbox.cases import booked, new, order, send_mail
from tests.embedded.sandbox.servers import AS_STRIPE_DOES, ROOT, Asking, Servers, asking, database

pytestmark = AS_STRIPE_DOES


async def invoice(ask: Asking, key: str) -> tuple[str, str]:
    """An open invoice and its customer."""
    customer = await ask.stripe.v1.customers.create_async({"name": "Ada"})
    made = await ask.stripe.v1.invoices.create_async({"customer": customer.id}, {"idempotency_key": key})
    await ask.stripe.v1.invoice_items.create_async(
        {"customer": customer.id, "invoice": made.id, "amount": 700, "currency": "eur"}
    )
    await ask.stripe.v1.invoices.finalize_invoice_async(made.id)
    return made.id, customer.id


async def test_a_kill_and_a_restart(stack_environment: dict[str, str]) -> None:
    """Bookings, keys, tombstones, orders, mails, invoices, plans and the log are as they were."""
    with database(stack_environment["RESCIND_LEDGER_ADMIN_DSN"]) as dsn:
        servers = Servers(dsn)
        try:
            servers.start_together()
            async with asking(servers) as ask:
                await fill(ask)
                before = await everything(ask)
            servers.kill()
            servers.start_together()
            async with asking(servers) as ask:
                assert await everything(ask) == before
                again = await booked(ask, "flights", "kept-key")
                assert again in str(before["/flights/bookings"])
                assert (await ask.http.get("/flights/bookings")).json() == before["/flights/bookings"]
                assert await same_invoice(ask) == before["invoice"]
            assert servers.stop() == {"sandbox": 0}
        finally:
            servers.kill()


def test_a_port_that_is_taken(stack_environment: dict[str, str]) -> None:
    """The process ends and says which one, rather than serve the others without it."""
    with database(stack_environment["RESCIND_LEDGER_ADMIN_DSN"]) as dsn, socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        taken = str(holder.getsockname()[1])
        done = subprocess.run(
            [sys.executable, "-m", "embedded", "sandbox", "--port", str(any_free()), "--stripe-port", taken],
            env={**os.environ, "RESCIND_SANDBOX_DSN": dsn},
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
    assert done.returncode == NOT_SERVED
    assert taken in done.stderr


async def fill(ask: Asking) -> None:
    await booked(ask, "flights", "kept-key")
    gone = await booked(ask, "hotels", new())
    await ask.http.delete(f"/hotels/bookings/{gone}")
    await ask.http.post("/crm/orders", json=order("kept"))
    await ask.http.post("/hook/ops", json={"text": "kept"})
    await (await send_mail(ask)).call()
    await ask.plan("crm.change", "refuse", calls=3)


async def same_invoice(ask: Asking) -> dict[str, object]:
    """The invoice of the one key, made if it is not there."""
    made = await ask.stripe.v1.customers.list_async({})
    if not made.data:
        await invoice(ask, "invoice-key")
        made = await ask.stripe.v1.customers.list_async({})
    (found,) = (await ask.stripe.v1.invoices.list_async({"customer": made.data[0].id})).data
    return dict(found.to_dict())


async def everything(ask: Asking) -> dict[str, object]:
    """All that the servers list."""
    paths = ("/flights/bookings", "/hotels/bookings", "/crm/orders", "/messages", "/mails", "/admin/faults")
    found: dict[str, object] = {path: (await ask.http.get(path)).json() for path in paths}
    return found | {"invoice": await same_invoice(ask)}
