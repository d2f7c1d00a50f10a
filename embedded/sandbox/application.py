"""The providers of the sandbox behind one address, with their faults."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.types import ASGIApp

from embedded.sandbox import admin, chat, crm, events, flights, hotels, mails, payments, sms
from embedded.sandbox.misbehave import Misbehaving
from embedded.sandbox.operations import sandbox_operation
from embedded.sandbox.plans import Plans
from embedded.sandbox.storage import Storage

DESCRIPTION = """
Providers that keep what they did, and misbehave as they are told: by `POST /admin/faults` for the next calls, or by
the header `Sandbox-Fault: drop_after` (or `late; seconds=3`) for the call that carries it.
"""


def application(dsn: str) -> ASGIApp:
    """The ASGI application that keeps its state in this database, which it waits for when it starts."""
    storage = Storage(dsn)
    plans = Plans(storage)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncGenerator[None]:
        async with storage:
            await crm.seed(storage)
            yield

    app = FastAPI(title="Rescind's sandbox", version="1", description=DESCRIPTION, lifespan=lifespan)
    app.state.storage, app.state.plans = storage, plans
    for part in (crm, flights, hotels, chat, events, sms, payments, mails, admin):
        app.include_router(part.routes)

    @app.get("/health", tags=["admin"])
    async def health() -> dict[str, str]:  # pyright: ignore[reportUnusedFunction] # FastAPI calls it
        """Answers once the database does."""
        await storage.rows("select 1")
        return {"status": "ok"}

    return Misbehaving(app, plans, sandbox_operation)
