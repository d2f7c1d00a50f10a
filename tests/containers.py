"""Takes containers away that a test has left on this machine's Docker engine: they would run there for ever."""

import os
from collections.abc import Generator
from contextlib import closing, contextmanager

import docker

from embedded.engine import sockets


@contextmanager
def none_stays(services: str) -> Generator[None]:
    """Remove the demo's containers of the services whose names begin like this, whatever happens meanwhile."""
    try:
        yield
    finally:
        for socket in sockets(os.environ):
            with closing(docker.DockerClient(base_url=f"unix://{socket}")) as engine:
                ours = engine.containers.list(
                    all=True, filters={"label": "rescind.service"}, ignore_removed=True
                )
                for container in ours:
                    if container.labels["rescind.service"].startswith(services):
                        container.remove(force=True, v=True)
