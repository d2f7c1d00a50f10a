"""The sandbox, the mail server and Stripe's stand-in, any of them, in one process on one database."""

import asyncio
import signal
from collections.abc import Mapping
from contextlib import AsyncExitStack

from starlette.types import ASGIApp

from embedded.sandbox import wire


async def serve(dsn: str, host: str, ports: Mapping[str, int]) -> None:
    """Serves `sandbox`, `mail` and `stripe`, those that have a port, until the process is asked to end.

    All are kept in this database, which is waited for. The process ends if one of them can't be served.
    """
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    async with AsyncExitStack() as stack:
        if "mail" in ports:
            from embedded.mail import receiving  # noqa: PLC0415 - what is not served is not imported

            await stack.enter_async_context(receiving(dsn, host, ports["mail"]))
        if applications := _applications(dsn, ports):
            await wire.serve(applications, host, stopped)
        else:
            await stopped.wait()


def _applications(dsn: str, ports: Mapping[str, int]) -> dict[int, ASGIApp]:
    """What speaks HTTP, by its port."""
    found: dict[int, ASGIApp] = {}
    if "sandbox" in ports:
        from embedded.sandbox.application import application  # noqa: PLC0415

        found[ports["sandbox"]] = application(dsn)
    if "stripe" in ports:
        from embedded.stripe.front import application as front  # noqa: PLC0415

        found[ports["stripe"]] = front(dsn)
    return found
