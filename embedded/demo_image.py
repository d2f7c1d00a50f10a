"""Makes the demo's image on a Docker engine without a registry: one static program and one page."""

import io
import shutil
import socket
import struct
import tarfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import docker
from docker.errors import DockerException, ImageNotFound
from requests.exceptions import RequestException

IMAGE = "rescind-demo"
VERSIONS = ("1", "2")
BUSYBOX = ("/bin/busybox", "/usr/bin/busybox", "/usr/lib/initramfs-tools/bin/busybox", "/sbin/busybox.static")
ELF_MACHINES = {62: ("x86_64", "amd64"), 183: ("aarch64", "arm64")}  # e_machine in <elf.h>
INTERPRETER = 3  # PT_INTERP: the program needs a dynamic loader, which an image of one file lacks
# The first process of a container ignores SIGTERM unless it has a handler, and a stop would take ten seconds.
SERVE = [
    "/bin/busybox",
    "sh",
    "-c",
    "trap 'exit 0' TERM; /bin/busybox httpd -f -p ${PORT:-8080} -h /www & wait",
]
CHECK = "/bin/busybox wget -q -O /dev/null http://127.0.0.1:${PORT:-8080}/"
SECOND = 1_000_000_000  # the engine counts in nanoseconds


class EngineError(Exception):
    """The engine does not answer as one; nothing was made."""


@contextmanager
def connected(path: Path) -> Generator[docker.DockerClient]:
    """A client of the engine behind this socket and of no other."""
    try:
        # Docker's client leaves its own connection open when it is refused.
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(5)
            probe.connect(str(path))
        client = docker.DockerClient(base_url=f"unix://{path}", timeout=20)
    except (DockerException, RequestException, OSError) as error:
        raise EngineError(str(error)) from error
    try:
        client.ping()
        yield client
    except (DockerException, RequestException, OSError) as error:
        raise EngineError(str(error)) from error
    finally:
        client.close()


def make_images(client: docker.DockerClient) -> str:
    """Makes the images that are not there; returns what is missing for it, empty if nothing is."""
    wanted = [version for version in VERSIONS if not has_image(client, version)]
    if not wanted:
        return ""
    machine = str(client.version()["Arch"])
    found, why = find_busybox(machine)
    if found is None:
        return why
    for version in wanted:
        make_image(client, found, version)
    return ""


def has_image(client: docker.DockerClient, version: str) -> bool:
    """True if the engine has the demo's image of this version."""
    try:
        client.images.get(f"{IMAGE}:{version}")
    except ImageNotFound:
        return False
    return True


def make_image(client: docker.DockerClient, busybox: Path, version: str) -> None:
    """Imports one image that serves a page with its version and checks its own health."""
    client.api.import_image_from_data(
        root(busybox, version),
        repository=IMAGE,
        tag=f"{version}-files",
    )
    # The engine's import takes no HEALTHCHECK, a commit of a container does.
    made = cast("dict[str, str]", client.api.create_container(f"{IMAGE}:{version}-files", command=SERVE))
    container = made["Id"]
    try:
        config = {
            "Cmd": SERVE,
            "Labels": {"rescind.demo": version},
            "Healthcheck": {
                "Test": ["CMD", "/bin/busybox", "sh", "-c", CHECK],
                "Interval": SECOND,
                "Timeout": 2 * SECOND,
                "Retries": 3,
            },
        }
        client.api.commit(container, repository=IMAGE, tag=version, conf=config)
    finally:
        client.api.remove_container(container, force=True)
        client.api.remove_image(f"{IMAGE}:{version}-files", noprune=True)


def root(busybox: Path, version: str) -> bytes:
    """The files of the image as a tar: one program and one page."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, content, mode in (
            ("bin/busybox", busybox.read_bytes(), 0o755),
            ("www/index.html", f"version {version}\n".encode(), 0o644),
        ):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), mode
            tar.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def find_busybox(machine: str) -> tuple[Path | None, str]:
    """A static busybox for the engine's machine, and if there is none, why each candidate does not do."""
    candidates = [*BUSYBOX, shutil.which("busybox") or ""]
    reasons: list[str] = []
    for place in dict.fromkeys(filter(None, candidates)):
        if not Path(place).is_file():
            continue
        wrong = unfit(Path(place), machine)
        if not wrong:
            return Path(place), ""
        reasons.append(f"{place} {wrong}")
    return None, "; ".join(reasons) or "there is no busybox on this machine (Debian: busybox-static)"


def unfit(program: Path, machine: str) -> str:
    """Why this file cannot be an image's only program; empty if it can."""
    content = program.read_bytes()
    if content[:6] != b"\x7fELF\x02\x01":
        return "is no 64-bit little-endian ELF program"
    kind = struct.unpack_from("<H", content, 18)[0]
    if machine not in ELF_MACHINES.get(kind, ()):
        return f"is for another machine than the engine's ({machine})"
    start = struct.unpack_from("<Q", content, 32)[0]
    size, count = struct.unpack_from("<HH", content, 54)
    headers = (struct.unpack_from("<I", content, start + number * size)[0] for number in range(count))
    return "is linked dynamically" if INTERPRETER in headers else ""
