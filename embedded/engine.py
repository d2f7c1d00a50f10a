"""Finds a Docker engine on this machine's own socket; else containers are ECS's."""

import stat
from collections.abc import Mapping
from pathlib import Path

from embedded.state import ContainerProvider

SYSTEM = Path("/var/run/docker.sock")
"""Where an engine that the whole machine uses listens."""


def choose_provider(environment: Mapping[str, str], *, system: Path = SYSTEM) -> ContainerProvider:
    """Docker if an engine answers on a local socket and has or can be given the demo's images, else ECS.

    Contexts and DOCKER_HOST are not looked at, and no image is pulled.
    """
    reasons: list[str] = []
    for socket in sockets(environment, system=system):
        from embedded.demo_image import EngineError, connected, make_images  # noqa: PLC0415 - Docker's client is slow

        try:
            with connected(socket) as client:
                missing = make_images(client)
        except EngineError as error:
            reasons.append(f"{socket}: {error}")
            continue
        if not missing:
            return ContainerProvider(name="docker", why=f"an engine answers on {socket}", socket=socket)
        reasons.append(f"{socket}: no image can be made, {missing}")
    why = "; ".join(reasons) or "no Docker engine has a socket here"
    return ContainerProvider(name="ecs", why=why)


def sockets(environment: Mapping[str, str], *, system: Path = SYSTEM) -> list[Path]:
    """The sockets where a local engine listens: the system's, then the user's own."""
    places = [system]
    if runtime := environment.get("XDG_RUNTIME_DIR"):
        places.append(Path(runtime) / "docker.sock")
    if home := environment.get("HOME"):
        places += [
            Path(home) / ".docker" / "run" / "docker.sock",
            Path(home) / ".docker" / "desktop" / "docker.sock",
        ]
    return [place for place in places if is_socket(place)]


def is_socket(place: Path) -> bool:
    """True if the path is a unix socket that we may ask about."""
    try:
        return stat.S_ISSOCK(place.stat().st_mode)
    except OSError:
        return False
