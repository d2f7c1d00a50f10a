"""S3, ECS and EC2 by moto in one process, which writes down every change and repeats them when it starts again.

moto keeps everything in memory. Here each request that changed something is appended to a file, and answered
only once it is on the disk. A restart repeats them in order with the same random numbers, so that buckets,
objects, tags, services and generated ids come back; creation times are those of the restart.
"""

import base64
import io
import json
import logging
import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.ec2.models import EC2Backend, ec2_backends
from moto.ec2.utils import filter_dict_attribute_mapping
from moto.ecs.exceptions import EcsClientException, InvalidParameterException
from moto.ecs.models import ecs_backends
from moto.moto_api._internal import mock_random
from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    MotoRequestHandler,
    create_backend_app,
)
from werkzeug.serving import run_simple
from werkzeug.test import run_wsgi_app
from werkzeug.wsgi import get_input_stream

from embedded.environment import REGION

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
LOG = logging.getLogger(__name__)
NO_TOKEN = "ABCDE"  # noqa: S105 - no password, but what moto takes for the token of a launch that has none
READS = ("Describe", "List", "Get")


class Remembering:
    """A WSGI application around moto whose changes survive a kill; it answers one request at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = threading.Lock()
        self.moto = DomainDispatcherApplication(create_backend_app)
        self.changes = 0
        prepare_ecs()
        prepare_ec2()
        self.replay()

    def replay(self) -> None:
        """Repeats what the file holds; a last line that a kill left half written is cut off."""
        self.path.touch()
        whole = self.path.read_bytes()
        end = whole.rfind(b"\n") + 1
        if end < len(whole):
            os.truncate(self.path, end)
        for line in whole[:end].splitlines():
            change = json.loads(line)
            _, status, _ = self.answer(change["environ"], base64.b64decode(change["body"]), change["seed"])
            if status >= "4":
                where = change["environ"].get("PATH_INFO")
                LOG.warning("change %s (%s) is lost: repeating it gave %s", change["seed"], where, status)
            self.changes = change["seed"]

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Answers one request; a change is on the disk before its sender hears of it."""
        body = get_input_stream(environ).read()
        with self.lock:
            seed = self.changes + 1
            content, status, headers = self.answer(environ, body, seed)
            if changes_something(environ, body) and status < "4":
                self.keep(environ, body, seed)
                self.changes = seed
        start_response(status, headers)
        return [content]

    def answer(self, environ: Environ, body: bytes, seed: int) -> tuple[bytes, str, list[tuple[str, str]]]:
        """What moto says; a given seed gives the same ids at every repetition."""
        mock_random.seed(seed)
        asked = {**environ, "wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body))}
        asked.setdefault("wsgi.errors", io.StringIO())
        asked.setdefault("wsgi.url_scheme", "http")
        asked.pop("HTTP_TRANSFER_ENCODING", None)
        chunks, status, headers = run_wsgi_app(self.moto, asked)
        return b"".join(chunks), status, list(headers)

    def keep(self, environ: Environ, body: bytes, seed: int) -> None:
        """Appends one request to the file; returns once it is on the disk."""
        plain = {name: value for name, value in environ.items() if isinstance(value, str)}
        change = {"seed": seed, "environ": plain, "body": base64.b64encode(body).decode()}
        with self.path.open("a") as file:
            file.write(json.dumps(change) + "\n")
            file.flush()
            os.fsync(file.fileno())


def prepare_ecs() -> None:
    """Gives ECS the cluster `default`, in which the one task of a new service runs at once."""
    os.environ["MOTO_ECS_SERVICE_RUNNING"] = "1"  # moto runs no container, and by default says so
    backend: Any = ecs_backends[DEFAULT_ACCOUNT_ID][REGION]
    backend.create_cluster("default")
    make = backend.create_service

    def create_service(
        cluster: str, name: str, count: int, revision: str | None, *rest: Any, **more: Any
    ) -> Any:
        refuse_as_ecs_does(backend, cluster, name, revision)
        return make(cluster, name, count, revision, *rest, **more)

    backend.create_service = create_service


def refuse_as_ecs_does(backend: Any, cluster: str, name: str, task_definition: str | None) -> None:
    """Refuses a service that is there already, and one of a retired revision; moto takes both."""
    there = backend.services.get(f"{cluster.rsplit('/', 1)[-1]}:{name}")
    if there is not None and there.status == "ACTIVE":
        raise InvalidParameterException("Creation of service was not idempotent.")
    if task_definition and backend.describe_task_definition(task_definition).status == "INACTIVE":
        raise EcsClientException("TaskDefinition is inactive")


def prepare_ec2() -> None:
    """Lets EC2 launch once for each client token, be asked by it, and know its images; moto only keeps the token."""
    mock_random.seed(0)
    ec2_backends[DEFAULT_ACCOUNT_ID][REGION]  # pyright: ignore[reportUnusedExpression] # made now, with these ids
    launch: Any = EC2Backend.run_instances
    filter_dict_attribute_mapping["client-token"] = "client_token"

    def run_instances(self: Any, image_id: str, *rest: Any, **more: Any) -> Any:
        for reservation in self.reservations.values():
            if (
                reservation.instances
                and reservation.instances[0].client_token == more.get("client_token") != NO_TOKEN
            ):
                return reservation
        self.describe_images(ami_ids=[image_id])
        return launch(self, image_id, *rest, **more)

    setattr(EC2Backend, "run_instances", run_instances)  # noqa: B010  (mypy takes an assignment for a mistake)


def changes_something(environ: Environ, body: bytes) -> bool:
    """False only for requests that are known to read."""
    action = str(environ.get("HTTP_X_AMZ_TARGET", "")).rpartition(".")[2]
    if not action and environ.get("CONTENT_TYPE", "").startswith("application/x-www-form-urlencoded"):
        action = parse_qs(body.decode(errors="replace")).get("Action", [""])[0]
    if action:
        return not action.startswith(READS)
    return environ["REQUEST_METHOD"] not in ("GET", "HEAD", "OPTIONS")


def serve(host: str, port: int, path: Path) -> None:
    """Serves until the process is ended; changes are kept in `path`."""
    run_simple(host, port, Remembering(path), threaded=True, request_handler=MotoRequestHandler)
