"""A Docker engine of this session's own, an image made of one static program, and a full snapshot."""

import contextlib
import io
import os
import shutil
import socket
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import docker
import pytest

BUSYBOX = Path("/bin/busybox")
IMAGE = "rescind-test:1"


@pytest.fixture(scope="session")
def docker_host() -> Iterator[str]:
    """The address of an engine that nobody else uses; skipped where none can be started."""
    program = shutil.which("dockerd")
    if program is None or os.geteuid() != 0 or not BUSYBOX.exists():
        pytest.skip("needs dockerd, root and Debian's busybox-static")
    with tempfile.TemporaryDirectory(prefix="rescind-docker-", ignore_cleanup_errors=True) as folder:
        host = f"unix://{folder}/docker.sock"
        options = [
            "--data-root",
            f"{folder}/data",
            "--exec-root",
            f"{folder}/exec",
            "--pidfile",
            f"{folder}/pid",
        ]
        options += ["--host", host, "--iptables=false", "--bridge=none", "--storage-driver=vfs"]
        with (Path(folder) / "log").open("wb") as log:
            daemon = subprocess.Popen([program, *options], stdout=log, stderr=log)
        try:
            _wait_for(host, daemon)
            yield host
        finally:
            _remove_all(host)
            daemon.terminate()
            daemon.wait(30)
            # The daemon leaves this mount behind, and no folder with a mount in it can be removed.
            subprocess.run(["umount", f"{folder}/exec/netns/default"], check=False, capture_output=True)


@pytest.fixture
def client(docker_host: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[docker.DockerClient]:
    """A client of the engine, which the tools use too; every container is removed afterwards."""
    monkeypatch.setenv("RESCIND_DOCKER_HOST", docker_host)
    _remove_all(docker_host)
    with contextlib.closing(docker.DockerClient(base_url=docker_host, timeout=30)) as client:
        yield client
    _remove_all(docker_host)


def snapshot(client: docker.DockerClient) -> dict[str, Any]:
    """Every container by its id with its state, and every volume."""
    listed = cast("list[dict[str, Any]]", client.api.containers(all=True))
    found: dict[str, Any] = {
        each["Id"]: (each["Names"], each["Image"], each["State"], each["Labels"], each["Command"])
        for each in listed
    }
    found["volumes"] = sorted(each.name for each in client.volumes.list())
    return found


def _wait_for(host: str, daemon: "subprocess.Popen[bytes]") -> None:
    limit = time.monotonic() + 60
    # By a plain socket: a client of the SDK leaks its own when nobody listens.
    while not _listens(host):
        assert daemon.poll() is None, "dockerd ended"
        assert time.monotonic() < limit, "dockerd does not answer"
        time.sleep(0.1)
    with contextlib.closing(docker.DockerClient(base_url=host, timeout=60)) as client:
        client.api.import_image_from_data(_root(), repository="rescind-test", tag="1")


def _listens(host: str) -> bool:
    with socket.socket(socket.AF_UNIX) as asked:
        return asked.connect_ex(host.removeprefix("unix://")) == 0


def _root() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        tar.add(BUSYBOX, "bin/busybox")
    return out.getvalue()


def _remove_all(host: str) -> None:
    with contextlib.closing(docker.DockerClient(base_url=host, timeout=30)) as client:
        for each in client.containers.list(all=True):
            each.remove(force=True, v=True)
