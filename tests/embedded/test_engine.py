"""Which engine is used for containers, and the image that is made for it."""

import os
import platform
import socket
import sys
import time
from pathlib import Path

import pytest

from embedded.demo_image import IMAGE, connected, find_busybox, unfit
from embedded.engine import choose_provider, sockets
from embedded.world._docker import containers

ENGINES = sockets(os.environ)
needs_engine = pytest.mark.skipif(not ENGINES, reason="no Docker engine has a socket here")


def test_no_engine_on_a_socket(tmp_path: Path) -> None:
    """ECS is used; DOCKER_HOST and contexts are not looked at."""
    settings = {"HOME": str(tmp_path), "DOCKER_HOST": "tcp://127.0.0.1:1", "DOCKER_CONTEXT": "real"}
    found = choose_provider(settings, system=tmp_path / "docker.sock")
    assert (found.name, found.why) == ("ecs", "no Docker engine has a socket here")


def test_a_socket_where_nothing_answers(tmp_path: Path) -> None:
    """ECS is used, and the reason names the socket; one in the user's runtime folder is found."""
    folder = Path("/tmp") / f"r{os.getpid()}"  # the path of a socket has to be short
    folder.mkdir()
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(folder / "docker.sock"))
            found = choose_provider({"XDG_RUNTIME_DIR": str(folder)}, system=tmp_path / "docker.sock")
        assert found.name == "ecs"
        assert found.why.startswith(f"{folder}/docker.sock: ")
    finally:
        (folder / "docker.sock").unlink()
        folder.rmdir()


def test_programs_that_do_not_fit(tmp_path: Path) -> None:
    """Only a static program of the engine's own machine can be an image's only file; the reason is told."""
    script = tmp_path / "busybox"
    script.write_text("#!/bin/sh\n")
    assert unfit(script, "amd64") == "is no 64-bit little-endian ELF program"
    if sys.platform == "linux":
        shell = Path("/bin/sh").resolve()
        assert unfit(shell, platform.machine()) == "is linked dynamically"
        assert unfit(shell, "riscv64") == "is for another machine than the engine's (riscv64)"


@pytest.mark.docker
@needs_engine
def test_the_demo_image() -> None:
    """It is made without a pull, runs, becomes healthy, which its page answers for, is seen, and stops at once."""
    found = choose_provider(os.environ)
    assert found.name == "docker", found.why
    assert found.socket is not None
    with connected(found.socket) as client:
        name = f"rescind-test-{os.getpid()}"
        made = client.containers.run(
            f"{IMAGE}:2", detach=True, name=name, network_mode="none", labels={"rescind.key": "k"}
        )
        try:
            limit = time.monotonic() + 30
            while made.attrs["State"].get("Health", {}).get("Status") != "healthy":
                assert time.monotonic() < limit, made.attrs["State"]
                time.sleep(0.2)
                made.reload()
            seen = containers({"RESCIND_DOCKER_SOCKET": str(found.socket)})[name]
            assert (seen.image, seen.state) == (f"{IMAGE}:2", "running")
            assert seen.labels == {"rescind.demo": "2", "rescind.key": "k"}
            start = time.monotonic()
            made.stop(timeout=10)
            assert time.monotonic() - start < 5
        finally:
            made.remove(force=True)
        assert name not in containers({"RESCIND_DOCKER_SOCKET": str(found.socket)})
        assert find_busybox(str(client.version()["Arch"]))[0] is not None
