"""A webhook's receiving end, and the channels that post to it."""

import asyncio
import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx

from rescind.reconciliation import Alert


@dataclass
class Receiver:
    """What was posted, by reference; a case that is on the list of troubles is answered with 503 so many times."""

    url: str = ""
    alerts: list[Alert] = field(default_factory=list[Alert])
    troubles: dict[str, int] = field(default_factory=dict[str, int])
    refused: list[str] = field(default_factory=list[str])

    def of(self, saga: str) -> list[Alert]:
        """The alerts of one saga, in the order in which they came."""
        return [alert for alert in self.alerts if alert.saga == saga]

    def take(self, body: bytes) -> int:
        """Take one post; answer with its status."""
        alert = Alert.model_validate_json(json.loads(body)["alert"])
        workflow_id = (alert.saga or "").rpartition("/")[0]
        if self.troubles.get(workflow_id, 0) > 0:
            self.troubles[workflow_id] -= 1
            self.refused.append(workflow_id)
            return 503
        self.alerts.append(alert)
        return 200


@contextmanager
def receiver() -> Generator[Receiver]:
    """A receiver on a port of its own."""
    receiving = Receiver()

    class _Posts(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            status = receiving.take(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the library's own parameter name)
            del format, args

    with ThreadingHTTPServer(("127.0.0.1", 0), _Posts) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        receiving.url = f"http://127.0.0.1:{server.server_port}/"
        yield receiving
        server.shutdown()
        thread.join()


@dataclass(frozen=True)
class Webhook:
    """Posts each alert as JSON."""

    url: str
    name: str = "webhook"

    async def send(self, alert: Alert) -> None:
        """Post it."""
        async with httpx.AsyncClient() as client:
            answer = await client.post(
                self.url, json={"text": alert.text, "alert": alert.model_dump_json()}, timeout=5
            )
        answer.raise_for_status()


@dataclass(frozen=True)
class Broken:
    """A channel whose other end is never there."""

    name: str = "broken"

    async def send(self, alert: Alert) -> None:
        """Fail."""
        await asyncio.open_connection("127.0.0.1", 1)
