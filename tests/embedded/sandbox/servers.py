"""The sandbox's three servers, in processes of their own or in one, on a database of their own."""

import os
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
import stripe
from psycopg import sql

from embedded.ports import answers, any_free

ROOT = Path(__file__).parents[3]
LIMIT = 90.0  # seconds for a start on a busy machine
NAMES = ("sandbox", "mail", "stripe")
KEY = "sk_test_stand_in"
# Stripe's client calls httpx in a way that httpx gives up.
AS_STRIPE_DOES = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")


@contextmanager
def database(admin_dsn: str) -> Generator[str]:
    """The address of an empty database on the stand-ins' server, dropped afterwards."""
    name = f"sandbox_{uuid.uuid4().hex}"
    with psycopg.connect(admin_dsn, autocommit=True) as connection:
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
        try:
            yield admin_dsn.replace("/ledger?", f"/{name}?")
        finally:
            connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


@dataclass
class Servers:
    """What runs on one database; a server that is started again has its old port."""

    dsn: str
    ports: dict[str, int] = field(default_factory=lambda: {name: any_free() for name in NAMES})
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict[str, subprocess.Popen[bytes]])

    def start(self) -> None:
        """Each in a process of its own; returns once all answer."""
        for name in NAMES:
            self._launch(name)
        self._wait()

    def start_together(self) -> None:
        """All in one process; returns once all answer."""
        more = [(f"--{name}-port", str(self.ports[name])) for name in ("mail", "stripe")]
        self._launch("sandbox", *(word for pair in more for word in pair))
        self._wait()

    def _launch(self, name: str, *options: str) -> None:
        command = [sys.executable, "-m", "embedded", name, "--port", str(self.ports[name]), *options]
        settings = {**os.environ, "RESCIND_SANDBOX_DSN": self.dsn}
        self.processes[name] = subprocess.Popen(command, cwd=ROOT, env=settings)

    def _wait(self) -> None:
        limit = time.monotonic() + LIMIT
        while not all(map(answers, self.ports.values())):
            assert time.monotonic() < limit, self.ports
            assert all(process.poll() is None for process in self.processes.values()), self.ports
            time.sleep(0.05)

    def kill(self) -> None:
        """SIGKILL to all of them at once."""
        for process in self.processes.values():
            process.kill()
        for process in self.processes.values():
            process.wait()

    def stop(self) -> dict[str, int]:
        """SIGTERM to all of them; the exit codes."""
        for process in self.processes.values():
            process.terminate()
        return {name: process.wait(30) for name, process in self.processes.items()}

    @property
    def url(self) -> str:
        """The sandbox's address."""
        return f"http://127.0.0.1:{self.ports['sandbox']}"


class Asking:
    """The sandbox's client, and its admin's."""

    def __init__(self, servers: Servers, http: httpx.AsyncClient, transport: stripe.HTTPClient) -> None:
        self.servers = servers
        self.http = http
        self.stripe = stripe.StripeClient(
            KEY,
            base_addresses={"api": f"http://127.0.0.1:{servers.ports['stripe']}"},
            max_network_retries=0,
            http_client=transport,
        )

    async def plan(self, operation: str, fault: str, **more: Any) -> dict[str, Any]:
        """The next call of this operation meets this fault."""
        answer = await self.http.post("/admin/faults", json={"operation": operation, "fault": fault, **more})
        assert answer.status_code == 201, answer.text
        made: dict[str, Any] = answer.json()
        return made

    async def seen(self, operation: str) -> list[dict[str, Any]]:
        """The calls of this operation, oldest first."""
        answer = await self.http.get("/admin/calls", params={"operation": operation})
        found: list[dict[str, Any]] = answer.json()
        return found

    async def forget(self) -> None:
        """No plan is left, and the log is empty."""
        await self.http.delete("/admin/faults")
        await self.http.delete("/admin/calls")


@asynccontextmanager
async def asking(servers: Servers) -> AsyncGenerator[Asking]:
    """A client of these servers."""
    async with httpx.AsyncClient(base_url=servers.url, trust_env=False, timeout=60) as http:
        transport = stripe.HTTPXClient(timeout=60)  # the one that does not repeat a DELETE by itself
        try:
            yield Asking(servers, http, transport)
        finally:
            await transport.close_async()  # type: ignore[no-untyped-call] # as Stripe has it
