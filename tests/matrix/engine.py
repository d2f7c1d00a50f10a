"""A Docker engine of the matrix's own, with the demo's image, where one can be started."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from embedded.demo_image import EngineError, connected, make_images
from tests.faults.servers import docker_engine, why_no_engine


@contextmanager
def an_engine() -> Generator[tuple[Path | None, str]]:
    """The engine's socket, or None with the reason why there is none."""
    if reason := why_no_engine():
        yield None, reason
        return
    with docker_engine() as address:
        socket = Path(address.removeprefix("unix://"))
        try:
            with connected(socket) as client:
                missing = make_images(client)
        except EngineError as error:
            missing = str(error)
        yield (None, missing) if missing else (socket, "")
