"""The demo's containers and no others, read with Docker's own client."""

from collections.abc import Mapping
from typing import Any, cast

import docker
from pydantic import BaseModel, ConfigDict

from embedded.demo_image import IMAGE
from embedded.environment import SOCKET_VARIABLE

OURS = "rescind"  # label names of ours start so


class Container(BaseModel):
    """One container, running or not."""

    model_config = ConfigDict(frozen=True)
    image: str
    state: str
    labels: dict[str, str]


def containers(environment: Mapping[str, str]) -> dict[str, Container]:
    """Every container of the engine that has a label or an image of ours; none if there is no engine."""
    socket = environment.get(SOCKET_VARIABLE)
    if not socket:
        return {}
    client = docker.DockerClient(base_url=f"unix://{socket}")
    try:
        found: dict[str, Container] = {}
        listed = cast("list[dict[str, Any]]", client.api.containers(all=True))
        for one in listed:
            labels: dict[str, str] = one.get("Labels") or {}
            if one["Image"].startswith(f"{IMAGE}:") or any(label.startswith(OURS) for label in labels):
                name = str(one["Names"][0]).removeprefix("/")
                found[name] = Container(image=one["Image"], state=one["State"], labels=labels)
        return found
    finally:
        client.close()
