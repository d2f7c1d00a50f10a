"""A Docker engine as the container tool sees it: the revisions of a service, told by their labels."""

import os
import socket
import time
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import docker
from docker.errors import APIError, ImageNotFound, NotFound
from docker.models.containers import Container

from activities._deployment import Unhealthy
from activities.settings import settings
from rescind import time_left
from rescind.evidence import Conflict, NothingHappened, Refused

SERVICE, REVISION, KEY = "rescind.service", "rescind.revision", "rescind.key"

_REQUEST_SECONDS = 10.0
_POLL_SECONDS = 0.2
_ALIVE = ("running", "restarting", "paused")


@contextmanager
def engine() -> Generator[docker.DockerClient]:
    """A client of the engine of the settings; it never asks a registry and reads no context.

    Raises:
        NothingHappened: Nobody listens on its socket.
    """
    host = settings().docker_host
    _knock(host)
    client = docker.DockerClient(base_url=host, timeout=max(1, int(min(_REQUEST_SECONDS, time_left()))))
    try:
        yield client
    finally:
        client.close()


def _knock(host: str) -> None:
    """Fail with a plain word where no engine is; the SDK's own client would leave a socket open."""
    if not host.startswith("unix://"):
        return
    with socket.socket(socket.AF_UNIX) as asked:
        if error := asked.connect_ex(host.removeprefix("unix://")):
            raise NothingHappened(
                f"no Docker engine answers on {host}: {os.strerror(error)}. Nothing was done; start it, or name "
                "another one in RESCIND_DOCKER_HOST"
            )


def alive(client: docker.DockerClient, service: str) -> list[Container]:
    """Every container of the service that has not ended."""
    listed: list[Container] = client.containers.list(filters={"label": f"{SERVICE}={service}"}, all=True)
    return [each for each in listed if each.status in _ALIVE]


def container(client: docker.DockerClient, name_or_id: str) -> Container | None:
    """The container of this name or id, running or not."""
    try:
        found: Container = client.containers.get(name_or_id)
    except NotFound:
        return None
    return found


def label(found: Container, name: str) -> str | None:
    """The value of a label, or None."""
    labels: dict[str, str] = found.labels
    return labels.get(name)


def name_of(found: Container) -> str:
    """The container's name."""
    return str(found.name)


def id_of(found: Container) -> str:
    """The container's id, in full."""
    return str(found.id)


def image_id(client: docker.DockerClient, image: str) -> str:
    """The id of an image that the engine has; Refused where it has none of this name."""
    try:
        return str(client.images.get(image).id)
    except ImageNotFound:
        raise Refused(
            f"the engine has no image {image!r}, and none is pulled. Nothing was done; load it first"
        ) from None


def current(client: docker.DockerClient, service: str) -> Container | None:
    """The one container that runs for the service, or None."""
    found = alive(client, service)
    if len(found) > 1:
        raise Refused(f"more than one container runs for {service!r}: {', '.join(map(name_of, found))}")
    if not found:
        return None
    if found[0].status != "running":
        raise Refused(f"the container {name_of(found[0])!r} of {service!r} is {found[0].status}, not running")
    if found[0].attrs["HostConfig"]["AutoRemove"]:
        raise Refused(
            f"the container {name_of(found[0])!r} of {service!r} would be gone once it is stopped (--rm)"
        )
    return found[0]


def refuse_if_changed(
    client: docker.DockerClient, service: str, ours: Container, made: str, previous: str | None
) -> None:
    """Raise Conflict unless the container of ours is the one that was made, and nobody deployed since.

    Args:
        client: The client.
        service: The service.
        ours: The container of the step's name.
        made: The id of the container that the step made.
        previous: The id of the container that ran before it, or None.
    """
    if id_of(ours) != made:
        raise Conflict(f"the container {ours.name!r} is not the one that was deployed; it was left as it is")
    if theirs := [name_of(each) for each in alive(client, service) if id_of(each) not in (made, previous)]:
        raise Conflict(f"{service!r} was deployed again since: {', '.join(theirs)} runs. It was left running")
    if previous and container(client, previous) is None:
        raise Conflict(
            f"the previous container of {service!r} was removed since, so that nothing could take the new one's "
            "place; the new one was left running. Deploy what should run, then resolve this by hand"
        )


def is_superseded(client: docker.DockerClient, service: str, made: str, previous: str | None) -> bool:
    """Whether, with no container of the step's name, nothing could or should be started in its place.

    Raises:
        Conflict: The container that the step made has another name now.
    """
    if renamed := container(client, made):
        raise Conflict(
            f"the container of {service!r} is called {name_of(renamed)!r} now; it was left as it is"
        )
    if previous is None or container(client, previous) is None:
        return True
    return any(id_of(each) != previous for each in alive(client, service))


def wait_until_healthy(found: Container, *, within: float, stays_up: float) -> None:
    """Return once the container is healthy by its health check, or, without one, has stayed up for so long.

    Args:
        found: The container.
        within: The limit, in seconds from now.
        stays_up: How long a container without a health check has to run, in seconds.

    Raises:
        Unhealthy: It ended, was restarted, is unhealthy, or the limit is over.
    """
    limit = time.monotonic() + within
    while not _is_healthy(found, stays_up):
        if time.monotonic() > limit:
            raise Unhealthy(f"it was not healthy within {within:g} s{_last_words(found)}")
        time.sleep(_POLL_SECONDS)


def _is_healthy(found: Container, stays_up: float) -> bool:
    found.reload()
    state: dict[str, Any] = found.attrs["State"]
    if not state["Running"] or found.attrs["RestartCount"]:
        raise Unhealthy(f"it ended with exit code {state['ExitCode']}{_last_words(found)}")
    if health := state.get("Health"):
        if health["Status"] == "unhealthy":
            raise Unhealthy(f"its health check failed{_last_words(found)}")
        return bool(health["Status"] == "healthy")
    return _seconds_since(state["StartedAt"]) >= stays_up


def _seconds_since(moment: str) -> float:
    """Seconds since a moment in the engine's notation, which has nine digits after the point."""
    whole = datetime.strptime(moment[:19], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=UTC)
    return (datetime.now(UTC) - whole).total_seconds() - 1  # the part of a second that was cut off


def _last_words(found: Container) -> str:
    """The end of its output, for a person; it can't be read from a container without a log."""
    try:
        said = found.logs(tail=5).decode(errors="replace").strip()
    except APIError:
        return ""
    return f"; its last words: {said[-300:]}" if said else ""
