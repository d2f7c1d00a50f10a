"""The tool that deploys a service as a container on a Docker engine."""

import hashlib
from contextlib import suppress
from datetime import timedelta
from typing import Annotated, Any

import docker
from docker.models.containers import Container
from pydantic import Field
from temporalio import activity

from activities._deployment import Before, Unhealthy, failed
from activities._engine import (
    KEY,
    REVISION,
    SERVICE,
    alive,
    container,
    current,
    engine,
    id_of,
    image_id,
    is_superseded,
    label,
    name_of,
    refuse_if_changed,
    wait_until_healthy,
)
from rescind import (
    Absent,
    Applied,
    Call,
    Receipt,
    Request,
    Restoration,
    Result,
    Risk,
    Tool,
    Unknown,
    remember_blocking,
    remembered,
    time_left,
)
from rescind.evidence.docker import proves

RESTART: Any = {"Name": "unless-stopped"}  # the SDK's stubs know two of the engine's four policies
_STOP_SECONDS = 5
_MARGIN_SECONDS = 12.0
"""What is kept of an attempt for what comes after the waiting: to stop one container and to remove another."""


class DeployContainer(Request):
    """Run a service from an image that the engine has; a published port would clash with the previous revision's.

    Attributes:
        service: The name of the service; at most one of its revisions runs.
        image: An image of the engine; it is never pulled.
        command: The command, or None for the image's own.
        environment: Variables for the process; no secrets, since requests are kept.
        network: The engine's network, `host` or `none`.
        healthy_within: Seconds in which the new revision has to become healthy.
        stays_up: Seconds that an image without a HEALTHCHECK has to run to count as healthy.
    """

    service: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_.-]{0,60}$")]
    image: str = Field(min_length=1)
    command: list[str] | None = None
    environment: dict[str, str] = Field(default_factory=dict)
    network: str = "bridge"
    healthy_within: float = Field(default=15.0, gt=0, le=20)
    stays_up: float = Field(default=2.0, ge=0, le=10)


class DeployedContainer(Result):
    """A running revision, and the id of the one that it replaced."""

    id: str
    name: str
    previous: str | None


@activity.defn(no_thread_cancel_exception=True)
def deploy_container(call: Call[DeployContainer]) -> DeployedContainer:
    """Start the new revision, wait until it is healthy, then stop the previous one; or leave all as it was."""
    asked = call.request
    with engine() as client:
        revision = _revision(client, asked)
        if done := _finished_or_removed(client, call, remembered(Before)):
            return done
        previous = current(client, asked.service)
        if previous and label(previous, REVISION) == revision and previous.status == "running":
            return DeployedContainer(id=id_of(previous), name=name_of(previous), previous=None, changed=False)
        before = remember_blocking(Before(previous=id_of(previous) if previous else None))
        return _replace(client, call, before, revision)


@activity.defn(no_thread_cancel_exception=True)
def restore_container(receipt: Receipt[DeployContainer, DeployedContainer]) -> Restoration:
    """Start the previous revision again and remove ours, unless somebody deployed another one since."""
    call, made = receipt.call, receipt.result
    if not made.changed:
        return Restoration.nothing("the service ran as wanted before")
    with engine() as client:
        ours = container(client, _name_of(call))
        if ours is not None:
            refuse_if_changed(client, call.request.service, ours, made.id, made.previous)
        elif is_superseded(client, call.request.service, made.id, made.previous):
            return Restoration.nothing("the container is not there any more, and none is missing")
        restarted = _take_back(client, call, made.previous)
    if ours is None and not restarted:
        return Restoration.nothing("the container is not there any more, and the one before it runs")
    if made.previous is None:
        return Restoration.exact()
    return Restoration.equivalent("the previous container runs again, with its files, as a new process")


