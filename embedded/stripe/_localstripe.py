"""Runs localstripe inside this process, behind a socket that only this process has.

localstripe itself listens on every interface and writes all it has to one file in /tmp at every change; neither
happens here.
"""
# localstripe has no types, so what comes from it is unknown to a type checker.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

import pickle
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx
from aiohttp import web
from localstripe import resources

from embedded.stripe import _clock
from embedded.stripe._routes import with_ours


@dataclass(frozen=True)
class Change:
    """One request that changes something, with the number and the time in seconds since 1970 that it came with."""

    number: int
    at: float
    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


class Localstripe:
    """All that localstripe has in memory, and a way to ask it; one request at a time may change it."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client
        self._store: Any = resources.store

    async def ask(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, bytes]:
        """The status and body of its answer."""
        answer = await self._client.request(method, target, headers=headers, content=body)
        return answer.status_code, answer.content

    async def change(self, change: "Change") -> tuple[int, bytes]:
        """As `ask`, for what changes something: repeated, it gives the same ids and times."""
        _clock.set_for(change.number, change.at)
        return await self.ask(change.method, change.target, change.headers, change.body)

    def dump(self) -> bytes:
        """All there is."""
        return pickle.dumps(dict(self._store))

    def load(self, dumped: bytes | None) -> None:
        """Has what was dumped and nothing else; None is nothing."""
        self._store.clear()
        if dumped:
            self._store.update(pickle.loads(dumped))  # noqa: S301 - we wrote it


@asynccontextmanager
async def localstripe() -> AsyncGenerator[Localstripe]:
    """Inside the block it answers; it begins empty. There is one in a process."""
    prepare()
    application: web.Application = import_module("localstripe.server").app
    runner = web.AppRunner(application, access_log=None)
    with tempfile.TemporaryDirectory(prefix="ls-") as folder:
        path = Path(folder) / "s"
        await runner.setup()
        try:
            await web.UnixSite(runner, str(path)).start()
            transport = httpx.AsyncHTTPTransport(uds=str(path))
            async with httpx.AsyncClient(
                transport=transport, base_url="http://localstripe", timeout=60, trust_env=False
            ) as client:
                yield Localstripe(client)
        finally:
            await runner.cleanup()


def prepare() -> None:
    """Gives localstripe our routes, clock and dice, and takes its file away; must come before its server."""
    theirs: list[tuple[str, str, Any]] = resources.extra_apis
    theirs[:] = with_ours(theirs)
    for name, value in {"time": _clock.CLOCK, "random": _clock.DICE, "schedule_webhook": nothing}.items():
        setattr(resources, name, value)
    store: Any = resources.Store
    store.dump_to_disk = nothing


def nothing(*_: object) -> None:
    """Neither files nor webhooks are written here."""