@activity.defn(no_thread_cancel_exception=True)
def find_container(call: Call[DeployContainer]) -> Applied[DeployedContainer] | Absent | Unknown:
    """Tell by the container that carries the call's key.

    What an attempt left unfinished is taken back, since it is neither a deployment nor nothing: this is only
    asked when no attempt works on it any more.
    """
    before = remembered(Before)
    with engine() as client:
        if container(client, _name_of(call)) is None and before and before.previous:
            previous = container(client, before.previous)
            if previous is None or previous.status != "running":
                return Unknown(why="neither the new container nor the one that ran before it is running")
        done = _finished_or_removed(client, call, before)
    return Absent() if done is None else Applied[DeployedContainer](result=done)


DEPLOY_CONTAINER = Tool(
    name="container.deploy",
    description=(
        "Replace a service's container by one of another image or configuration, once that is healthy; the undo "
        "starts the previous container again and removes the new one."
    ),
    forward=deploy_container,
    compensate=restore_container,
    lookup=find_container,
    is_reversible=True,
    acts_on=("container/{service}",),
    risk=Risk.MEDIUM,
    timeout=timedelta(seconds=35),
    undo_timeout=timedelta(seconds=35),
    late_for=timedelta(seconds=_STOP_SECONDS + 1),
    proves=proves,
)


def _replace(
    client: docker.DockerClient, call: Call[DeployContainer], before: Before, revision: str
) -> DeployedContainer:
    asked = call.request
    try:
        ours = client.containers.create(
            asked.image,
            asked.command,
            name=_name_of(call),
            environment=asked.environment,
            labels={SERVICE: asked.service, REVISION: revision, KEY: call.key},
            network_mode=asked.network,
            restart_policy=RESTART,
            use_config_proxy=False,
        )
        ours.start()
        _wait(ours, asked)
        if before.previous:
            _stop(client, before.previous)
    except Exception as error:
        shown = f"the deployment of {asked.service!r} from {asked.image!r}"
        now = "The new container was removed, and what ran before runs"
        raise failed(
            shown, error, proves, lambda: _take_back(client, call, before.previous), now=now
        ) from error
    return DeployedContainer(id=id_of(ours), name=_name_of(call), previous=before.previous)


def _finished_or_removed(
    client: docker.DockerClient, call: Call[DeployContainer], before: Before | None
) -> DeployedContainer | None:
    """The call's deployment if it is complete; else take back what is there of it, and answer None."""
    ours = container(client, _name_of(call))
    if ours is None:
        return None
    previous = before.previous if before else None
    with suppress(Unhealthy):
        _wait(ours, call.request)
        if [id_of(each) for each in alive(client, call.request.service)] == [id_of(ours)]:
            return DeployedContainer(id=id_of(ours), name=_name_of(call), previous=previous)
    _take_back(client, call, previous)
    return None


def _take_back(client: docker.DockerClient, call: Call[DeployContainer], previous: str | None) -> bool:
    """Let the previous container run, then remove the call's own; whether anything had to be done for the first."""
    restarted = False
    if previous:
        back = client.containers.get(previous)
        if restarted := back.status != "running":
            back.start()
            _wait(back, call.request)
    ours = container(client, _name_of(call))
    if ours is not None and label(ours, KEY) == call.key:
        ours.remove(force=True, v=True)
    return restarted


def _revision(client: docker.DockerClient, asked: DeployContainer) -> str:
    parts = (image_id(client, asked.image), asked.command, sorted(asked.environment.items()), asked.network)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def _wait(found: Container, asked: DeployContainer) -> None:
    within = min(asked.healthy_within, max(0.5, time_left() - _MARGIN_SECONDS))
    wait_until_healthy(found, within=within, stays_up=asked.stays_up)


def _stop(client: docker.DockerClient, previous: str) -> None:
    if time_left() < _STOP_SECONDS:
        raise Unhealthy("the new container was healthy only when the attempt's time was over")
    client.containers.get(previous).stop(timeout=_STOP_SECONDS)


def _name_of(call: Call[DeployContainer]) -> str:
    """The name that the engine gives to no second container, so that a call is never carried out twice."""
    return f"{call.request.service}-{call.key}"
